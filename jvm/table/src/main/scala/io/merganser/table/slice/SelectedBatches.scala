// Hot path: one call per row.
package io.merganser.table.slice

import org.apache.spark.sql.execution.vectorized.WritableColumnVector
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
  private[this] var decided              = new Array[Byte](16) // by id in the batch's dictionary

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
    val rows = new Array[Int](batch.numRows)
    val count = batch.column(column) match {
      case values: WritableColumnVector if values.hasDictionary => selectById(values, rows)
      case values                                               => selectByValue(values, rows)
    }
    if (count == 0) null
    else {
      val columns = Array.tabulate[ColumnVector](width)(batch.column)
      new ColumnarBatch(if (count == batch.numRows) columns else columns.map(new SelectedColumn(_, rows)), count)
    }
  }

  /** @return how many rows are selected; their positions come first in `rows`, which has the batch's length */
  private def selectByValue(values: ColumnVector, rows: Array[Int]): Int = {
    var count = 0
    var i     = 0
    while (i < rows.length) {
      if (!values.isNullAt(i) && isOne(values.getUTF8String(i))) {
        rows(count) = i
        count += 1
      }
      i += 1
    }
    count
  }

  /** The same, where the batch has the values as ids in a dictionary: each value is decided once. */
  private def selectById(values: WritableColumnVector, rows: Array[Int]): Int = {
    val ids = values.getDictionaryIds
    java.util.Arrays.fill(decided, SelectedBatches.Unknown)
    var count = 0
    var i     = 0
    while (i < rows.length) {
      if (!values.isNullAt(i)) {
        val id = ids.getDictId(i)
        if (id >= decided.length) decided = java.util.Arrays.copyOf(decided, math.max(id + 1, decided.length * 2))
        if (decided(id) == SelectedBatches.Unknown)
          decided(id) = if (isOne(values.getUTF8String(i))) SelectedBatches.Yes else SelectedBatches.No
        if (decided(id) == SelectedBatches.Yes) {
          rows(count) = i
          count += 1
        }
      }
      i += 1
    }
    count
  }

  private def isOne(value: UTF8String): Boolean = {
    if (value != last) {
      last = value.copy()
      isLastOne = holds(value.toString)
    }
    isLastOne
  }
}

private object SelectedBatches {
  private val Unknown: Byte = 0
  private val No: Byte      = 1
  private val Yes: Byte     = 2
}
