// Hot path: one call per row.
package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.vectorized.ColumnarBatchRow
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

import java.nio.ByteOrder

/**
 * Strings in place: a base object, an offset and a number of bytes, so that no object is made for them.
 *
 * Rows are distinguished by class: a string in a packed row needs no object, and the one that a column batch's row
 * makes never leaves the method it is made in.
 */
private[merge] object StringBytes {
  private[this] val isLittleEndian = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN

  /** Negative, zero or positive as the unsigned bytes of `a` are smaller than, equal to or larger than those of `b`. */
  def compare(a: AnyRef, aOffset: Long, aBytes: Int, b: AnyRef, bOffset: Long, bBytes: Int): Int = {
    val common = Math.min(aBytes, bBytes)
    val last   = common - 8
    var i      = 0
    while (i < last) {
      val x = Platform.getLong(a, aOffset + i)
      val y = Platform.getLong(b, bOffset + i)
      if (x != y) return compareWords(x, y)
      i += 8
    }
    if (last >= 0) {
      // The last word may begin in the one before it, which is equal.
      val x = Platform.getLong(a, aOffset + last)
      val y = Platform.getLong(b, bOffset + last)
      if (x != y) compareWords(x, y) else aBytes - bBytes
    } else {
      while (i < common) {
        val difference = (Platform.getByte(a, aOffset + i) & 0xff) - (Platform.getByte(b, bOffset + i) & 0xff)
        if (difference != 0) return difference
        i += 1
      }
      aBytes - bBytes
    }
  }

  /** The same for the string in a row's column, which is not null. */
  def compare(row: InternalRow, ordinal: Int, b: AnyRef, bOffset: Long, bBytes: Int): Int = row match {
    case packed: UnsafeRow =>
      val at = packed.getLong(ordinal)
      compare(packed.getBaseObject, packed.getBaseOffset + (at >>> 32), at.toInt, b, bOffset, bBytes)
    case columnar: ColumnarBatchRow => compare(columnar.getUTF8String(ordinal), b, bOffset, bBytes)
    case other                      => compare(other.getUTF8String(ordinal), b, bOffset, bBytes)
  }

  private def compare(a: UTF8String, b: AnyRef, bOffset: Long, bBytes: Int): Int =
    compare(a.getBaseObject, a.getBaseOffset, a.numBytes, b, bOffset, bBytes)

  /** The same for the strings of one column in two rows, neither of them null. */
  def compare(a: InternalRow, b: InternalRow, ordinal: Int): Int = b match {
    case packed: UnsafeRow =>
      val at = packed.getLong(ordinal)
      compare(a, ordinal, packed.getBaseObject, packed.getBaseOffset + (at >>> 32), at.toInt)
    case columnar: ColumnarBatchRow => compare(a, ordinal, columnar.getUTF8String(ordinal))
    case other                      => compare(a, ordinal, other.getUTF8String(ordinal))
  }

  private def compare(a: InternalRow, ordinal: Int, b: UTF8String): Int =
    compare(a, ordinal, b.getBaseObject, b.getBaseOffset, b.numBytes)

  private def compareWords(x: Long, y: Long): Int =
    if (isLittleEndian) java.lang.Long.compareUnsigned(java.lang.Long.reverseBytes(x), java.lang.Long.reverseBytes(y))
    else java.lang.Long.compareUnsigned(x, y)

  /** Eight bytes from a position on as a number whose unsigned order is theirs; zero where the string has ended. */
  def word(base: AnyRef, offset: Long, bytes: Int, from: Int): Long =
    if (bytes - from >= 8) {
      val word = Platform.getLong(base, offset + from)
      if (isLittleEndian) java.lang.Long.reverseBytes(word) else word
    } else {
      var word = 0L
      var i    = from
      while (i < from + 8) {
        word = word << 8 | (if (i < bytes) Platform.getByte(base, offset + i) & 0xffL else 0L)
        i += 1
      }
      word
    }

  /** The number of leading bytes that two strings share. */
  def shared(a: AnyRef, aOffset: Long, aBytes: Int, b: AnyRef, bOffset: Long, bBytes: Int): Int = {
    val common = Math.min(aBytes, bBytes)
    var i      = 0
    while (i < common && Platform.getByte(a, aOffset + i) == Platform.getByte(b, bOffset + i)) i += 1
    i
  }

  def areEqual(a: AnyRef, aOffset: Long, aBytes: Int, b: AnyRef, bOffset: Long, bBytes: Int): Boolean =
    aBytes == bBytes && {
      val last = aBytes - 8
      var i    = 0
      if (last >= 0) {
        while (i < last && Platform.getLong(a, aOffset + i) == Platform.getLong(b, bOffset + i)) i += 8
        i >= last && Platform.getLong(a, aOffset + last) == Platform.getLong(b, bOffset + last)
      } else {
        while (i < aBytes && Platform.getByte(a, aOffset + i) == Platform.getByte(b, bOffset + i)) i += 1
        i == aBytes
      }
    }

  /** The same for the string in a row's column, which is not null. */
  def areEqual(row: InternalRow, ordinal: Int, b: AnyRef, bOffset: Long, bBytes: Int): Boolean = row match {
    case packed: UnsafeRow =>
      val at = packed.getLong(ordinal)
      areEqual(packed.getBaseObject, packed.getBaseOffset + (at >>> 32), at.toInt, b, bOffset, bBytes)
    case other =>
      val text = other.getUTF8String(ordinal)
      areEqual(text.getBaseObject, text.getBaseOffset, text.numBytes, b, bOffset, bBytes)
  }

  /** For hash tables in memory only: not the same on every machine. */
  def hash(base: AnyRef, offset: Long, bytes: Int): Int = {
    val last = bytes - 8
    var hash = bytes.toLong
    if (last >= 0) {
      var i = 0
      while (i < last) {
        hash = mixed(hash, Platform.getLong(base, offset + i))
        i += 8
      }
      hash = mixed(hash, Platform.getLong(base, offset + last))
    } else {
      var word = 0L
      var i    = 0
      while (i < bytes) {
        word = (word << 8) | (Platform.getByte(base, offset + i) & 0xff)
        i += 1
      }
      hash = mixed(hash, word)
    }
    (hash >>> 32).toInt
  }

  private def mixed(hash: Long, word: Long): Long = {
    val product = (hash ^ word) * 0x9e3779b97f4a7c15L
    product ^ (product >>> 29)
  }
}
