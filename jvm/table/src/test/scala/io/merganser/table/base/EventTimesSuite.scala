package io.merganser.table.base

import io.merganser.merge.MerganserException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class EventTimesSuite extends AnyFunSuite {

  private def row(value: Any): InternalRow = new GenericInternalRow(Array[Any](1, value))

  private def millis(dataType: DataType, value: Any): Option[Long] = EventTimeColumn(1, dataType).millis(row(value))

  private def text(value: String): Option[Long] = millis(StringType, UTF8String.fromString(value))

  test("timestamps are rounded down to milliseconds, and dates start at midnight in UTC") {
    assert(millis(TimestampType, 1700000000123999L).contains(1700000000123L))
    assert(millis(TimestampType, -1L).contains(-1L))
    assert(millis(TimestampNTZType, 1500L).contains(1L))
    assert(millis(DateType, 19737).contains(1705276800000L))
    assert(millis(DateType, -1).contains(-86400000L))
  }

  test("a number of ten digits is read as seconds, any other as milliseconds") {
    assert(millis(LongType, 1700000000123L).contains(1700000000123L))
    assert(millis(LongType, 1700000000L).contains(1700000000000L))
    assert(millis(IntegerType, 1700000000).contains(1700000000000L))
    assert(millis(LongType, 999999999L).contains(999999999L))
    assert(millis(IntegerType, 10).contains(10L))
    assert(millis(ShortType, 7.toShort).contains(7L) && millis(ByteType, 7.toByte).contains(7L))
  }

  test("a string is read as a number, a date or a UTC timestamp, and ignored otherwise") {
    assert(text("1700000000123").contains(1700000000123L) && text(" 1700000000 ").contains(1700000000000L))
    assert(text("2024-01-15").contains(1705276800000L))
    assert(text("2024-01-15 01:00:00.5").contains(1705280400500L) && text("2024-01-15T01:00:00+01:00").contains(
      1705276800000L))
    assert(text("soon").isEmpty && text("").isEmpty)
    assert(millis(LongType, null).isEmpty && millis(StringType, null).isEmpty)
  }

  test("the range spans the added rows, and versions without the column do not change it") {
    val times = new EventTimes(Some(EventTimeColumn(1, LongType)))
    assert(times.least.isEmpty && times.greatest.isEmpty)
    times.add(row(null), null)
    assert(times.least.isEmpty)
    for (value <- Seq(30L, 10L, 20L)) times.add(row(value), null)
    times.add(row(5L), Array(true, false))
    times.add(row(40L), Array(false, true))
    assert(times.least.contains(10L) && times.greatest.contains(40L))
    val unwatched = new EventTimes(None)
    unwatched.add(row(1L), null)
    assert(unwatched.least.isEmpty)
  }

  test("the column is matched in any case, and a missing or unsuitable one is refused by name") {
    val schema = StructType.fromDDL("id INT, at TIMESTAMP, ok BOOLEAN, tags ARRAY<STRING>")
    assert(EventTimeColumn.of(schema, "At", "t") == EventTimeColumn(1, TimestampType))
    for ((field, mention) <- Seq("when" -> "id, at, ok, tags", "ok" -> "boolean", "tags" -> "array<string>")) {
      val thrown = intercept[MerganserException](EventTimeColumn.of(schema, field, "trips"))
      assert(thrown.condition == "EVENT_TIME_FIELD_UNUSABLE" && thrown.getMessage.contains(s"'$field'"), field)
      assert(thrown.getMessage.contains(mention) && thrown.getMessage.contains("'trips'"), field)
    }
  }
}
