package io.merganser.spark.write

import io.merganser.table.slice.MergeCounts
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

/** What becomes of a row, where a statement that has read the stored row knows it before a log takes the row. */
object RowOutcome {
  final val Inserted = 1
  final val Updated  = 2

  /** Updated by a row of the same ordering value. */
  final val Tied = 3

  /** Lost against the stored row. */
  final val Late    = 4
  final val Deleted = 5

  /** Inserted by a statement that has not looked for a stored row of its key. */
  final val Unlooked = 6
}

/**
 * Counts keys by what becomes of them; of several rows of a key the last that does not lose counts.
 *
 * @param unlooked what becomes of [[RowOutcome.Unlooked]] rows that go to a log
 */
private[write] final class KnownOutcomes(keyOrdinal: Int, outcomeOrdinal: Int, unlooked: Int) {
  private[this] var key: UTF8String = _
  private[this] var outcome         = 0
  private[this] val counted         = new Array[Long](RowOutcome.Deleted + 1)

  def see(row: InternalRow): Unit = {
    val own = row.getUTF8String(keyOrdinal)
    if (key == null || own != key) {
      count()
      key = own.copy()
    }
    val said = row.getInt(outcomeOrdinal)
    val next = if (said == RowOutcome.Unlooked) unlooked else said
    if (next != RowOutcome.Late || outcome == 0) outcome = next
  }

  /** Of all rows seen. */
  def counts: MergeCounts = {
    count()
    MergeCounts(
      inserted = counted(RowOutcome.Inserted),
      updated = counted(RowOutcome.Updated) + counted(RowOutcome.Tied),
      late = counted(RowOutcome.Late),
      deleted = counted(RowOutcome.Deleted),
      ties = counted(RowOutcome.Tied)
    )
  }

  private def count(): Unit = {
    if (outcome != 0) counted(outcome) += 1
    outcome = 0
  }
}
