package io.merganser.table.service

import org.apache.spark.sql.types.Decimal
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

/** Places on the curves, compared with their definition. */
final class SpaceCurveSuite extends AnyFunSuite {

  private def number(bytes: Array[Byte], bits: Int): Long =
    bytes.foldLeft(0L)((n, b) => (n << 8) | (b & 0xffL)) >>> (bytes.length * 8 - bits)

  private def hilbert(bits: Int, point: Int*): Long =
    number(SpaceCurve.hilbert(point.map(_.toLong).toArray, bits), bits * point.size)

  test("the Hilbert curve of two dimensions visits the cells in their known order") {
    val order = (for (x <- 0 to 3; y <- 0 to 3) yield hilbert(2, x, y) -> ((x, y))).sortBy(_._1).map(_._2)
    assert(order == Seq((0, 0), (1, 0), (1, 1), (0, 1), (0, 2), (0, 3), (1, 3), (1, 2), (2, 2), (2, 3), (3, 3), (3, 2),
      (3, 1), (2, 1), (2, 0), (3, 0)))
  }

  for ((dimensions, bits) <- Seq(1 -> 6, 2 -> 4, 3 -> 3, 4 -> 2, 5 -> 1))
    test(s"the Hilbert curve of $dimensions dimensions reaches each cell once, by steps to a neighbour") {
      val side = 1 << bits
      val cells =
        (1 to dimensions).foldLeft(Seq(Seq.empty[Int]))((all, _) => all.flatMap(c => (0 until side).map(c :+ _)))
      val order = cells.map(c => hilbert(bits, c: _*) -> c).sortBy(_._1)
      assert(order.map(_._1) == order.indices.map(_.toLong))
      order.map(_._2).sliding(2).foreach {
        case Seq(a, b) => assert(a.zip(b).map { case (x, y) => math.abs(x - y) }.sum == 1, s"$a $b")
        case _         => ()
      }
    }

  test("the Z-order curve interleaves the bits of the coordinates") {
    val place = SpaceCurve.zOrder(Array(0xc000000000000001L, 0x8000000000000003L))
    assert(place.map(b => f"${b & 0xff}%02x").mkString == "e0000000000000000000000000000000".take(30) + "07")
  }

  private def assertOrdered(values: Any*): Unit = values.map(SpaceCurve.coordinate).sliding(2).foreach {
    case Seq(a, b) => assert(java.lang.Long.compareUnsigned(a, b) < 0, values.toString)
    case _         => ()
  }

  test("coordinates are ordered as their values, with null first") {
    assertOrdered(null, false, true)
    assertOrdered(null, Int.MinValue, -1, 0, 1, Int.MaxValue)
    assertOrdered((-5).toByte, 3.toByte)
    assertOrdered((-5).toShort, 3.toShort)
    assertOrdered(Long.MinValue + 1, -1L, 0L, 1L, Long.MaxValue)
    assertOrdered(null, Double.NegativeInfinity, -1.5, -1e-300, 0.0, 1e-300, 1.5, Double.PositiveInfinity, Double.NaN)
    assertOrdered(null, -1.5f, 0.0f, 2.5f, Float.NaN)
    assert(SpaceCurve.coordinate(-0.0) == SpaceCurve.coordinate(0.0))
    assertOrdered(null, Decimal("-12.5"), Decimal("0"), Decimal("1.25"), Decimal("99999999999999999999"))
    assertOrdered(null, UTF8String.fromString("a"), UTF8String.fromString("aa"), UTF8String.fromString("b"),
      UTF8String.fromString("ä"))
    assertOrdered(Array[Byte](1), Array[Byte](1, 1), Array[Byte](-1))
  }
}
