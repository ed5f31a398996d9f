package io.merganser.spark.write

import io.merganser.merge.{Change, Histories, MerganserException}
import io.merganser.spark.frame.FrameWrite
import io.merganser.table.{DrawnPoints, Leftovers, TableSuite}
import io.merganser.table.base.BaseFileFooter
import io.merganser.table.storage.Storage
import org.apache.spark.sql.SaveMode

import scala.collection.mutable
import scala.util.Random

// Guarantee (One result): A table that retains deletes gives the rows of a fold that never forgets one, with services
//   between the writes; Hudi and hudi-rs read it correctly. Also:
//   test_other_engines_read_the_rows_of_a_table_with_retained_deletes
/** Retained deletes: the oracle is a fold that never forgets a delete. */
final class TombstonesSuite extends TableSuite with FaultPoints {

  override protected def master: String = "local[1]"

  private val Retained = "merganser.tombstones.retained.hours"

  private def retaining(mergeOnRead: Boolean, bucketed: Boolean): Map[String, String] =
    options(mergeOnRead, bucketed) + (Retained -> "24")

  private def row(key: String, ts: Long, value: String = "v") = Change(key, Some(ts), Seq(Some(value), Some("w")))

  private def delete(key: String, ts: Long) = Change(key, Some(ts), Seq(None, None), isDelete = true)

  private def call(statement: String, more: String): Unit = {
    spark.sql(s"CALL $statement(path => '$storage'$more)").collect()
    ()
  }

  private def compact(): Unit = call("run_compaction", ", op => 'scheduleandexecute'")

  private def cluster(): Unit = call("run_clustering", ", op => 'scheduleandexecute', order => 'v'")

  private def compactLogs(): Unit = call("run_log_compaction", ", op => 'scheduleandexecute'")

  private def retainedFiles(at: Storage = storage): Int = view(at).slices.flatMap(_.base).count(base =>
    BaseFileFooter.read(at.conf, at.path(base.path), base.sizeBytes).retainsDeletes)

  for {
    (mergeOnRead, bucketed) <- Seq((false, false), (true, false), (true, true), (false, true))
    // The other two with MERGANSER_FULL=1.
    if DrawnPoints.isFull || mergeOnRead != bucketed || mergeOnRead
  } {
    val kind =
      s"${if (mergeOnRead) "merge-on-read" else "copy-on-write"} table of ${if (bucketed) "buckets" else "files"}"

    test(s"late rows of deleted keys stay deleted in a $kind with random writes and services") {
      val random  = new Random(Histories.seed)
      val options = retaining(mergeOnRead, bucketed)
      val state   = mutable.Map.empty[String, Change]
      var steps   = Seq.empty[String]
      for (commit <- 0 until (if (DrawnPoints.isFull) 30 else 5)) {
        val batch = Seq.fill(8) {
          val (key, ts) = (s"k${random.nextInt(8)}", random.nextInt(12).toLong)
          if (random.nextInt(3) == 0) delete(key, ts) else row(key, ts, s"c$commit")
        }
        batch.foreach(c => if (state.get(c.key).forall(_.ts.get <= c.ts.get)) state(c.key) = c)
        steps :+= batch.mkString(" ")
        upsert(storage, batch, options)
        random.nextInt(4) match {
          case 0 | 1 if mergeOnRead => compact(); steps :+= "compaction"
          case 2 if !bucketed       => cluster(); steps :+= "clustering"
          case 3 if mergeOnRead     => compactLogs(); steps :+= "log compaction"
          case _                    => ()
        }
        val expected = state.values.filterNot(_.isDelete).map(_.toString).toSeq.sorted
        assert(rows(storage) == expected, s"seed ${Histories.seed}:\n${steps.mkString("\n")}")
      }
      assert(retainedFiles() > 0)
      assert(spark.sql(s"CALL verify_table(path => '$storage', filter => 'problems > 0')").collect().isEmpty)
    }
  }

  test("a retained delete of a key that was never stored drops a late row") {
    val options = retaining(mergeOnRead = false, bucketed = false)
    upsert(storage, Seq(row("k0", 1), delete("k2", 5)), options)
    upsert(storage, Seq(row("k2", 4), row("k0", 2)), options)
    assert(rows(storage) == Seq(row("k0", 2).toString))
    upsert(storage, Seq(row("k2", 6)), options)
    assert(rows(storage) == Seq(row("k0", 2), row("k2", 6)).map(_.toString))
  }

  test("a compaction counts versions of the logs and not retained deletes") {
    val options = retaining(mergeOnRead = true, bucketed = true)
    upsert(storage, Seq("k0", "k2", "k4").map(row(_, 1)), options)
    upsert(storage, Seq("k0", "k2", "k4").map(delete(_, 5)), options)
    def counts(): Seq[Long] = {
      compact()
      val columns = Seq("deleted", "late", "inserted", "duplicates", "tombstones")
      val done    = spark.sql(s"CALL show_history(path => '$storage')").where("operation = 'COMPACT'")
      val last    = done.select(columns.head, columns.tail: _*).head()
      columns.indices.map(last.getLong)
    }
    assert(counts() == Seq(3, 0, 0, 0, 0))
    upsert(storage, Seq(row("k0", 6), row("k2", 6)), options)
    upsert(storage, Seq(row("k0", 4), row("k2", 7)), options)
    assert(counts() == Seq(0, 1, 2, 1, 0))
  }

  test("a file with only retained deletes is written, read, clustered and restored") {
    val options = retaining(mergeOnRead = false, bucketed = false)
    upsert(storage, Seq(row("k0", 1), row("k2", 1)), options)
    upsert(storage, Seq(delete("k0", 5), delete("k2", 5)), options)
    val deleted = spark.sql(s"CALL show_commits(path => '$storage', limit => 1)").collect().head.getString(0)
    call("create_savepoint", s", commit_time => '$deleted'")
    cluster()
    upsert(storage, Seq(row("k0", 4)), options)
    assert(rows(storage).isEmpty && retainedFiles() > 0)
    upsert(storage, Seq(row("k0", 6)), options)
    assert(rows(storage) == Seq(row("k0", 6).toString))
    call("rollback_to_savepoint", s", instant_time => '$deleted'")
    upsert(storage, Seq(row("k0", 4), row("k2", 7)), options)
    assert(rows(storage) == Seq(row("k2", 7).toString))
  }

  test("altering a table makes it retain deletes, and altering it back makes it forget them") {
    upsert(storage, Seq(row("k0", 1), row("k2", 1)), options(mergeOnRead = false, bucketed = false))
    spark.sql(s"CREATE TABLE retained USING merganser LOCATION '$storage'")
    try {
      upsert(storage, Seq(delete("k0", 5)), Map.empty)
      spark.sql(s"ALTER TABLE retained SET TBLPROPERTIES ('$Retained' = '1')")
      upsert(storage, Seq(row("k0", 3), delete("k2", 5)), Map.empty)
      upsert(storage, Seq(row("k2", 3)), Map.empty)
      assert(rows(storage) == Seq(row("k0", 3).toString))
      spark.sql(s"ALTER TABLE retained UNSET TBLPROPERTIES ('$Retained')")
      upsert(storage, Seq(row("k2", 3)), Map.empty)
      assert(rows(storage) == Seq(row("k0", 3), row("k2", 3)).map(_.toString) && retainedFiles() == 0)
    } finally { spark.sql("DROP TABLE retained"); () }
  }

  for (mergeOnRead <- Seq(false, true))
    test("a file system that fails at an operation of a " + (if (mergeOnRead) "compaction" else "copy-on-write") +
      " with deletes leaves the old table or the new one, in which late rows stay deleted") {
      val options  = retaining(mergeOnRead, bucketed = true)
      val prepared = faulty("prepared")
      upsert(prepared, Seq(row("k0", 1), row("k2", 1)), options)
      if (mergeOnRead) upsert(prepared, Seq(delete("k0", 5)), options)
      def run(at: Storage): Unit =
        if (mergeOnRead) {
          spark.sql(s"CALL run_compaction(op => 'scheduleandexecute', path => '$at')").collect()
          ()
        } else upsert(at, Seq(delete("k0", 5)), options)
      points(folder.resolve("prepared"))(run) { (at, isDone, failed) =>
        val isDeleted = rows(at) == Seq(row("k2", 1).toString)
        assert(isDeleted || (!isDone && !mergeOnRead && rows(at).size == 2), failed)
        Leftovers.age(at)
        upsert(at, Seq(row("k0", 4)), options)
        if (mergeOnRead) run(at)
        assert(rows(at) == (if (isDeleted) Nil else Seq(row("k0", 4).toString)) :+ row("k2", 1).toString, failed)
        assert(Leftovers.of(at).isEmpty, failed)
      }
    }

  for (mergeOnRead <- Seq(false, true))
    test("a dry run of a write that replaces a file with deletes, of a " +
      (if (mergeOnRead) "merge-on-read table" else "copy-on-write table") + ", counts what the write counts") {
      val options = retaining(mergeOnRead, bucketed = false)
      upsert(storage, Seq(row("k0", 1), row("k2", 1)), options)
      upsert(storage, Seq(delete("k0", 5)), options)
      if (mergeOnRead) compact()
      // A merge-on-read table gets new keys by a rewrite of the small file.
      val changes = Seq(row("k0", 3), row("k4", 1))
      def write(more: (String, String)*) =
        FrameWrite.save(spark, storage.toString, SaveMode.Append, options ++ more, frame(changes).coalesce(1)).get
      val preview = write("spark.merganser.write.dryRun" -> "true")
      val shown   = preview.dryRun.get.rows.map(r => r.key -> r).toMap
      assert(shown("k4").outcome == "inserted" && shown("k0").outcome == "late", shown)
      assert(!shown("k0").reason.contains("partial"), shown)
      assert(retainedFiles() == 1 && rows(storage) == Seq(row("k2", 1).toString))
      val done = write()
      assert((preview.counts, preview.rowsWritten) == ((done.counts, done.rowsWritten)))
      assert(rows(storage) == Seq(row("k2", 1), row("k4", 1)).map(_.toString))
    }

  test("retaining deletes is refused for a table without ordering fields") {
    val e = intercept[MerganserException](upsert(storage, Seq(row("k0", 1)),
        retaining(mergeOnRead = true, bucketed = false) - "hoodie.table.ordering.fields"))
    assert(e.condition == "TOMBSTONES_NEED_ORDERING")
  }

  test("retaining deletes is refused together with column rules") {
    val plain = options(mergeOnRead = false, bucketed = false)
    val rule  = "merganser.rule.column.v" -> "max"
    def refused(action: => Any): String = {
      val e = intercept[MerganserException](action)
      assert(e.getMessage.contains("new row"))
      e.condition
    }
    assert(refused(upsert(storage, Seq(row("k0", 1)), plain + rule + (Retained -> "24"))) == "TOMBSTONES_NEED_ORDERING")
    upsert(storage, Seq(row("k0", 1)), plain + rule)
    spark.sql(s"CREATE TABLE ruled USING merganser LOCATION '$storage'")
    try {
      def alter(change: String) = spark.sql(s"ALTER TABLE ruled $change")
      assert(refused(alter(s"SET TBLPROPERTIES ('$Retained' = '1')")) == "TOMBSTONES_NEED_ORDERING")
      alter(s"UNSET TBLPROPERTIES ('${rule._1}')")
      alter(s"SET TBLPROPERTIES ('$Retained' = '1')")
      assert(refused(alter(s"SET TBLPROPERTIES ('${rule._1}' = 'max')")) == "RULE_CHANGE_REFUSED")
      assert(refused(call("change_rule", s", options => '${rule._1}=max'")) == "RULE_CHANGE_REFUSED")
    } finally { spark.sql("DROP TABLE ruled"); () }
  }

  test("Spark and a read-optimized query read the rows of a file that retains deletes") {
    val options = retaining(mergeOnRead = true, bucketed = false)
    upsert(storage, Seq(row("k0", 1), row("k2", 1), row("k4", 1)), options)
    upsert(storage, Seq(delete("k0", 5)), options)
    compact()
    assert(retainedFiles() == 1)
    val file = view(storage).slices.flatMap(_.base).head
    assert(spark.read.parquet(storage.path(file.path).toString).select("k").collect().map(_.getString(0)).sorted.toSeq
      == Seq("k2", "k4"))
    upsert(storage, Seq(row("k0", 3)), options)
    assert(rows(storage).map(_.take(2)) == Seq("k2", "k4"))
    assert(spark.read.format("merganser").option("hoodie.datasource.query.type", "read_optimized").load(
      storage.toString)
      .count() == 2)
  }
}
