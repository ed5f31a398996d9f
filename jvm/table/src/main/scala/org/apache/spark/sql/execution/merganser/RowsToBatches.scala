package org.apache.spark.sql.execution.merganser

import org.apache.spark.sql.catalyst.{InternalRow, ProjectingInternalRow}
import org.apache.spark.sql.execution.RowToColumnConverter
import org.apache.spark.sql.execution.vectorized.{OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

/**
 * A column batch that rows are appended to.
 *
 * @param capacity its maximum number of rows
 */
final class RowBatch(schema: StructType, capacity: Int) {
  private[this] val vectors: Array[WritableColumnVector] =
    OnHeapColumnVector.allocateColumns(capacity, schema).map(v => v: WritableColumnVector)
  private[this] val converter = new RowToColumnConverter(schema) // takes as many columns as the row has
  private[this] val leading   = ProjectingInternalRow(schema, schema.indices)
  private[this] val batch     = new ColumnarBatch(vectors.map(v => v: ColumnVector))
  private[this] var count     = 0

  def isFull: Boolean = count >= capacity

  def isEmpty: Boolean = count == 0

  /** Appends a row's values; columns beyond the schema's are ignored. */
  def append(row: InternalRow): Unit = {
    leading.project(row)
    converter.convert(leading, vectors)
    count += 1
  }

  /** The appended rows; valid until [[clear]]. */
  def toBatch: ColumnarBatch = {
    batch.setNumRows(count)
    batch
  }

  def clear(): Unit = {
    vectors.foreach(_.reset())
    count = 0
  }

  def close(): Unit = batch.close()
}

/**
 * Collects rows into column batches.
 *
 * @param capacity maximum number of rows of a batch
 * @return batches that share their vectors: one is valid until the next is requested; the end closes them
 */
object RowsToBatches {
  def apply(rows: Iterator[InternalRow], schema: StructType, capacity: Int): Iterator[ColumnarBatch] =
    new Iterator[ColumnarBatch] {
      private[this] val current = new RowBatch(schema, capacity)

      override def hasNext: Boolean = {
        val more = rows.hasNext
        if (!more) current.close()
        more
      }

      override def next(): ColumnarBatch = {
        current.clear()
        while (!current.isFull && rows.hasNext) current.append(rows.next())
        current.toBatch
      }
    }
}
