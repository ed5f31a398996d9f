// Hot path: one call per row.
package io.merganser.table.service

import org.apache.spark.sql.types.Decimal
import org.apache.spark.unsafe.types.UTF8String

/**
 * Places of points on curves through a space of several columns: points that are close on the curve are close in every
 * column. A place is a string of bytes, compared as unsigned bytes.
 */
object SpaceCurve {

  private val Bits = 64

  /** The place on the Z-order curve: the bits of the coordinates in turn, the highest first. */
  def zOrder(point: Array[Long]): Array[Byte] = interleave(point, Bits)

  /**
   * The place on the Hilbert curve (J. Skilling, Programming the Hilbert curve, AIP 707, 2004).
   *
   * @param point coordinates as unsigned numbers of so many bits; changed
   */
  def hilbert(point: Array[Long], bits: Int = Bits): Array[Byte] = {
    val n   = point.length
    val top = 1L << (bits - 1)
    // Undoes the reflections and exchanges of axes in each cube, the largest first.
    var q = top
    while (q != 1L && q != 0L) {
      val low = q - 1
      var i   = 0
      while (i < n) {
        if ((point(i) & q) != 0L) point(0) ^= low
        else {
          val t = (point(0) ^ point(i)) & low
          point(0) ^= t
          point(i) ^= t
        }
        i += 1
      }
      q >>>= 1
    }
    // Gray code of the cubes along the curve.
    var i = 1
    while (i < n) { point(i) ^= point(i - 1); i += 1 }
    var t = 0L
    q = top
    while (q != 1L && q != 0L) {
      if ((point(n - 1) & q) != 0L) t ^= q - 1
      q >>>= 1
    }
    i = 0
    while (i < n) { point(i) ^= t; i += 1 }
    interleave(point, bits)
  }

  private def interleave(point: Array[Long], bits: Int): Array[Byte] = {
    val n     = point.length
    val bytes = new Array[Byte]((n * bits + 7) / 8)
    var at    = 0
    var bit   = bits - 1
    while (bit >= 0) {
      var i = 0
      while (i < n) {
        if (((point(i) >>> bit) & 1L) != 0L) bytes(at >> 3) = (bytes(at >> 3) | (0x80 >> (at & 7))).toByte
        at += 1
        i += 1
      }
      bit -= 1
    }
    bytes
  }

  /**
   * A coordinate in the order of the values of a type, as an unsigned number: of strings and binary values, their first
   * eight bytes; 0 for null.
   *
   * @param value in Catalyst's form
   */
  def coordinate(value: Any): Long = value match {
    case null           => 0L
    case v: Boolean     => if (v) 2L else 1L
    case v: Byte        => signed(v.toLong)
    case v: Short       => signed(v.toLong)
    case v: Int         => signed(v.toLong)
    case v: Long        => signed(v)
    case v: Float       => ofDouble(v.toDouble)
    case v: Double      => ofDouble(v)
    case v: Decimal     => ofDouble(v.toDouble)
    case v: UTF8String  => firstBytes(v.getBytes)
    case v: Array[Byte] => firstBytes(v)
    case other          => throw new IllegalArgumentException(s"no coordinate of a ${other.getClass.getName}")
  }

  private def signed(v: Long): Long = v ^ Long.MinValue

  private def ofDouble(v: Double): Long = {
    // Adding zero makes -0.0 zero.
    val bits = java.lang.Double.doubleToLongBits(v + 0.0)
    if (bits < 0) ~bits else bits ^ Long.MinValue
  }

  private def firstBytes(bytes: Array[Byte]): Long = {
    var v = 0L
    var i = 0
    while (i < 8) {
      v = (v << 8) | (if (i < bytes.length) bytes(i) & 0xffL else 0L)
      i += 1
    }
    v
  }
}
