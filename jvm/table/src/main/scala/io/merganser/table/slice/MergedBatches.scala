package io.merganser.table.slice

import io.merganser.merge.buffer.{BatchMerge, Outcome}
import org.apache.spark.sql.execution.merganser.RowBatch
import org.apache.spark.sql.types.{Decimal, StructType}
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarArray, ColumnarBatch, ColumnarMap}
import org.apache.spark.unsafe.types.UTF8String

/**
 * A slice's live rows in batches: those of the base file with merged rows in place of the stored ones, then batches of
 * rows that are not stored. Of base batches that cannot be patched, the rows that no log record matches are selected,
 * and merged rows are collected over several batches.
 *
 * @param base      batches with the merge's columns, the requested ones first
 * @param requested columns to return
 * @param returnsStored false to leave out rows as the base file has them
 */
private[slice] final class MergedBatches(
    base: Iterator[ColumnarBatch],
    merge: BatchMerge,
    requested: StructType,
    returnsStored: Boolean = true
) extends Iterator[ColumnarBatch] {
  private[this] val merged               = new RowBatch(requested, MergedBatches.Rows)
  private[this] val patched              = new PatchedBatch(requested)
  private[this] var ready: ColumnarBatch = _
  private[this] var isReturned           = false
  private[this] var isMerging            = false
  private[this] var isLast               = false

  override def hasNext: Boolean = {
    while (ready == null && !(isLast && !isMerging)) advance()
    ready != null
  }

  override def next(): ColumnarBatch = {
    if (!hasNext) throw new NoSuchElementException("no more batches")
    val batch = ready
    ready = null
    batch
  }

  private def advance(): Unit =
    if (isMerging) mergeTouched()
    else if (base.hasNext) {
      val batch = base.next()
      val count = merge.take(batch)
      if (returnsStored && patched.takes(batch)) ready = patch(batch)
      else {
        if (count > 0 && returnsStored) ready = untouched(batch, count)
        isMerging = true
      }
    } else {
      merge.finish()
      isLast = true
      isMerging = true
    }

  /** The batch with its merged rows; null if none is live. */
  private def patch(batch: ColumnarBatch): ColumnarBatch = {
    patched.take(batch)
    while (merge.next())
      if (merge.outcome == Outcome.Updated) patched.replace(merge.position, merge.row)
      else if (!merge.isLive) patched.remove(merge.position)
    patched.result()
  }

  private def mergeTouched(): Unit = {
    if (isReturned) {
      merged.clear()
      isReturned = false
    }
    while (isMerging && !merged.isFull)
      if (!merge.next()) isMerging = false
      else if (isAtRow) merged.append(merge.row)
    if (merged.isFull || (isLast && !isMerging && !merged.isEmpty)) {
      ready = merged.toBatch
      isReturned = true
    }
  }

  /** Whether the merge is at a row to return. */
  private def isAtRow: Boolean =
    if (returnsStored) merge.isLive else merge.outcome == Outcome.Updated || merge.outcome == Outcome.Inserted

  private def untouched(batch: ColumnarBatch, count: Int): ColumnarBatch = {
    val columns = Array.tabulate[ColumnVector](requested.length)(batch.column)
    if (count == batch.numRows) new ColumnarBatch(columns, count)
    else {
      val rows = merge.untouched
      new ColumnarBatch(columns.map(new SelectedColumn(_, rows)), count)
    }
  }
}

private object MergedBatches {
  private val Rows = 4096
}

/** A selection of a column's rows, not copied. */
private final class SelectedColumn(column: ColumnVector, rows: Array[Int]) extends ColumnVector(column.dataType) {
  override def close(): Unit                                           = () // the reader owns the column
  override def hasNull: Boolean                                        = column.hasNull
  override def numNulls: Int                                           = column.numNulls
  override def isNullAt(i: Int): Boolean                               = column.isNullAt(rows(i))
  override def getBoolean(i: Int): Boolean                             = column.getBoolean(rows(i))
  override def getByte(i: Int): Byte                                   = column.getByte(rows(i))
  override def getShort(i: Int): Short                                 = column.getShort(rows(i))
  override def getInt(i: Int): Int                                     = column.getInt(rows(i))
  override def getLong(i: Int): Long                                   = column.getLong(rows(i))
  override def getFloat(i: Int): Float                                 = column.getFloat(rows(i))
  override def getDouble(i: Int): Double                               = column.getDouble(rows(i))
  override def getArray(i: Int): ColumnarArray                         = column.getArray(rows(i))
  override def getMap(i: Int): ColumnarMap                             = column.getMap(rows(i))
  override def getDecimal(i: Int, precision: Int, scale: Int): Decimal = column.getDecimal(rows(i), precision, scale)
  override def getUTF8String(i: Int): UTF8String                       = column.getUTF8String(rows(i))
  override def getBinary(i: Int): Array[Byte]                          = column.getBinary(rows(i))
  override def getChild(ordinal: Int): ColumnVector = new SelectedColumn(column.getChild(ordinal), rows)
}
