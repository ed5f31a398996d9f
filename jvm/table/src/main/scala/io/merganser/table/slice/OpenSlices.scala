package io.merganser.table.slice

import io.merganser.merge.RowLayout
import io.merganser.merge.buffer.{Decisions, MergeIterator}
import io.merganser.table.base.BaseFileFooter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.vectorized.ColumnarBatch

import java.io.Closeable

/** Rows that own open files: close them. The row object is reused: copy rows that you keep. */
trait SliceRows extends Iterator[InternalRow] with Closeable

/**
 * Column batches that own open files: close them. A batch is valid until the next one is requested.
 *
 * @param decisions of the merge, so far; null if the rows are not merged
 */
final class SliceBatches private (batches: Iterator[ColumnarBatch], open: Seq[Closeable], val decisions: Decisions)
    extends Iterator[ColumnarBatch] with Closeable {
  override def hasNext: Boolean      = batches.hasNext
  override def next(): ColumnarBatch = batches.next()
  override def close(): Unit         = open.foreach(_.close())
}

/** The versions in a slice's logs, oldest first by key, and the instants of their blocks. Owns open files. */
final class OpenLogMerge(val merge: MergeIterator, val layout: RowLayout, val instants: Seq[String], open: Closeable)
    extends Closeable {
  override def close(): Unit = open.close()
}

object SliceBatches {
  private[slice] def apply(
      batches: Iterator[ColumnarBatch],
      open: Seq[Closeable],
      decisions: Decisions = null
  ): SliceBatches = new SliceBatches(batches, open, decisions)

  /**
   * The rows of batches for which a predicate on one of their columns, of strings, holds.
   *
   * @param width number of columns to return, the first ones
   * @param holds called once for each value that follows another one
   */
  def where(batches: SliceBatches, column: Int, width: Int)(holds: String => Boolean): SliceBatches =
    new SliceBatches(new SelectedBatches(batches, column, width, holds), Seq(batches), batches.decisions)
}

/**
 * A merge over a file slice that owns open files.
 *
 * @param footer of the base file
 */
final class OpenMerge(
    val merge: MergeIterator,
    val layout: RowLayout,
    val footer: Option[BaseFileFooter],
    open: Seq[Closeable]
) extends Closeable {
  override def close(): Unit = open.foreach(_.close())
}
