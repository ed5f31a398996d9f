package org.apache.spark.sql.execution.merganser

import org.apache.spark.sql.catalyst.{InternalRow, ProjectingInternalRow}
import org.apache.spark.sql.execution.RowToColumnConverter
import org.apache.spark.sql.execution.vectorized.{OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

/**
 * A column batch that rows are put into.
 *
 * @param capacity most rows it holds
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

  /** Puts a row's values behind the others; columns beyond the schema's are passed over. */
  def append(row: InternalRow): Unit = {
    leading.project(row)
    converter.convert(leading, vectors)
    count += 1
  }

  /** The rows so far; good until [[clear]]. */
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
 * Gathers rows into column batches.
 *
 * @param capacity most rows of a batch
 * @return batches that share their vectors: one is good until the next is asked for; the last one's end closes them
 */
object RowsToBatches {
  def apply(rows: Iterator[InternalRow], schema: StructType, capacity: Int): Iterator[ColumnarBatch] =
    new Iterator[ColumnarBatch] {
      private[this] val gathered = new RowBatch(schema, capacity)

      override def hasNext: Boolean = {
        val more = rows.hasNext
        if (!more) gathered.close()
        more
      }

      override def next(): ColumnarBatch = {
        gathered.clear()
        while (!gathered.isFull && rows.hasNext) gathered.append(rows.next())
        gathered.toBatch
      }
    }
}
