package org.apache.spark.sql.execution.merganser

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.RowToColumnConverter
import org.apache.spark.sql.execution.vectorized.{OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

/**
 * Gathers rows into column batches.
 *
 * @param capacity most rows of a batch
 * @return batches that share their vectors: one is good until the next is asked for; the last one's end closes them
 */
object RowsToBatches {
  def apply(rows: Iterator[InternalRow], schema: StructType, capacity: Int): Iterator[ColumnarBatch] =
    new Iterator[ColumnarBatch] {
      private[this] val vectors: Array[WritableColumnVector] =
        OnHeapColumnVector.allocateColumns(capacity, schema).map(v => v: WritableColumnVector)
      private[this] val converter = new RowToColumnConverter(schema)
      private[this] val batch     = new ColumnarBatch(vectors.map(v => v: ColumnVector))

      override def hasNext: Boolean = {
        val more = rows.hasNext
        if (!more) batch.close()
        more
      }

      override def next(): ColumnarBatch = {
        vectors.foreach(_.reset())
        var n = 0
        while (n < capacity && rows.hasNext) {
          converter.convert(rows.next(), vectors)
          n += 1
        }
        batch.setNumRows(n)
        batch
      }
    }
}
