// Hot path: one call per value.
package io.merganser.table.avro

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

import java.io.EOFException

/**
 * Reads Avro's binary encoding from an array. Strings are views of that array: copy those that you keep before the
 * array is reused.
 */
final class AvroInput {
  private[this] var bytes: Array[Byte] = _
  private[this] var position           = 0
  private[this] var limit              = 0

  /** Sets the input to `bytes` from `from` (inclusive) to `until` (exclusive). */
  def reset(bytes: Array[Byte], from: Int, until: Int): AvroInput = {
    this.bytes = bytes
    position = from
    limit = until
    this
  }

  def isAtEnd: Boolean = position == limit

  /** In bytes. */
  def remaining: Int = limit - position

  def readBoolean(): Boolean = bytes(take(1)) != 0

  def readInt(): Int = readLong().toInt

  def readLong(): Long = {
    var shift = 0
    var value = 0L
    var b     = 0
    do {
      if (position >= limit || shift > 63) throw new EOFException(s"no number ends before byte $limit")
      b = bytes(position)
      position += 1
      value |= (b & 0x7fL) << shift
      shift += 7
    } while (b < 0)
    (value >>> 1) ^ -(value & 1)
  }

  def readFloat(): Float = java.lang.Float.intBitsToFloat(Integer.reverseBytes(bigEndianInt(take(4))))

  def readDouble(): Double = {
    val at          = take(8)
    val (low, high) = (Integer.reverseBytes(bigEndianInt(at)), Integer.reverseBytes(bigEndianInt(at + 4)))
    java.lang.Double.longBitsToDouble(high.toLong << 32 | low & 0xffffffffL)
  }

  def readString(): UTF8String = {
    val length = readLength()
    UTF8String.fromAddress(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + take(length), length)
  }

  /** A copy of the bytes. */
  def readBytes(): Array[Byte] = readFixed(readLength())

  /** A copy of the bytes. */
  def readFixed(length: Int): Array[Byte] = {
    val at = take(length)
    java.util.Arrays.copyOfRange(bytes, at, at + length)
  }

  /** Up to eight bytes as a signed big-endian number. */
  def readSigned(length: Int): Long = {
    var at    = take(length)
    val end   = at + length
    var value = if (length > 0 && bytes(at) < 0) -1L else 0L
    while (at < end) {
      value = value << 8 | bytes(at) & 0xffL
      at += 1
    }
    value
  }

  /** Length of the string or byte string that follows. */
  def readLength(): Int = {
    val length = readLong()
    if (length < 0 || length > limit - position)
      throw new EOFException(s"$length bytes at $position do not fit below $limit")
    length.toInt
  }

  def skip(length: Int): Unit = { take(length); () }

  private[this] def take(length: Int): Int = {
    val at = position
    if (length < 0 || length > limit - at) throw new EOFException(s"$length bytes at $at do not fit below $limit")
    position = at + length
    at
  }

  private[this] def bigEndianInt(at: Int): Int =
    bytes(at) << 24 | (bytes(at + 1) & 0xff) << 16 | (bytes(at + 2) & 0xff) << 8 | bytes(at + 3) & 0xff
}
