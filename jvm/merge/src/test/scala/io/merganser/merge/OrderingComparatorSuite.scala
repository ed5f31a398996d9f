package io.merganser.merge

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class OrderingComparatorSuite extends AnyFunSuite {

  private def layout(types: Seq[DataType]): RowLayout = {
    val fields = StructField("k", StringType, nullable = false) +: types.zipWithIndex.map { case (t, i) =>
      StructField(s"o$i", t)
    }
    RowLayout(StructType(fields), "k", types.indices.map(i => s"o$i"), None)
  }

  /** Each value, as a log reader and as a base file reader gives it, is smaller than the next one; null is smallest. */
  private def assertAscending(dataType: DataType)(values: Any*): Unit = {
    val comparator = new OrderingComparator(layout(Seq(dataType)))
    val rows = (null +: values).map(v => new GenericInternalRow(Array[Any](UTF8String.fromString("k"), v)): InternalRow)
    val project = UnsafeProjection.create(layout(Seq(dataType)).schema)
    for ((a, i) <- rows.zipWithIndex; (b, j) <- rows.zipWithIndex) {
      val expected = i.compareTo(j).signum
      for ((x, y) <- Seq(a -> b, project(a).copy() -> project(b).copy(), project(a).copy() -> b))
        assert(comparator.compare(x, y).signum == expected, s"value $i against value $j of ${values.mkString(", ")}")
    }
  }

  private def strings(values: String*): Seq[UTF8String] = values.map(UTF8String.fromString)

  test("strings compare as UTF-8 bytes, not as numbers or UTF-16") {
    assertAscending(StringType)(strings("", "10", "9", "B", "a", "aa", "b", "\u00e9", "\uffee", "\ud83e\udd86"): _*)
  }

  test("integers compare by value, below zero too") {
    assertAscending(ByteType)(Byte.MinValue, -1.toByte, 0.toByte, Byte.MaxValue)
    assertAscending(ShortType)(Short.MinValue, -1.toShort, 0.toShort, Short.MaxValue)
    assertAscending(IntegerType)(Int.MinValue, -1, 0, Int.MaxValue)
    assertAscending(LongType)(Long.MinValue, -1L, 0L, Long.MaxValue)
  }

  test("floating-point numbers compare by value, and NaN is the largest") {
    assertAscending(DoubleType)(Double.NegativeInfinity, -1.5, 0.0, Double.MinPositiveValue, 1.5,
      Double.PositiveInfinity, Double.NaN)
    assertAscending(FloatType)(Float.NegativeInfinity, -1.5f, 0.0f, 1.5f, Float.PositiveInfinity, Float.NaN)
  }

  test("negative zero ties with zero, and NaN with NaN") {
    val comparator         = new OrderingComparator(layout(Seq(DoubleType)))
    def row(value: Double) = new GenericInternalRow(Array[Any](UTF8String.fromString("k"), value))
    assert(comparator.compare(row(-0.0), row(0.0)) == 0)
    assert(comparator.compare(row(Double.NaN), row(Double.NaN)) == 0)
  }

  test("decimals compare by value, in few digits and in many") {
    def decimals(t: DecimalType)(values: String*) = values.map(v => Decimal(BigDecimal(v), t.precision, t.scale))
    assertAscending(DecimalType(10, 2))(decimals(DecimalType(10, 2))("-10.50", "-9.00", "0.00", "9.99", "10.00"): _*)
    assertAscending(DecimalType(38, 4))(
      decimals(DecimalType(38, 4))("-99999999999999999999999999.0001", "-1", "2", "99999999999999999999999999"): _*
    )
  }

  test("dates compare by day and timestamps by microsecond, before 1970 too") {
    assertAscending(DateType)(-719162, -1, 0, 19000)
    assertAscending(TimestampType)(-62135596800000000L, -1L, 0L, 1L, 1700000000000001L)
    assertAscending(TimestampNTZType)(-1L, 0L, 1L)
  }

  test("false is before true, and bytes compare unsigned") {
    assertAscending(BooleanType)(false, true)
    assertAscending(BinaryType)(
      Array[Byte](),
      Array[Byte](0),
      Array[Byte](1),
      Array[Byte](1, 0),
      Array[Byte](127),
      Array[Byte](-128),
      Array[Byte](-1)
    )
  }

  test("several fields compare one after the other; the first difference decides") {
    val comparator = new OrderingComparator(layout(Seq(LongType, StringType, DateType)))
    def row(a: Any, b: String, c: Any) =
      new GenericInternalRow(Array[Any](UTF8String.fromString("k"), a, UTF8String.fromString(b), c))
    assert(comparator.compare(row(1L, "z", 9), row(2L, "a", 1)) < 0)
    assert(comparator.compare(row(1L, "b", 1), row(1L, "a", 9)) > 0)
    assert(comparator.compare(row(1L, "a", 1), row(1L, "a", 2)) < 0)
    assert(comparator.compare(row(1L, "a", null), row(1L, "a", -5)) < 0)
    assert(comparator.compare(row(null, "z", 9), row(-7L, "a", 1)) < 0)
    assert(comparator.compare(row(null, null, null), row(null, null, null)) == 0)
  }

  test("the fields compare in the order of the list, not of the columns") {
    val schema = StructType(Seq(StructField("k", StringType), StructField("a", LongType), StructField("b", LongType)))
    val comparator            = new OrderingComparator(RowLayout(schema, "k", Seq("b", "a"), None))
    def row(a: Long, b: Long) = new GenericInternalRow(Array[Any](UTF8String.fromString("k"), a, b))
    assert(comparator.compare(row(9, 1), row(1, 2)) < 0)
    assert(comparator.compare(row(9, 1), row(1, 1)) > 0)
  }

  test("a field inside structs compares by its value, and a struct that is null or holds null is smaller than any") {
    val inner                = new StructType().add("x", StringType).add("at", new StructType().add("Ts", LongType))
    val schema               = new StructType().add("k", StringType).add("meta", inner).add("n", IntegerType)
    val layout               = RowLayout(schema, "k", Seq("meta.at.ts", "n"), None)
    val comparator           = new OrderingComparator(layout)
    def row(at: Any, n: Int) = new GenericInternalRow(Array[Any](UTF8String.fromString("k"), at, n))
    def meta(ts: Any) =
      new GenericInternalRow(Array[Any](UTF8String.fromString("x"), new GenericInternalRow(Array[Any](ts))))
    def unset: Any = new GenericInternalRow(Array[Any](null, null))
    assert(comparator.compare(row(meta(1L), 9), row(meta(2L), 1)) < 0)
    assert(comparator.compare(row(meta(2L), 9), row(meta(2L), 1)) > 0)
    for (absent <- Seq[Any](null, unset, meta(null))) {
      assert(comparator.compare(row(absent, 9), row(meta(-5L), 1)) < 0)
      assert(comparator.compare(row(absent, 1), row(null, 1)) == 0)
      assert(layout.ordering.toSeq.map(_.valueIn(row(absent, 1))) == Seq[Any](null, 1))
    }
    val made = new GenericInternalRow(3)
    layout.ordering.zip(Seq[Any](7L, 3)).foreach { case (field, value) => field.put(made, value) }
    assert(layout.ordering.toSeq.map(_.valueIn(made)) == Seq[Any](7L, 3))
    for (missing <- Seq("meta.at.ts.x", "meta.zz", "k.ts"))
      assert(OrderingField.find(schema, missing).isEmpty, missing)
    assert(OrderingField.find(new StructType().add("a.b", LongType), "a.b").exists(!_.isNested))
  }

  test("a comparator that was sent to a task compares as before") {
    val bytes = new ByteArrayOutputStream
    new ObjectOutputStream(bytes).writeObject(MergeRule.eventTime(Notation.layout))
    val sent = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray)).readObject().asInstanceOf[MergeRule]
    assert(Notation.read(sent.merge(Notation.record("k1@10=a"), Notation.record("k1@9=b"))).toString == "k1@10=a")
    assert(Notation.read(sent.merge(Notation.record("k1@10=a"), Notation.record("k1@10=b"))).toString == "k1@10=b")
  }

  test("every type with an order can be an ordering field, but no struct, array or map") {
    val ordered = Seq(BooleanType, ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType,
      DecimalType(20, 3), StringType)
    for (t <- ordered ++ Seq(BinaryType, DateType, TimestampType, TimestampNTZType))
      assert(OrderingComparator.isOrdered(t), t)
    for (
      t <- Seq(new StructType().add("a", LongType), ArrayType(LongType), MapType(StringType, LongType),
        CalendarIntervalType)
    )
      assert(!OrderingComparator.isOrdered(t), t)
  }
}
