// Hot path: one call per row.
package io.merganser.table.change

import io.merganser.table.slice.{FileSlice, SliceReader, SliceRows}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.unsafe.types.UTF8String

/**
 * The rows of some keys before and after a write that only appended logs. The base file is read once: its rows of these
 * keys are merged with the logs before, and with all logs.
 *
 * @param older    reads the slice before, `newer` the slice after; both with the same columns
 * @param row      copies a row of their schema, into a row that is reused
 * @param maxBytes of the rows that are in memory
 */
private[change] final class AppendedRows(
    older: SliceReader,
    newer: SliceReader,
    keyOrdinal: Int,
    row: UnsafeProjection,
    maxBytes: Long
) {
  private[this] var bytes = 0L

  private[this] val byKey: java.util.Comparator[UnsafeRow] =
    (a, b) => a.getUTF8String(keyOrdinal).compareTo(b.getUTF8String(keyOrdinal))

  /**
   * @return both in ascending order of the keys' unsigned bytes; None if they are too many
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING
   */
  def of(before: FileSlice, after: FileSlice, keys: UTF8String => Boolean): Option[(SliceRows, SliceRows)] = {
    bytes = 0
    def states(stored: Array[UnsafeRow]): Option[(SliceRows, SliceRows)] = {
      def merged(reader: SliceReader, slice: FileSlice): Option[Array[UnsafeRow]] =
        if (slice.logs.isEmpty) Some(stored) else collected(reader.mergedRows(slice, stored.iterator, keys))
      for (from <- merged(older, before); to <- merged(newer, after)) yield (sorted(from), sorted(to))
    }
    collected(newer.storedRows(after), keys).flatMap(states(_))
  }

  private def collected(rows: SliceRows, keys: UTF8String => Boolean = null): Option[Array[UnsafeRow]] =
    try {
      val found = Array.newBuilder[UnsafeRow]
      while (bytes <= maxBytes && rows.hasNext) {
        val next = rows.next()
        if (keys == null || keys(next.getUTF8String(keyOrdinal))) {
          val copy = row(next).copy()
          bytes += copy.getSizeInBytes + AppendedRows.OverheadBytes
          found += copy
        }
      }
      if (bytes <= maxBytes) Some(found.result()) else None
    } finally rows.close()

  private def sorted(rows: Array[UnsafeRow]): SliceRows = {
    val inOrder = rows.clone()
    java.util.Arrays.sort(inOrder, byKey)
    new SliceRows {
      private[this] val each           = inOrder.iterator
      override def hasNext: Boolean    = each.hasNext
      override def next(): InternalRow = each.next()
      override def close(): Unit       = ()
    }
  }
}

private[change] object AppendedRows {
  val MaxBytes: Long = 64L << 20

  private val OverheadBytes = 48
}
