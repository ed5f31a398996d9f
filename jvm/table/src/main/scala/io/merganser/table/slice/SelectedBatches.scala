// Hot path: one call per row.
package io.merganser.table.slice

import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.apache.spark.unsafe.types.UTF8String

/** See [[SliceBatches.where]]. The rows are not copied. */
private[slice] final class SelectedBatches(
    batches: Iterator[ColumnarBatch],
    column: Int,
    width: Int,
    holds: String => Boolean
) extends Iterator[ColumnarBatch] {
  private[this] var ready: ColumnarBatch = _
  private[this] var last: UTF8String     = _
  private[this] var isLastOne            = false

  override def hasNext: Boolean = {
    while (ready == null && batches.hasNext) ready = selected(batches.next())
    ready != null
  }

  override def next(): ColumnarBatch = {
    if (!hasNext) throw new NoSuchElementException("no more batches")
    val batch = ready
    ready = null
    batch
  }

  /** Null if there is no such row. */
  private def selected(batch: ColumnarBatch): ColumnarBatch = {
    val values = batch.column(column)
    val rows   = new Array[Int](batch.numRows)
    var count  = 0
    var i      = 0
    while (i < batch.numRows) {
      if (!values.isNullAt(i) && isOne(values.getUTF8String(i))) {
        rows(count) = i
        count += 1
      }
      i += 1
    }
    if (count == 0) null
    else {
      val columns = Array.tabulate[ColumnVector](width)(batch.column)
      new ColumnarBatch(if (count == batch.numRows) columns else columns.map(new SelectedColumn(_, rows)), count)
    }
  }

  private def isOne(value: UTF8String): Boolean = {
    if (value != last) {
      last = value.copy()
      isLastOne = holds(value.toString)
    }
    isLastOne
  }
}
