// Hot path: one call per row.
package io.merganser.table.base

import io.merganser.table.storage.MemoryFile
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import java.util.TreeMap
import scala.collection.mutable

/**
 * The rows of a base file that have the newest commit times, which the file has a second time in a section of its own:
 * a Parquet file with the same columns. A reader of changed rows then reads as many rows as were changed, wherever they
 * are among the others.
 *
 * @param after all rows of the file with a greater commit time are in the section
 */
final case class RecentRows(after: String, section: BaseFileSection) {

  /** Whether the section has all rows of the file with this commit time or a later one. */
  def hold(since: String): Boolean = after < since
}

object RecentRows {

  def of(footer: BaseFileFooter): Option[RecentRows] =
    for {
      section <- BaseFileSection.of(footer, BaseFileFooter.RecentRows)
      after   <- footer.keyValues.get(BaseFileFooter.RecentRowsAfter)
    } yield RecentRows(after, section)

  /**
   * Collects the rows for a file that replaces another: those since it, and those that it has as recent ones itself.
   *
   * @param instant of the replaced file: none of its rows is newer
   * @param share   of the rows of the replaced file
   * @param copies  of rows whose first column is the commit time, into a row that is reused
   */
  def following(
      replaced: BaseFileFooter,
      instant: String,
      share: Double,
      copies: => UnsafeProjection
  ): Option[RecentRowBuffer] = {
    val most = (replaced.rowCount * share).toLong
    if (most < 1) None else Some(new RecentRowBuffer(after(replaced, instant), most, copies))
  }

  /** The rows that are collected have a later commit time than this. */
  def after(replaced: BaseFileFooter, instant: String): String = of(replaced).fold(instant)(_.after)
}

/**
 * Collects rows by their commit time. Where they become too many, those with the oldest commit time are left out.
 *
 * @param from   rows with this commit time or an earlier one are left out
 * @param most   number of rows
 * @param copies see [[RecentRows.following]]
 */
final class RecentRowBuffer(from: String, most: Long, copies: => UnsafeProjection) {
  private[this] val byTime                               = new TreeMap[UTF8String, mutable.ArrayBuffer[UnsafeRow]]
  private[this] var copied: UnsafeProjection             = _
  private[this] var bound                                = UTF8String.fromString(from)
  private[this] var (rowCount, bytes)                    = (0L, 0L)
  private[this] var lastTime: UTF8String                 = _
  private[this] var last: mutable.ArrayBuffer[UnsafeRow] = _

  /** Rows with this commit time or an earlier one are left out. */
  def after: String = bound.toString

  /** Whether a row with this commit time is collected. */
  def takes(time: UTF8String): Boolean = bound.compareTo(time) < 0

  /** @param row not retained */
  def add(row: InternalRow): Unit = if (!row.isNullAt(0)) {
    val time = row.getUTF8String(0)
    if (takes(time)) {
      if (time != lastTime) beginTime(time)
      val copy = copied(row).copy()
      last += copy
      rowCount += 1
      bytes += copy.getSizeInBytes
      while (rowCount > most || bytes > RecentRowBuffer.MaxBytes) dropOldest()
    }
  }

  private def beginTime(time: UTF8String): Unit = {
    if (copied == null) copied = copies
    lastTime = time.copy()
    last = byTime.get(lastTime)
    if (last == null) {
      last = mutable.ArrayBuffer.empty
      byTime.put(lastTime, last)
    }
  }

  private def dropOldest(): Unit = {
    val oldest = byTime.pollFirstEntry()
    bound = oldest.getKey
    rowCount -= oldest.getValue.size
    bytes -= oldest.getValue.iterator.map(_.getSizeInBytes.toLong).sum
    lastTime = null
  }

  /** The rows as a Parquet file; None if all rows are left out whose commit time is after [[from]]. */
  private[base] def encoded(
      conf: Configuration,
      name: String,
      schema: StructType,
      options: BaseFileOptions
  ): Option[Array[Byte]] =
    if (rowCount == 0) None
    else {
      val file   = new MemoryFile(name)
      val writer = new RowParquetWriter(conf, file, None, schema, options.copy(bloomFilter = None))
      byTime.values.forEach(_.foreach(writer.write))
      writer.close()
      Some(file.bytes)
    }
}

private object RecentRowBuffer {
  private val MaxBytes = 32L << 20
}
