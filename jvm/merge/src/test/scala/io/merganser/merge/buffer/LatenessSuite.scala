package io.merganser.merge.buffer

import io.merganser.merge.OrderingField
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

final class LatenessSuite extends AnyFunSuite {

  private def bucket(dataType: DataType, stored: Any, late: Any): String = {
    val field   = OrderingField.find(StructType(Seq(StructField("ts", dataType))), "ts").get
    val counter = new Lateness.Counter
    counter.add(field, InternalRow(stored), InternalRow(late))
    assert(counter.result.counts.values.sum == 1)
    counter.result.counts.keys.head
  }

  test("a late version is counted by how far it is behind, in time or in powers of ten") {
    val second = 1000000L
    assert(bucket(TimestampType, 5 * second, 5 * second - 1) == "under 1 second")
    assert(bucket(TimestampType, 5 * second, 4 * second) == "under 1 minute")
    assert(bucket(TimestampNTZType, 3600 * second, 0L) == "under 1 day")
    assert(bucket(DateType, 30, 0) == "30 days or more")
    assert(bucket(DateType, 30, 29) == "under 7 days")
    assert(bucket(LongType, 7L, 7L) == "under 1")
    assert(bucket(LongType, 10L, 0L) == "under 100")
    assert(bucket(LongType, Long.MaxValue, Long.MinValue) == "1000000000000000000 or more")
    assert(bucket(IntegerType, 9, 0) == "under 10")
    assert(bucket(DoubleType, 0.5d, 0.1d) == "under 1")
    assert(bucket(DecimalType(10, 2), Decimal(BigDecimal("12.50"), 10, 2), Decimal(BigDecimal("0.50"), 10, 2)) ==
      "under 100")
    assert(bucket(StringType, UTF8String.fromString("b"), UTF8String.fromString("a")) == Lateness.NoDistance)
    assert(bucket(LongType, 1L, null) == Lateness.NoDistance)
  }

  test("sums of buckets are listed in ascending order of lateness") {
    val sum = Lateness(Map("under 1 hour" -> 2L, "no distance" -> 1L)) + Lateness(Map("under 1 second" -> 1L,
        "under 1 hour" -> 1L))
    assert(sum.ascending == Seq("under 1 second" -> 1L, "under 1 hour" -> 3L, "no distance" -> 1L))
  }
}
