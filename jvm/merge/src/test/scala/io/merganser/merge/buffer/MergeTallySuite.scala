package io.merganser.merge.buffer

import io.merganser.merge._
import io.merganser.merge.columns.{ColumnFunction, ColumnRule}
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

/** What counts as a tie under a rule that takes late-arriving versions. */
class MergeTallySuite extends AnyFunSuite {

  private val schema = StructType.fromDDL("k STRING, ts INT, n INT")
  private val layout = RowLayout(schema, "k", Seq("ts"), Nil)
  private val fold =
    new KeyFold(new ColumnRule(layout, Map("n" -> ColumnFunction.Sum).getOrElse(_, ColumnFunction.Last), Nil, Nil),
      order = new OrderingComparator(layout))

  private def row(ts: Any, n: Int) = new GenericInternalRow(Array[Any](UTF8String.fromString("k"), ts, n))

  private def version(ts: Int, n: Int): Version = layout.fill(new Version, row(ts, n))

  /** After the stored row `5,1` and versions of several batches. */
  private def tally(versions: Version*): MergeTally = {
    val buffer = new VersionBuffer(layout, fold, Long.MaxValue)
    versions.foreach(buffer.add)
    val merge = buffer.merge(Iterator(row(5, 1)), baseSorted = true)
    val tally = new MergeTally
    while (merge.next()) tally.add(merge)
    tally
  }

  private def counts(versions: Version*): (Long, Long, Long) = {
    val found = tally(versions: _*)
    (found.updated, found.ties, found.filled)
  }

  test("a late-arriving version that adds to a sum counts as won and not as a tie") {
    assert(counts(version(3, 2)) == ((1L, 0L, 1L)))
    assert(counts(version(3, 2), version(4, 2)) == ((1L, 0L, 1L)))
  }

  test("a version with the stored ordering value is a tie, also after a late-arriving one") {
    assert(counts(version(5, 2)) == ((1L, 1L, 1L)))
    assert(counts(version(3, 2), version(5, 2)) == ((1L, 1L, 1L)))
    assert(counts(version(6, 2)) == ((1L, 0L, 1L)))
  }

  test("a partial version has the stored ordering value if it does not provide one") {
    def partial(ts: Any, provided: Array[Boolean]) = layout.fill(new Version, row(ts, 2), provided, inserts = false)
    assert(counts(partial(null, Array(true, false, true))) == ((1L, 1L, 1L)))
    assert(counts(partial(3, Array(true, true, true))) == ((1L, 0L, 1L)))
  }

  test("a late-arriving version whose sum is the stored one is not late, since it was added") {
    assert(tally(version(3, 0)).late == 0)
  }
}
