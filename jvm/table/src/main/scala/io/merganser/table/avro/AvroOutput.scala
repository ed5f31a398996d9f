// Hot path: one call per value.
package io.merganser.table.avro

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.array.ByteArrayMethods
import org.apache.spark.unsafe.types.UTF8String

import java.io.OutputStream

/** Writes Avro's binary encoding to a growing array. */
final class AvroOutput(initialBytes: Int = 8192) {
  private[this] var bytes = new Array[Byte](initialBytes)
  private[this] var count = 0

  /** Bytes written since the last [[clear]]. */
  def size: Int = count

  def clear(): Unit = count = 0

  /** Discards everything after the first `size` bytes. */
  def truncate(size: Int): Unit = count = size

  def toByteArray: Array[Byte] = java.util.Arrays.copyOf(bytes, count)

  def writeTo(out: OutputStream): Unit = out.write(bytes, 0, count)

  /** Writes what another output has. */
  def append(other: AvroOutput): Unit = {
    require(other.size)
    other.copyTo(bytes, count)
    count += other.size
  }

  /** Whether another output has the same bytes. */
  def isEqualTo(other: AvroOutput): Boolean = other.hasBytes(bytes, count)

  private def copyTo(target: Array[Byte], at: Int): Unit = System.arraycopy(bytes, 0, target, at, count)

  private def hasBytes(others: Array[Byte], length: Int): Boolean = length == count &&
    ByteArrayMethods.arrayEquals(bytes, Platform.BYTE_ARRAY_OFFSET.toLong, others, Platform.BYTE_ARRAY_OFFSET.toLong,
      length.toLong)

  def writeBoolean(value: Boolean): Unit = {
    require(1)
    bytes(count) = if (value) 1 else 0
    count += 1
  }

  def writeInt(value: Int): Unit = writeLong(value.toLong)

  def writeLong(value: Long): Unit = {
    require(10)
    var rest = value << 1 ^ value >> 63
    while ((rest & ~0x7fL) != 0) {
      bytes(count) = (rest | 0x80).toByte
      count += 1
      rest >>>= 7
    }
    bytes(count) = rest.toByte
    count += 1
  }

  def writeFloat(value: Float): Unit = {
    val bits = java.lang.Float.floatToRawIntBits(value)
    require(4)
    littleEndian(bits)
  }

  def writeDouble(value: Double): Unit = {
    val bits = java.lang.Double.doubleToRawLongBits(value)
    require(8)
    littleEndian(bits.toInt)
    littleEndian((bits >>> 32).toInt)
  }

  def writeString(value: UTF8String): Unit = {
    val length = value.numBytes
    writeLong(length.toLong)
    require(length)
    value.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + count)
    count += length
  }

  def writeBytes(value: Array[Byte]): Unit = {
    writeLong(value.length.toLong)
    writeFixed(value)
  }

  def writeFixed(value: Array[Byte]): Unit = {
    require(value.length)
    System.arraycopy(value, 0, bytes, count, value.length)
    count += value.length
  }

  /** Four bytes, big-endian: not part of Avro, but used between Avro records in a log block. */
  def writeBigEndian(value: Int): Unit = {
    require(4)
    count += 4
    putBigEndian(count - 4, value)
  }

  /** Overwrites four bytes at a position. */
  def putBigEndian(at: Int, value: Int): Unit = {
    bytes(at) = (value >> 24).toByte
    bytes(at + 1) = (value >> 16).toByte
    bytes(at + 2) = (value >> 8).toByte
    bytes(at + 3) = value.toByte
  }

  private[this] def littleEndian(value: Int): Unit = {
    putBigEndian(count, Integer.reverseBytes(value))
    count += 4
  }

  private[this] def require(more: Int): Unit =
    if (bytes.length - count < more) {
      val needed = count.toLong + more
      if (needed > Int.MaxValue - 16) throw new IllegalStateException(s"$needed bytes of Avro in one piece")
      bytes = java.util.Arrays.copyOf(bytes, Math.min(Int.MaxValue - 16L, Math.max(needed, bytes.length * 2L)).toInt)
    }
}
