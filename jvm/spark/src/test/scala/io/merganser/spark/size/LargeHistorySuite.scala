package io.merganser.spark.size

import java.time.LocalDateTime

import io.merganser.Extensive
import io.merganser.spark.MerganserCatalog
import io.merganser.table.{LargeTableFileSystem, TableSuite}
import io.merganser.table.timeline.{CommitMetadata, InstantTime, LogArchives}

// Guarantee (Size): Procedures read the commits and list the partitions that they show; with a filter, all.
/** What it costs to show some of many commits and file slices. */
@Extensive
final class LargeHistorySuite extends TableSuite with LargeTables {
  import LargeTableFileSystem.{counted, Counted}

  override protected def master: String = "local[2]"

  private def call(path: String, procedure: String, more: String = "limit => 10"): Counted[Int] =
    counted(callMs)(spark.sql(s"CALL $procedure(path => '$path', $more)").collect().length)

  private def commits(calls: Counted[_]): Int = calls.count("open", "\\.hoodie/timeline/[^/]*")

  test("procedures read only the commits and list only the partitions that they show") {
    val (path, _) = large("t", even(100 * scale, 100), 1000 * scale)
    for (procedure <- Seq("show_commits", "show_commits_metadata", "show_timeline")) {
      val shown = call(path, procedure)
      info(f"$procedure: ${shown.shown}, ${shown.seconds}%.2f s at $callMs ms a call")
      assert(shown.result == 10)
      // One more has the schema of the table.
      assert(commits(shown) <= 11, procedure)
    }
    val slices = call(path, "show_fsview_latest")
    assert(slices.result == 10)
    assert(slices.calls.count(c => c.kind == "list" && c.path.startsWith("p")) == 1)
    assert(commits(slices) <= 101)
    val all = call(path, "show_commits", "limit => 100000")
    assert(all.result == 1000 * scale && commits(all) <= 1000 * scale + 1 && all.mostAtOnce >= atOnce)
    val one = call(path, "show_commits", "filter => 'total_bytes_written < 0'")
    assert(one.result == 0 && one.mostAtOnce >= atOnce)
  }

  test("SHOW PARTITIONS lists only the named partitions and reads one commit for each") {
    val (path, _) = large("t", even(100 * scale, 100), 1000 * scale)
    spark.conf.set("spark.sql.catalog.spark_catalog", classOf[MerganserCatalog].getName)
    spark.sql(s"CREATE TABLE big USING merganser LOCATION '$path'")
    def shown(partition: String) = {
      val calls = counted(callMs)(spark.sql(s"SHOW PARTITIONS big $partition").collect().map(_.getString(0)).toSeq)
      (calls, calls.calls.filter(c => c.kind == "list" && !c.path.startsWith(".hoodie")).map(_.path))
    }
    try {
      val (all, everywhere) = shown("")
      info(f"SHOW PARTITIONS: ${all.shown}, ${all.seconds}%.2f s at $callMs ms a call")
      assert(all.result.size == 100 * scale && everywhere.size == 100 * scale + 1 && all.mostAtOnce >= atOnce)
      assert(commits(all) <= 100 * scale + 2)
      val (one, there) = shown("PARTITION (part = 'p0007')")
      assert(one.result == Seq("part=p0007") && there == Seq("p0007") && commits(one) <= 3)
      val (none, nowhere) = shown("PARTITION (part = 'no')")
      assert(none.result.isEmpty && nowhere == Seq("no"))
    } finally spark.sql("DROP TABLE big")
  }

  test("show_compaction reads no delta commits") {
    val (path, _) = large("t", even(10, 100), 1000 * scale, mergeOnRead = true)
    val shown     = call(path, "show_compaction")
    assert(shown.result == 0 && commits(shown) <= 1)
  }

  test("show_archived_commits reads only the files with the requested commits") {
    val (path, table) = large("t", even(10, 10), 10, archived = 1000 * scale)
    val older         = table.archivedTimes
    Archives.write(table.root, older, i => Some(CommitMetadata.encodeAvro(table.metadata(i), isReplace = false)),
      perFile = 100)
    val shown = call(path, "show_archived_commits")
    assert(shown.result == 10)
    assert(shown.calls.filter(c => c.kind == "open" && c.path.endsWith(".parquet")).map(_.path).distinct.size == 1)
    val old = call(path, "show_archived_commits", s"limit => 3, end_ts => '${older(150)._1}'")
    assert(old.calls.filter(c => c.kind == "open" && c.path.endsWith(".parquet")).map(_.path).distinct.size == 1)
    val rows = spark.sql(
      s"CALL show_archived_commits(path => '$path', limit => 3, end_ts => '${older(150)._1}')").collect()
    assert(rows.map(_.getString(0)).toSeq == Seq(150, 149, 148).map(older(_)._1))
    assert(rows.head.getLong(2) == table.metadata(150).allStats.map(_.totalWriteBytes).sum)
  }

  /** The calls of a read and of an upsert, by kind. */
  private def callsOf(path: String): Seq[Map[String, Int]] = {
    val rows    = spark.sql("SELECT 'n1' AS k, 2L AS ts, 'w' AS v, 'p0003' AS part")
    val options = this.options(mergeOnRead = false, bucketed = false)
    val works = Seq(() => spark.read.format("merganser").load(path).count(),
      () => rows.write.format("merganser").options(options).mode("append").save(path))
    // The first of its kind opens files that later ones find open.
    works.foreach(work => work())
    works.map(work => counted(0)(work()).calls.groupBy(_.kind).map { case (kind, all) => kind -> all.size })
  }

  test("a read and an upsert make as many calls with 10,000 archived commits as with 30") {
    def calls(archived: Int) = {
      val (path, table) = large(s"t$archived", even(5, 5), 25, archived = archived)
      Archives.write(table.root, table.archivedTimes)
      callsOf(path)
    }
    assert(calls(10000) == calls(30))
  }

  test("version 6: a read and an upsert make as many calls with 10,000 archived commits as with 30") {
    def calls(archived: Int) = {
      val root    = folder.resolve(s"v6-$archived")
      val options = this.options(mergeOnRead = false, bucketed = false) + ("hoodie.write.table.version" -> "6")
      spark.sql("SELECT 'a' AS k, 1L AS ts, 'v' AS v, 'p0003' AS part").write.format("merganser").options(options)
        .save(s"large://$root")
      val begin = LocalDateTime.of(2024, 1, 1, 0, 0)
      LogArchives.write(root, (0 until archived).map(i => InstantTime.format(begin.plusSeconds(i.toLong))))
      assert(spark.sql(s"CALL show_archived_commits(path => '$root', limit => 100000)").count() == archived)
      callsOf(s"large://$root")
    }
    assert(calls(10000) == calls(30))
  }
}
