// Hot path: one call per row.
package io.merganser.merge.buffer

import org.apache.spark.unsafe.Platform

import java.nio.ByteOrder

/** Keys where they lie in memory: a base object, an offset and a number of bytes, so that no object is made for one. */
private[buffer] object KeyBytes {
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

  private def compareWords(x: Long, y: Long): Int =
    if (isLittleEndian) java.lang.Long.compareUnsigned(java.lang.Long.reverseBytes(x), java.lang.Long.reverseBytes(y))
    else java.lang.Long.compareUnsigned(x, y)

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

  /** For tables in memory alone: not the same on every machine. */
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
