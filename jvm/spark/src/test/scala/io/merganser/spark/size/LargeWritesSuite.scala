package io.merganser.spark.size

import io.merganser.Extensive
import io.merganser.spark.MerganserCatalog
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.{LargeTableFileSystem, TableSuite}

// Guarantee (Size): The calls of an upsert do not grow with the table's partitions and commits, archived ones included;
//   under the lock no data file is opened, no partition listed, and only new commits are read. (The first write to
//   another engine's table reads more of them.) Also: LockedReadsSuite, LargeHistorySuite
// Guarantee (Size): An inline compaction lists only partitions that got logs since the last one, if that took all
//   slices. Also: LoggedPartitionsSuite
/** What it costs to write to one partition of a table of many. */
@Extensive
final class LargeWritesSuite extends TableSuite with LargeTables {
  import LargeTableFileSystem.{counted, Counted}

  override protected def master: String = "local[2]"

  private def upsert(path: String, key: String, more: (String, String)*): Counted[Unit] = {
    val rows = spark.sql(s"SELECT '$key' AS k, 2L AS ts, 'w' AS v, 'p0007' AS part")
    counted(callMs)(rows.write.format("merganser").options(
        options(mergeOnRead = false, bucketed = false) + ("hoodie.archive.automatic" -> "false") ++ more).mode("append")
        .save(path))
  }

  /** The calls without those of the timeline's listings, which have a page for each thousand instants. */
  private def rest(calls: Counted[_]): Seq[String] =
    calls.calls.filterNot(c => c.kind == "list" && c.path == ".hoodie/timeline").map(c =>
      s"${c.kind} ${c.path.split('/').head}").sorted

  test("an upsert's calls depend on the files of its partition and not on the table's size") {
    def written(name: String, partitions: Int, commits: Int): (Counted[Unit], Counted[Unit]) = {
      val (path, _) = large(name, even(partitions, 100), commits)
      val first     = upsert(path, "n1")
      val second    = upsert(path, "n2")
      info(f"$partitions partitions, $commits commits: first ${first.shown}, ${first.seconds}%.1f s; then " +
        f"${second.shown}, ${second.seconds}%.1f s; at most ${second.mostAtOnce} at once")
      (first, second)
    }
    def byKind(calls: Counted[_]) = rest(calls).groupBy(kind => kind).map { case (kind, all) => kind -> all.size }
    val (_, ofSmall)              = written("small", 10, 200)
    val (first, ofLarge)          = written("large", 100 * scale, 1000 * scale)
    val locked                    = ofLarge.locked
    info(s"under the lock: ${locked.map(c => s"${c.kind} ${c.path}").mkString(", ")}")
    assert(locked.forall(_.path.startsWith(".hoodie")), locked)
    assert(byKind(ofLarge) == byKind(ofSmall))
    // The first write searches the newest commits of other engines for one of ours, and its clean those that are not
    // retained for files that they superseded. The second one knows the key ranges of the 100 base files.
    assert(rest(first).size <= rest(ofLarge).size + 1000 * scale + 400)
  }

  test("the first write after archiving reads the remaining commits in parallel") {
    val (path, table) = large("t", even(10, 10), 100 * scale, archived = 10)
    Archives.write(table.root, table.archivedTimes)
    val first  = upsert(path, "n1", "hoodie.clean.automatic" -> "false")
    val second = upsert(path, "n2", "hoodie.clean.automatic" -> "false")
    assert(rest(first).size <= rest(second).size + 100 * scale + 150 && first.mostAtOnce >= atOnce)
  }

  private def partitionsListed(calls: Counted[_]): Seq[String] =
    calls.calls.filter(c => c.kind == "list" && c.path.matches("p\\d+")).map(_.path).distinct.sorted

  test("an inline compaction lists only partitions with logs since the last full compaction") {
    val (path, _) = large("t", even(20, 5), 300, mergeOnRead = true)
    val logged    = "hoodie.datasource.write.table.type" -> "MERGE_ON_READ"
    val inline    = Seq(logged, "hoodie.compact.inline" -> "true", "hoodie.compact.inline.max.delta.commits" -> "1")
    upsert(path, "n1", logged)
    // No compaction yet, and more commits than are read to find out which partitions have logs.
    assert(partitionsListed(upsert(path, "n1", inline: _*)).size == 20)
    val second = upsert(path, "n1", inline: _*)
    info(s"with a compaction: ${second.shown}")
    assert(partitionsListed(second) == Seq("p0007"))
    assert(OpenTable.load(spark, path).view.slices("p0007").forall(_.logs.isEmpty))
    assert(spark.sql(s"CALL show_compaction(path => '$path')").collect().length == 2)
  }

  test("a MERGE by join lists only the partitions of its source") {
    val (path, _) = large("t", even(20, 100), 200)
    spark.conf.set("spark.sql.catalog.spark_catalog", classOf[MerganserCatalog].getName)
    spark.sql(s"CREATE TABLE big USING merganser LOCATION '$path'")
    val merged =
      try counted(callMs)(spark.sql(
            "MERGE INTO big t USING (SELECT 'w' AS v, 'p0007' AS part) s ON t.part = s.part AND t.v = s.v " +
              "WHEN MATCHED THEN DELETE").collect())
      finally spark.sql("DROP TABLE big")
    assert(partitionsListed(merged) == Seq("p0007"))
    assert(merged.count("list", "") <= 1)
  }

  test("a write finds the form of stored keys without listing all partitions") {
    val complex = "org.apache.hudi.keygen.ComplexKeyGenerator"
    val (path, _) = large("t", even(20, 100), 200,
      more = Map("hoodie.write.table.version" -> "8",
        "hoodie.datasource.write.keygenerator.class" -> complex),
      without =
        Set("hoodie.write.complex.keygen.new.encoding"))
    val calls = upsert(path, "k1", "hoodie.write.table.version" -> "8",
      "hoodie.datasource.write.keygenerator.class" -> complex)
    assert(partitionsListed(calls) == Seq("p0007"))
  }

  test("a write finds the index of another engine's table without listing it") {
    val (path, _) = large("t", even(20, 100), 200, without = Set("hoodie.index.type"))
    val calls     = upsert(path, "n1")
    val listed    = calls.calls.filter(c => c.kind == "list" && c.path.matches("p\\d+")).map(_.path)
    assert(listed.toSet == Set("p0000", "p0007") && listed.size <= 3)
  }
}
