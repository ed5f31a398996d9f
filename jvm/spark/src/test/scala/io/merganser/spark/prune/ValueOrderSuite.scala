package io.merganser.spark.prune

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

final class ValueOrderSuite extends AnyFunSuite {

  private def bytes(value: Any, dataType: DataType): UTF8String =
    ValueOrder.of(new GenericInternalRow(Array[Any](value)), 0, dataType)

  private def assertOrder[A](values: Seq[A], dataType: DataType)(compare: (A, A) => Int): Unit =
    for (a <- values; b <- values) {
      val found = Integer.signum(bytes(a, dataType).compareTo(bytes(b, dataType)))
      assert(found == Integer.signum(compare(a, b)), s"$a and $b as $dataType")
    }

  private val random = new Random(7)
  private val longs  = Seq(Long.MinValue, -1L, 0L, 1L, 255L, 256L, Long.MaxValue) ++ Seq.fill(40)(random.nextLong())

  test("integers and times are ordered as numbers") {
    Seq(LongType, TimestampType, TimestampNTZType).foreach(assertOrder(longs, _)(java.lang.Long.compare))
    Seq(IntegerType, DateType).foreach(assertOrder(longs.map(_.toInt), _)(Integer.compare))
    assertOrder(longs.map(_.toShort), ShortType)((a, b) => Integer.compare(a.toInt, b.toInt))
    assertOrder(longs.map(_.toByte), ByteType)((a, b) => Integer.compare(a.toInt, b.toInt))
  }

  test("numbers with a point are ordered as SQL has them: -0.0 is 0.0, and NaN the largest") {
    val doubles =
      Seq(Double.NegativeInfinity, -1.5, -0.0, 0.0, Double.MinPositiveValue, 1.5, Double.PositiveInfinity,
        Double.NaN) ++
        Seq.fill(40)(random.nextGaussian() * 1e9)
    def compare(a: Double, b: Double) = if (a == b) 0 else java.lang.Double.compare(a, b)
    assertOrder(doubles, DoubleType)(compare)
    assertOrder(doubles.map(_.toFloat), FloatType)((a, b) => compare(a.toDouble, b.toDouble))
  }

  test("decimals are ordered as numbers, whatever their precision") {
    for (precision <- Seq(4, 18, 38)) {
      val largest = BigDecimal("9" * (precision - 2) + ".99")
      val values =
        Seq(-largest, BigDecimal("-0.01"), BigDecimal("0.00"), BigDecimal("0.01"), BigDecimal("2.55"),
          BigDecimal("2.56"), largest)
      assertOrder(values.map(v => Decimal(v, precision, 2)), DecimalType(precision, 2))((a, b) => a.compare(b))
    }
  }
}
