// Hot path: one lookup per stored row.
package io.merganser.merge.buffer

import io.merganser.merge.{KeyFold, RowLayout}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * The merge for stored rows that come in column batches: rows that no version touches stay in their batch, and only the
 * touched ones become rows and are merged.
 *
 * For each batch: [[take]] it, use its untouched rows, and call [[next]] until it is false before taking another. After
 * the last one, [[finish]], and [[next]] moves on to the keys that are not stored.
 */
final class BatchMerge private[buffer] (table: KeyTable, layout: RowLayout, fold: KeyFold)
    extends TableMerge(table, fold) {
  private[this] var batch: ColumnarBatch = _
  private[this] var touched              = new Array[Int](0)
  private[this] var entries              = new Array[Int](0)
  private[this] var touchedCount         = 0
  private[this] var at                   = 0
  private[this] var isFinished           = false

  /** Positions of the batch's rows that no version touches, as many as [[take]] returned. */
  var untouched: Array[Int] = new Array[Int](0)

  /** Matches the rows of a batch, with the columns of the layout; returns how many of them no version touches. */
  def take(newBatch: ColumnarBatch): Int = {
    batch = newBatch
    val rows = newBatch.numRows
    if (untouched.length < rows) {
      untouched = new Array[Int](rows)
      touched = new Array[Int](rows)
      entries = new Array[Int](rows)
    }
    val keys  = newBatch.column(layout.keyOrdinal)
    var count = 0
    touchedCount = 0
    at = 0
    var i = 0
    while (i < rows) {
      val entry = table.find(keys.getUTF8String(i))
      if (entry < 0) {
        untouched(count) = i
        count += 1
      } else {
        touched(touchedCount) = i
        entries(touchedCount) = entry
        touchedCount += 1
      }
      i += 1
    }
    count
  }

  /** Position in the batch of the stored row that the last [[next]] merged. */
  def position: Int = touched(at - 1)

  /** No batch follows: keys that were not matched are new. */
  def finish(): Unit = isFinished = true

  override def next(): Boolean =
    if (at < touchedCount) {
      val row: InternalRow = batch.getRow(touched(at))
      mergeAt(row, entries(at))
      at += 1
      true
    } else isFinished && nextNew()
}
