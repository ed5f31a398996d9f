package io.merganser.table.slice

import io.merganser.merge.RowLayout
import io.merganser.merge.buffer.{MergeCounts, MergeIterator, MergeTally, VersionBuffer}
import io.merganser.table.base.BaseFileFooter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.vectorized.ColumnarBatch

import java.io.Closeable

/** Rows that own open files: close them. The row object is reused: copy rows that you keep. */
trait SliceRows extends Iterator[InternalRow] with Closeable

/**
 * Column batches that own open files: close them. A batch is valid until the next one is requested.
 *
 * @param tally of the merge, so far; null if the rows are not merged
 */
final class SliceBatches private (batches: Iterator[ColumnarBatch], open: Seq[Closeable], val tally: MergeTally)
    extends Iterator[ColumnarBatch] with Closeable {
  override def hasNext: Boolean      = batches.hasNext
  override def next(): ColumnarBatch = batches.next()
  override def close(): Unit         = open.foreach(_.close())
}

/** A merge of the versions in a slice's logs. Owns their memory. */
sealed abstract class OpenVersions(versions: VersionBuffer) extends Closeable {

  /**
   * The versions in the logs that have no outcome in the merge, once it is at its end. Those that lost to an earlier
   * one of the logs are late, whatever the stored row is; how late is not known. The others were replaced by a later
   * one before they were merged with the stored row: they are duplicates.
   */
  final def replaced: MergeCounts = MergeCounts(late = versions.lateCount, duplicates = versions.duplicateCount)

  override def close(): Unit = versions.close()
}

/** The versions in a slice's logs, oldest first by key, and the instants of their blocks. */
final class OpenLogMerge(
    val merge: MergeIterator,
    val layout: RowLayout,
    val instants: Seq[String],
    versions: VersionBuffer
) extends OpenVersions(versions)

object SliceBatches {
  private[slice] def apply(
      batches: Iterator[ColumnarBatch],
      open: Seq[Closeable],
      tally: MergeTally = null
  ): SliceBatches = new SliceBatches(batches, open, tally)

  /**
   * The rows of batches for which a predicate on one of their columns, of strings, holds.
   *
   * @param width number of columns to return, the first ones
   * @param holds called once for each value that follows another one
   */
  def where(batches: SliceBatches, column: Int, width: Int)(holds: String => Boolean): SliceBatches =
    new SliceBatches(new SelectedBatches(batches, column, width, holds), Seq(batches), batches.tally)
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
    versions: VersionBuffer,
    base: Option[Closeable]
) extends OpenVersions(versions) {
  override def close(): Unit = {
    base.foreach(_.close())
    super.close()
  }
}

/**
 * The rows of a merge that are live.
 *
 * @param tally counts the outcomes, if not null
 */
private[slice] final class LiveRows(open: OpenMerge, tally: MergeTally = null) extends SliceRows {
  private[this] val merge    = open.merge
  private[this] var ready    = false
  private[this] var finished = false

  override def hasNext: Boolean = {
    while (!ready && !finished) {
      if (!merge.next()) finished = true
      else {
        ready = merge.isLive
        if (tally ne null) tally.add(merge)
      }
    }
    ready
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("no more rows")
    ready = false
    merge.row
  }

  override def close(): Unit = open.close()
}
