// Hot path: called for every row of a write.
package io.merganser.table.index

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

import java.lang.Integer.{reverseBytes, rotateLeft}
import java.nio.ByteOrder

/** The hash function xxHash with 32 bits and seed 0, by which consistent hashing places keys. */
private[index] object XxHash32 {

  private final val P1 = 0x9e3779b1
  private final val P2 = 0x85ebca77
  private final val P3 = 0xc2b2ae3d
  private final val P4 = 0x27d4eb2f
  private final val P5 = 0x165667b1

  /** A constant of its own: the compiler refuses an addition of constants that overflows. */
  private final val P1PlusP2 = 0x24234428

  private[this] val isLittleEndian = ByteOrder.nativeOrder == ByteOrder.LITTLE_ENDIAN

  def hash(value: UTF8String): Int = {
    val base   = value.getBaseObject
    val length = value.numBytes
    val end    = value.getBaseOffset + length
    var at     = value.getBaseOffset
    var h      = P5
    if (length >= 16) {
      var (a, b, c, d) = (P1PlusP2, P2, 0, -P1)
      while (at <= end - 16) {
        a = round(a, int(base, at))
        b = round(b, int(base, at + 4))
        c = round(c, int(base, at + 8))
        d = round(d, int(base, at + 12))
        at += 16
      }
      h = rotateLeft(a, 1) + rotateLeft(b, 7) + rotateLeft(c, 12) + rotateLeft(d, 18)
    }
    h += length
    while (at <= end - 4) {
      h = rotateLeft(h + int(base, at) * P3, 17) * P4
      at += 4
    }
    while (at < end) {
      h = rotateLeft(h + (Platform.getByte(base, at) & 0xff) * P5, 11) * P1
      at += 1
    }
    h = (h ^ (h >>> 15)) * P2
    h = (h ^ (h >>> 13)) * P3
    h ^ (h >>> 16)
  }

  private def round(lane: Int, input: Int): Int = rotateLeft(lane + input * P2, 13) * P1

  private def int(base: AnyRef, at: Long): Int = {
    val native = Platform.getInt(base, at)
    if (isLittleEndian) native else reverseBytes(native)
  }
}
