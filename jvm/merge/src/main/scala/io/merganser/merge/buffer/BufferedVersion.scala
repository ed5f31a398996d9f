// Hot path: one call per version.
package io.merganser.merge.buffer

import io.merganser.merge.Version
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** Buffers one version, so that its reader can go on. The next version reuses its memory. */
private[buffer] final class BufferedVersion {
  private[this] val version = new Version
  private[this] var bytes   = new Array[Byte](256)
  private[this] var row     = new UnsafeRow(0)

  /** A version with a row of its own, valid until the next call. */
  def copyOf(from: Version): Version = version.become(from, ownRow(from.row))

  private def ownRow(from: InternalRow): InternalRow = from match {
    case packed: UnsafeRow =>
      val size = packed.getSizeInBytes
      if (size > bytes.length || row.numFields != packed.numFields) makeRoom(size, packed.numFields)
      packed.getBaseObject match {
        case array: Array[Byte] =>
          System.arraycopy(array, (packed.getBaseOffset - Platform.BYTE_ARRAY_OFFSET).toInt, bytes, 0, size)
        case base =>
          Platform.copyMemory(base, packed.getBaseOffset, bytes, Platform.BYTE_ARRAY_OFFSET.toLong, size.toLong)
      }
      if (size != row.getSizeInBytes) row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET.toLong, size)
      row
    case other => other.copy()
  }

  private def makeRoom(size: Int, fields: Int): Unit = {
    if (size > bytes.length) bytes = new Array[Byte](Math.max(size, bytes.length * 2))
    row = new UnsafeRow(fields)
    row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET.toLong, size)
  }
}
