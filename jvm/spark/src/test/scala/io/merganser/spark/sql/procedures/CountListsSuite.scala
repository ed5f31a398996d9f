package io.merganser.spark.sql.procedures

import io.merganser.merge.buffer.{Count, MergeCounts, MergeTally, Outcome}
import io.merganser.spark.write.{Counts, StatementResult, TableCommit}
import io.merganser.table.timeline.{CommitMetadata, OperationType}
import org.scalatest.funsuite.AnyFunSuite

/** Every list of counts is that of [[MergeCounts.all]]. */
final class CountListsSuite extends AnyFunSuite {
  private val all: Seq[Count] = MergeCounts.all

  /** Counts of different values. */
  private val counts = all.zipWithIndex.foldLeft(MergeCounts()) { case (c, (count, i)) => count.set(c, i + 1L) }

  test("each field of the counts has one entry in the list, which reads and sets that field") {
    assert(counts.productIterator.toSeq.init == all.map(_.in(counts)))
    assert(all.map(_.in(counts)) == all.indices.map(_ + 1L))
    assert(all.map(_.name).distinct == all.map(_.name) && all.forall(_.doc.nonEmpty))
  }

  test("every count occurs in sums, commit metadata, columns of calls and metrics of statements") {
    assert(all.map(_.in(counts + counts)) == all.indices.map(i => 2L * (i + 1)))
    val metadata = CommitMetadata(OperationType.Upsert, Map.empty, Map(TableCommit.CountsKey -> Counts.toJson(counts)))
    assert(Counts.of(metadata) == counts)
    assert(CommitColumns.counts.names == all.map(_.column))
    assert(CommitColumns.counts.row(CommitColumns.countsOf(metadata)).toSeq == all.map(_.in(counts)))
    assert(all.map(_.column).filterNot(StatementResult.MetricNames.contains) == Nil)
    assert(StatementResult.counts.map(_.column) ==
      Seq("inserted", "updated", "unchanged", "deleted", "late", "ties", "appended"))
  }

  test("each outcome of a merge adds to one count, a tie and a refused version to two") {
    import Outcome._
    val counted = Seq(Unchanged, Late, Updated, Inserted, Deleted, Absent, Refused, Tied, Added, Ignored, Rowless,
      Appended, Uncounted).map { decision =>
      val tally = new MergeTally
      tally.add(decision)
      val found = MergeCounts.of(tally)
      all.filter(_.in(found) == 1).map(_.name)
    }
    assert(counted == Seq(Seq("unchanged"), Seq("late"), Seq("updated"), Seq("inserted"), Seq("deleted"),
      Seq("tombstones"), Seq("late", "tombstones"), Seq("updated", "ties"), Seq("updated"), Seq("unchanged"),
      Seq("noOps"), Nil, Nil))
  }
}
