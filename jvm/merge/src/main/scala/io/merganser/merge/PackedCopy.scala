// Hot path: one call per version.
package io.merganser.merge

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** A copy of one packed row. The next one reuses its memory. */
private[merge] final class PackedCopy {
  private[this] var bytes = new Array[Byte](256)

  /** Valid until the next call of [[copyOf]]. Another object only where the number of columns changes. */
  var row: UnsafeRow = new UnsafeRow(0)

  def copyOf(packed: UnsafeRow): UnsafeRow = {
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
  }

  private def makeRoom(size: Int, fields: Int): Unit = {
    if (size > bytes.length) bytes = new Array[Byte](Math.max(size, bytes.length * 2))
    row = new UnsafeRow(fields)
    row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET.toLong, size)
  }
}
