package io.merganser.merge.columns

import io.merganser.merge._
import io.merganser.merge.buffer.KeyTrace
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.catalyst.expressions.{BoundReference, GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}
import org.scalatest.funsuite.AnyFunSuite

/** Merged rows that are not packed: the values of each type, and how long a row is valid. */
class MergedRowSuite extends AnyFunSuite {

  private val types = StructType.fromDDL(
    "b BOOLEAN, i8 TINYINT, i16 SMALLINT, i32 INT, i64 BIGINT, f FLOAT, d DOUBLE, p DECIMAL(9, 2), q DECIMAL(30, 2), " +
      "s STRING, y BINARY, dt DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ, dti INTERVAL DAY TO SECOND, " +
      "ymi INTERVAL YEAR TO MONTH, st STRUCT<x: INT, z: STRING>, a ARRAY<STRING>, m MAP<STRING, INT>")
    .add("ci", CalendarIntervalType)

  private def values(n: Int): Row = Row(n % 2 == 0, n.toByte, n.toShort, n, n.toLong, n.toFloat, n.toDouble,
    new java.math.BigDecimal(s"$n.25"), new java.math.BigDecimal(s"1234567890123456789$n.25"), s"s$n",
    Array[Byte](n.toByte), java.time.LocalDate.of(2024, 1, n), java.time.Instant.ofEpochSecond(n.toLong),
    java.time.LocalDateTime.of(2024, 1, n, 0, 0), java.time.Duration.ofDays(n.toLong), java.time.Period.ofMonths(n),
    Row(n, s"z$n"), Seq(s"a$n", null), Map(s"m$n" -> n), new CalendarInterval(n, n, n.toLong))

  private def internal(row: Row): InternalRow =
    CatalystTypeConverters.createToCatalystConverter(types)(row).asInstanceOf[InternalRow]

  private val nulls = new GenericInternalRow(types.length)

  /** All columns of a row, as text, through the method for their type. */
  private def shown(row: InternalRow): Seq[Any] = types.indices.map { i =>
    val dataType = types(i).dataType
    if (row.isNullAt(i)) null
    else CatalystTypeConverters.convertToScala(InternalRow.getAccessor(dataType)(row, i), dataType) match {
      case bytes: Array[Byte] => bytes.toSeq
      case other              => other
    }
  }

  test("a column of each type is read from the older version, the newer one, and the computed values") {
    val n       = types.length
    val sources = Seq(internal(values(2)), internal(values(3)), nulls)
    for ((older, newer) <- Seq((sources(0), sources(1)), (sources(1), sources(0)), (nulls, nulls)); start <- 0 to 2) {
      // Computed is the older version's value.
      val from                       = types.indices.map(i => (i + start) % 3)
      def reference(i: Int, at: Int) = BoundReference(at, types(i).dataType, nullable = true)
      val computed                   = types.indices.filter(from(_) == 2)
      val at   = types.indices.map(i => from(i) match { case 0 => i; case 1 => n + i; case _ => ~computed.indexOf(i) })
      val pack = UnsafeProjection.create(types.indices.map(i => reference(i, if (from(i) == 1) n + i else i)))
      val both = new BothVersions
      both.set(older, newer, n)
      val row =
        new MergedRow(both, at.toArray, UnsafeProjection.create(computed.map(i => reference(i, i))), pack).computed()
      val expected = types.indices.map(i => shown(if (from(i) == 1) newer else older)(i))
      assert(shown(row) == expected)
      assert(shown(row.copy()) == expected)
      assert(types.indices.forall(i => (row.get(i, types(i).dataType) == null) == (expected(i) == null)))
      assert(row.numFields == n && row.anyNull == expected.contains(null))
    }
    assert(types.forall(field => MergedRow.reads(field.dataType)))
  }

  private val schema = StructType.fromDDL("k STRING, ts INT, n INT, s STRING, all ARRAY<INT>")
  private val layout = RowLayout(schema, "k", Seq("ts"), Nil)

  private def fold = new KeyFold(new ColumnRule(layout,
      Map("n" -> ColumnFunction.Sum, "all" -> ColumnFunction.Collect).getOrElse(_, ColumnFunction.Last), Nil, Nil))

  private def version(ts: Int, n: Int, s: String): Version = layout.fill(new Version,
    new GenericInternalRow(Array[Any](UTF8String.fromString("k"), ts, n, UTF8String.fromString(s),
        new org.apache.spark.sql.catalyst.util.GenericArrayData(Array[Any](n)))))

  private def shown(version: Version): String = {
    val row = version.row
    s"${row.getInt(1)} ${row.getInt(2)} ${row.getUTF8String(3)} ${row.getArray(4).toIntArray().mkString("+")}"
  }

  test("merged rows are merged again with late-arriving and newer versions in turn") {
    val versions =
      Seq(version(3, 1, "a"), version(2, 2, "b"), version(1, 4, "c"), version(5, 8, "d"), version(4, 16, "e"),
        version(6, 32, "f"), version(6, 64, "g"))
    val rule    = fold
    val results = versions.indices.drop(1).map(last => shown(versions.take(last + 1).reduceLeft(rule.merge(_, _))))
    assert(results == Seq("3 3 a 1+2", "3 7 a 1+2+4", "5 15 d 1+2+4+8", "5 31 d 1+2+4+8+16", "6 63 f 1+2+4+8+16+32",
      "6 127 g 1+2+4+8+16+32+64"))
  }

  test("two traces of one rule keep separate states and steps") {
    val rule   = fold
    val traces = Seq(new KeyTrace(rule, version(3, 1, "a")), new KeyTrace(rule, version(3, 2, "b")))
    val steps  = for (v <- Seq(version(2, 4, "c"), version(1, 8, "d"), version(9, 16, "e"))) yield traces.map(_.add(v))
    assert(steps.map(_.map(step => shown(step.after))) == Seq(
      Seq("3 5 a 1+4", "3 6 b 2+4"), Seq("3 13 a 1+4+8", "3 14 b 2+4+8"),
      Seq("9 29 e 1+4+8+16", "9 30 e 2+4+8+16")))
  }

  test("a function that fails on a merged row is named, with the values that it had") {
    val schema = StructType.fromDDL("k STRING, ts INT, a INT, b INT")
    val layout = RowLayout(schema, "k", Seq("ts"), Nil)
    val fold = new KeyFold(new ColumnRule(layout,
        Map("a" -> ColumnFunction.Sum, "b" -> ColumnFunction.Sum).getOrElse(_, ColumnFunction.Last), Nil, Nil))
    def version(ts: Int, a: Int, b: Int) = layout.fill(new Version,
      new GenericInternalRow(Array[Any](UTF8String.fromString("k"), ts, a, b)))
    val merged  = fold.merge(version(9, Int.MaxValue - 5, 1), version(1, 0, 1))
    val failure = intercept[MerganserException](fold.merge(merged, version(2, 3, Int.MaxValue)))
    assert(Seq("merger", "older", "newer").map(failure.parameters) ==
      Seq("function 'sum' of column 'b'", "2", Int.MaxValue.toString))
  }
}
