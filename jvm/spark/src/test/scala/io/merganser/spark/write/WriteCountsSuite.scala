package io.merganser.spark.write

import io.merganser.merge.Change
import io.merganser.merge.buffer.{Lateness, MergeCounts}
import io.merganser.spark.LocalSession
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.{TableSuite, UsersClasses}
import org.apache.spark.sql.SaveMode

// Guarantee (Counts, dry runs and explanations): Each write counts rows that the rule filled, updates without effect
//   and tombstones, in its result, the commit, `history` and the SQL tab. Also:
//   test_the_sql_tab_shows_the_counts_of_an_insert, MergeTallySuite
/** What a write counts beside new and changed rows; the commit has the same counts. */
final class WriteCountsSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[1]"

  private def row(key: String, ts: Long, v: String, w: String = "w") =
    Change(key, Some(ts), Seq(Option(v), Option(w)))

  private def delete(key: String, ts: Long) = Change(key, Some(ts), Seq(None, None), isDelete = true)

  /** The counts of a write, which are those of its commit. */
  private def write(options: Map[String, String])(changes: Change*): MergeCounts = {
    val result = FrameWrite.save(spark, storage.toString, SaveMode.Append, options, frame(changes).coalesce(1)).get
    val table  = OpenTable.load(spark, storage.toString)
    val commit = table.timeline.instants.find(_.requested == result.instant).get
    assert(Counts.of(table.timeline.metadata(commit)) == result.counts)
    result.counts
  }

  test("a version equal to the stored row counts as a no-op, a delete of an unknown key as a tombstone") {
    val event = options(mergeOnRead = false, bucketed = true)
    write(event)(row("k0", 1, "a"), row("k2", 1, "a"), row("k4", 1, "a"), row("k6", 1, "a"))
    val counts = write(event)(row("k0", 1, "a"), row("k2", 1, "b"), row("k4", 2, "a"), delete("k8", 1))
    assert(counts == MergeCounts(updated = 3, unchanged = counts.unchanged, ties = 2, noOps = 1, tombstones = 1))
    assert(counts.unchanged <= 1)
  }

  test("a batch of deletes of unknown keys counts tombstones although it writes no file") {
    val event = options(mergeOnRead = false, bucketed = false)
    write(event)(row("k0", 1, "a"))
    assert(write(event)(delete("k1", 1), delete("k3", 1)) == MergeCounts(tombstones = 2))
  }

  test("without ordering values equal values count as a no-op") {
    val commit = options(mergeOnRead = false, bucketed = true) - "hoodie.table.ordering.fields" +
      ("hoodie.write.record.merge.mode" -> "COMMIT_TIME_ORDERING")
    write(commit)(row("k0", 1, "a"), row("k2", 1, null))
    val counts = write(commit)(row("k0", 1, "a"), row("k2", 1, null, "x"))
    assert(counts == MergeCounts(updated = 2, unchanged = counts.unchanged, noOps = 1))
  }

  test("a row that the rule computed from two versions counts as filled") {
    val filling = options(mergeOnRead = false, bucketed = true) + ("merganser.rule.default" -> "last_non_null")
    write(filling)(row("k0", 1, "a"), row("k2", 1, "a"), row("k4", 1, "a"))
    val counts = write(filling)(row("k0", 2, null, "x"), row("k2", 2, "b"), row("k4", 1, null))
    assert((counts.updated, counts.filled, counts.noOps) == ((3L, 3L, 1L)))
  }

  test("a delete that the rule ignores counts as late only with a smaller ordering value") {
    val ignoring = options(mergeOnRead = false, bucketed = true) ++ Map("hoodie.bucket.index.num.buckets" -> "1",
      "merganser.rule.delete" -> "ignore")
    write(ignoring)(row("k0", 5, "a"), row("k2", 5, "a"))
    val counts = write(ignoring)(delete("k0", 9), delete("k2", 3))
    assert(counts == MergeCounts(unchanged = 1, late = 1, lateness = Lateness(Map("under 10" -> 1L))))
    assert(rows(storage).size == 2)
  }

  private def dryRun(options: Map[String, String])(changes: Change*) =
    FrameWrite.save(spark, storage.toString, SaveMode.Append, options + ("spark.merganser.write.dryRun" -> "true"),
      frame(changes).coalesce(1)).get.dryRun.get

  for (mergeOnRead <- Seq(false, true)) {
    def ofOneBucket(rule: (String, String)) =
      options(mergeOnRead, bucketed = true) ++ Map("hoodie.bucket.index.num.buckets" -> "1", rule)
    val kind = if (mergeOnRead) "merge-on-read" else "copy-on-write"

    test(s"a dry run shows deletes that the rule ignores as ignored or late, for a $kind table") {
      val ignoring = ofOneBucket("merganser.rule.delete" -> "ignore")
      write(ignoring)(row("k0", 5, "a"), row("k2", 5, "a"))
      val shown = dryRun(ignoring)(delete("k0", 9), delete("k2", 3))
      assert((shown.merged.late, shown.merged.deleted) == ((1L, 0L)))
      assert(shown.rows.map(row => row.key -> row.outcome).sorted == Seq("k0" -> "ignored", "k2" -> "late"))
    }

    test(s"a late-arriving version added to a row of a $kind table does not count as a tie") {
      val adding = ofOneBucket("merganser.rule.column.v" -> "concat('+')")
      write(adding)(row("k0", 5, "a"), row("k2", 5, "a"))
      val late   = Seq(row("k0", 3, "b"), row("k2", 5, "b"))
      val merged = dryRun(adding)(late: _*).merged
      assert(merged == MergeCounts(updated = 2, ties = 1, filled = 2))
      val counts = write(adding)(late: _*)
      assert(mergeOnRead || counts == merged)
    }
  }

  test("an unconditional delete that a merger refuses does not count as late") {
    val refusing = options(mergeOnRead = false, bucketed = true) ++ Map("hoodie.bucket.index.num.buckets" -> "1",
      "hoodie.write.record.merge.mode" -> "CUSTOM", "hoodie.write.record.merge.strategy.id" -> UsersClasses.Id,
      "hoodie.write.record.merge.custom.implementation.classes" -> classOf[UsersClasses.Refusing].getName)
    write(refusing)(row("k0", 5, "a"), row("k2", 5, "a"))
    val counts = write(refusing + ("hoodie.datasource.write.operation" -> "delete"))(row("k0", 3, "a"))
    assert(counts == MergeCounts(unchanged = 2))
  }

  for (isDry <- Seq(false, true))
    test("versions that all lose to retained deletes of a merge-on-read table are late" +
      (if (isDry) " in a dry run" else "")) {
      val retaining = options(mergeOnRead = true, bucketed = true) ++ Map("hoodie.bucket.index.num.buckets" -> "1",
        "merganser.tombstones.retained.hours" -> "24")
      write(retaining)(row("k0", 1, "a"), delete("k2", 5), delete("k4", 5))
      if (isDry) {
        val dry = retaining + ("spark.merganser.write.dryRun" -> "true")
        val result = FrameWrite.save(spark, storage.toString, SaveMode.Append, dry,
          frame(Seq(row("k2", 3, "b"), row("k4", 4, "b"))).coalesce(1)).get
        assert(result.counts == MergeCounts(late = 2, tombstones = 2))
        assert(result.dryRun.get.merged == MergeCounts(late = 2, tombstones = 2))
        assert(result.dryRun.get.rows.map(_.outcome) == Seq("late", "late"))
      } else {
        assert(write(retaining)(row("k2", 3, "b"), row("k4", 4, "b")) == MergeCounts(late = 2, tombstones = 2))
        assert(rows(storage) == Seq(row("k0", 1, "a").toString))
      }
    }
}
