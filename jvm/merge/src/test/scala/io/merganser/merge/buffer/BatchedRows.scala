package io.merganser.merge.buffer

import io.merganser.merge.{Change, Notation}
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

import java.nio.charset.StandardCharsets.UTF_8

/**
 * A merge with stored rows in column batches, row by row: those that no version touches too.
 *
 * @param batchRows the number of rows of a batch
 */
final class BatchedRows(rows: Seq[Change], batchRows: Int, merge: BatchMerge) extends MergeIterator(null) {
  private val batches              = rows.grouped(batchRows)
  private var batch: ColumnarBatch = _
  private var untouched            = Iterator.empty: Iterator[Int]
  private var isFinished           = false

  override def next(): Boolean =
    if (untouched.hasNext) {
      unchanged(batch.getRow(untouched.next()))
      true
    } else if (merge.next()) {
      follow(merge)
      true
    } else if (batches.hasNext) {
      batch = BatchedRows.batch(batches.next())
      val count = merge.take(batch)
      untouched = merge.untouched.take(count).toList.iterator
      next()
    } else
      !isFinished && {
        merge.finish()
        isFinished = true
        next()
      }
}

object BatchedRows {
  private def batch(rows: Seq[Change]): ColumnarBatch = {
    val columns = OnHeapColumnVector.allocateColumns(rows.size, Notation.schema)
    def put(column: Int, row: Int, text: Option[String]): Unit = text match {
      case Some(value) =>
        columns(column).putByteArray(row, value.getBytes(UTF_8))
        ()
      case None => columns(column).putNull(row)
    }
    for ((row, i) <- rows.zipWithIndex) {
      put(0, i, Some(row.key))
      row.ts.fold(columns(1).putNull(i))(columns(1).putLong(i, _))
      row.values.zipWithIndex.foreach { case (value, n) => put(n + 2, i, value) }
    }
    new ColumnarBatch(columns.map(column => column: ColumnVector), rows.size)
  }
}
