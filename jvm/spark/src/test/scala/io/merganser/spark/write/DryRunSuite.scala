package io.merganser.spark.write

import com.fasterxml.jackson.databind.ObjectMapper
import io.merganser.merge.buffer.MergeCounts
import io.merganser.merge.{Change, Histories}
import io.merganser.spark.LocalSession
import io.merganser.spark.frame.FrameWrite
import io.merganser.table.TableSuite
import org.apache.spark.sql.SaveMode

import java.nio.file.{Files, Path}

import scala.collection.JavaConverters._
import scala.util.Random

// Guarantee (Counts, dry runs and explanations): A dry run has the counts, files and rows of the write, statement or
//   service that follows, on every kind of table, and creates nothing. Also:
//   test_a_dry_run_of_a_statement_has_its_counts_and_rows,
//   test_a_dry_run_of_each_service_lists_its_steps_and_changes_nothing, DryRunKindsSuite
/** A dry run says what the write that follows does, and leaves no trace. */
final class DryRunSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2]"

  private val mapper = new ObjectMapper
  private val dry    = Map("spark.merganser.write.dryRun" -> "true", "spark.merganser.write.dryRun.rows" -> "1000")

  private def write(changes: Seq[Change], options: Map[String, String], mode: SaveMode = SaveMode.Append): WriteResult =
    FrameWrite.save(spark, storage.toString, mode, options, frame(changes).coalesce(1)).get

  /** Every file, folder and size below the table. */
  private def stored: Seq[(String, Long)] =
    if (!Files.exists(folder.resolve("t"))) Nil
    else {
      val all = Files.walk(folder.resolve("t"))
      try all.iterator.asScala.map((f: Path) => f.toString -> (if (Files.isDirectory(f)) 0L else Files.size(f))).toList
          .sortBy(_._1)
      finally all.close()
    }

  /** Rows by key as a dry run shows them. */
  private def rowsNow: Map[String, String] =
    spark.read.format("merganser").load(storage.toString).select("k", "ts", "v", "w", "part").toJSON.collect()
      .map(json => mapper.readTree(json).get("k").asText -> normal(json)).toMap

  private def normal(json: String): String = {
    val node = mapper.readTree(json)
    Seq("k", "ts", "v", "w", "part").map(name => Option(node.get(name)).filterNot(_.isNull).map(_.asText)).mkString("|")
  }

  /** What the write changed is what the dry run has shown. */
  private def requireSame(preview: WriteResult, done: WriteResult, before: Map[String, String], clue: String): Unit =
    withClue(clue) {
      val after = rowsNow
      val shown = preview.dryRun.get
      assert(preview.instant.isEmpty)
      assert(preview.counts == done.counts)
      assert((preview.filesWritten, preview.rowsWritten) == ((done.filesWritten, done.rowsWritten)))
      assert(shown.rows.map(_.key).distinct.size == shown.rows.size)
      shown.rows.foreach { row =>
        assert(row.before.map(normal) == before.get(row.key), row)
        assert(row.after.map(normal) == after.get(row.key), row)
      }
      val others = (before.keySet ++ after.keySet) -- shown.rows.map(_.key)
      others.foreach(key => assert(before.get(key) == after.get(key), key))
      val kinds = shown.rows.groupBy(_.outcome).map { case (outcome, rows) => outcome -> rows.size.toLong }
      val counts = MergeCounts(inserted = kinds.getOrElse("inserted", 0L), updated = kinds.getOrElse("updated", 0L),
        late = kinds.getOrElse("late", 0L), deleted = kinds.getOrElse("deleted", 0L), ties = shown.merged.ties,
        unchanged = shown.merged.unchanged, duplicates = shown.merged.duplicates, lateness = shown.merged.lateness,
        filled = shown.merged.filled, noOps = shown.merged.noOps,
        tombstones = shown.rows.count(row => row.before.isEmpty && row.after.isEmpty).toLong)
      assert(shown.merged == counts)
    }

  private val ByCommit = "commit time" -> Map("hoodie.write.record.merge.mode" -> "COMMIT_TIME_ORDERING")
  private val Filling  = "last_non_null" -> Map("merganser.rule.default" -> "last_non_null")
  private val ByEvent  = "event time" -> Map.empty[String, String]

  for (
    (mergeOnRead, bucketed, (rule, more)) <- Seq((false, false, ByEvent), (false, true, Filling),
      (true, false, ByEvent), (true, true, ByEvent), (true, true, ByCommit), (true, true, Filling))
  ) {
    val kind =
      s"${if (mergeOnRead) "merge-on-read" else "copy-on-write"}, ${if (bucketed) "BUCKET" else "SIMPLE"}, by $rule"
    test(s"$kind: the dry run of each random write has its counts and rows and creates nothing") {
      val random  = new Random(Histories.seed + (if (mergeOnRead) 1 else 0) + (if (bucketed) 2 else 0))
      val changes = new Histories(partials = false)
      val create  = options(mergeOnRead, bucketed) ++ more + ("hoodie.compact.inline" -> "false")
      (0 until 5).foreach { number =>
        val batch   = Seq.fill(1 + random.nextInt(10))(changes.change(random, 8))
        val before  = if (number == 0) Map.empty[String, String] else rowsNow
        val files   = stored
        val preview = write(batch, create ++ dry)
        assert(stored == files)
        val done = write(batch, create)
        requireSame(preview, done, before, s"batch $number: ${batch.mkString(" ")}")
        if (number == 3 && mergeOnRead)
          spark.sql(s"CALL run_compaction(op => 'scheduleandexecute', path => '$storage')").collect()
      }
    }
  }

  test("a dry run of an overwrite counts and shows the replaced rows") {
    val create                          = options(mergeOnRead = true, bucketed = false)
    def row(key: String, value: String) = Change(key, Some(1L), Seq(Some(value), None))
    write(Seq(row("a0", "x"), row("a1", "y"), row("a2", "z")), create)
    write(Seq(row("a0", "x2")), create)
    val files = stored
    val all   = write(Seq(row("a4", "new")), create ++ dry, SaveMode.Overwrite)
    assert(all.dryRun.get.rowsReplaced == 3)
    assert(all.dryRun.get.filesReplaced == 3)
    assert(all.dryRun.get.rows.map(r => (r.key, r.outcome)) ==
      Seq("a0" -> "replaced", "a2" -> "replaced", "a4" -> "inserted", "a1" -> "replaced"))
    val one = write(Seq(row("a5", "new")),
      create ++ dry + ("hoodie.datasource.write.operation" -> "insert_overwrite"))
    assert(one.dryRun.get.rows.map(r => (r.key, r.outcome)) == Seq("a1" -> "replaced", "a5" -> "inserted"))
    assert(one.dryRun.get.partitions == Seq("p1"))
    val gone = write(Seq(row("a0", "")), create ++ dry + ("hoodie.datasource.write.operation" -> "delete_partition"))
    assert((gone.dryRun.get.rowsReplaced, gone.counts) == ((2L, MergeCounts())))
    assert(stored == files)
  }

  test("a late-arriving row loses against a tombstone in a log, and the reason names the values") {
    val create = options(mergeOnRead = true, bucketed = true) + ("hoodie.bucket.index.num.buckets" -> "1")
    def row(ts: Long, isDelete: Boolean = false) = Change("a0", Some(ts), Seq(Some("x"), None), isDelete)
    write(Seq(row(1)), create)
    write(Seq(row(5, isDelete = true)), create)
    val late = write(Seq(row(3)), create ++ dry)
    assert(late.counts.appended == 1)
    assert(late.dryRun.get.merged == MergeCounts(late = 1, tombstones = 1))
    val shown = late.dryRun.get.rows.head
    assert((shown.outcome, shown.before, shown.after) == (("late", None, None)))
    assert(shown.reason.startsWith("the delete before stays") && shown.reason.contains("\"ts\":5"))
    val newer = write(Seq(row(7)), create ++ dry).dryRun.get.rows.head
    assert(newer.outcome == "inserted" && newer.reason.contains("\"ts\":7") && newer.reason.contains("\"ts\":5"))
  }
}
