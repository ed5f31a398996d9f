package io.merganser.merge

import io.merganser.merge.buffer.{BatchedRows, MergeIterator, Outcome, SortedMerge, VersionBuffer}
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/** Merges versions into stored rows, both written in [[Notation]]. */
trait MergeSuite extends AnyFunSuite {

  def rule: MergeRule

  /** The rule as every path calls it. */
  protected lazy val fold: KeyFold = MergePaths.fold(rule)

  /** Checks the rows of the table after the merge, on every merge path. */
  def assertMerged(base: String, versions: String, expected: String): Assertion = {
    val (rows, changes) = (Notation.changes(base), Notation.changes(versions))
    val expectedRows    = Notation.changes(expected).map(_.toString).sorted
    for ((path, merge) <- MergePaths.all)
      assert(Oracle.rows(MergePaths.lines(merge(rows, changes, rule))).map(_.toString).sorted == expectedRows,
        s"($path)")
    succeed
  }

  def assertOutcomes(base: String, versions: String, expected: String*): Assertion = {
    val (rows, changes) = (Notation.changes(base), Notation.changes(versions))
    for ((path, merge) <- MergePaths.all)
      assert(MergePaths.lines(merge(rows, changes, rule)).sorted == expected.sorted, s"($path)")
    succeed
  }
}

/** The paths on which versions of several batches are merged with stored rows; the readers reuse their rows. */
object MergePaths {
  type MergePath = (Seq[Change], Seq[Change], MergeRule) => MergeIterator

  private val KeepInMemory = Long.MaxValue

  /** The rule for the rows of one file group. */
  def fold(rule: MergeRule): KeyFold = new KeyFold(rule, "p0/group")

  /** The rule without the laws by which versions are combined before the stored row is known. */
  final class Apart(inner: MergeRule) extends MergeRule {
    override def laws: Laws =
      inner.laws.copy(associative = false, idempotent = false, orderFree = false, combinesBatch = false)

    override def merge(older: Version, newer: Version): Version = inner.merge(older, newer)
  }

  def buffer(versions: Seq[Change], rule: MergeRule, bufferBytes: Long = KeepInMemory): VersionBuffer = {
    val buffer = new VersionBuffer(Notation.layout, fold(rule), bufferBytes)
    val cursor = new Versions(versions)
    while (cursor.next()) buffer.add(cursor.record)
    buffer
  }

  /** In order of the keys' bytes, as files are; versions of a key keep their order. */
  def inKeyOrder(changes: Seq[Change]): Seq[Change] = changes.sortBy(_.key)

  val keyed: MergePath =
    (base, versions, rule) => buffer(versions, rule).merge(new StoredRows(base), baseSorted = false)

  val sorted: MergePath = (base, versions, rule) =>
    SortedMerge.ofLogs(new StoredRows(inKeyOrder(base)), new Versions(inKeyOrder(versions)), Notation.layout,
      fold(rule))

  /** Stored rows that come in batches. */
  val batched: MergePath =
    (base, versions, rule) => new BatchedRows(base, 4, buffer(versions, rule).mergeBatches(baseSorted = false))

  val sortedBatches: MergePath = (base, versions, rule) =>
    new BatchedRows(inKeyOrder(base), 4, buffer(versions, rule).mergeBatches(baseSorted = true))

  val all: Seq[(String, MergePath)] = Seq(
    "keyed" -> keyed,
    "sorted" -> sorted,
    "keyed, apart" -> ((base, versions, rule) => keyed(base, versions, new Apart(rule))),
    "sorted, apart" -> ((base, versions, rule) => sorted(base, versions, new Apart(rule))),
    "batched" -> batched,
    "sorted batches" -> sortedBatches,
    "sorted batches, apart" -> ((base, versions, rule) => sortedBatches(base, versions, new Apart(rule)))
  )

  private val names = Map(
    Outcome.Unchanged -> "Unchanged",
    Outcome.Late -> "Kept",
    Outcome.Updated -> "Updated",
    Outcome.Inserted -> "Inserted",
    Outcome.Deleted -> "Deleted",
    Outcome.Absent -> "Absent"
  )

  /** One line for each merged key: the outcome, and the row or, where there is none, the key. */
  def lines(merge: MergeIterator): Seq[String] = {
    val lines = Seq.newBuilder[String]
    while (merge.next()) {
      val row = Notation.read(merge.row)
      lines += s"${names(merge.outcome)} ${if (merge.isLive) row.toString else row.key}"
      val isOld = merge.outcome == Outcome.Unchanged || merge.outcome == Outcome.Late
      if (isOld != (merge.winner == null))
        throw new IllegalStateException(s"winner ${merge.winner} of ${names(merge.outcome)}")
    }
    lines.result()
  }
}
