package io.merganser.merge.columns

import io.merganser.merge._
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, ArrayData, GenericArrayData, MapData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

/** Each function on values of each kind of type: on time, late, tied, with nulls. */
class ColumnFunctionSuite extends AnyFunSuite {
  import ColumnFunctionSuite._

  /** The value after a version (ordering value 5) and others, each with its ordering value. */
  private def folded(function: String, dataType: DataType, first: Any, others: (Int, Any)*): Any = {
    val table = new OneColumn(function, dataType)
    table.value(others.foldLeft(table.version(5, first)) { case (older, (ts, value)) =>
      table.fold.merge(older, table.version(ts, value)).copy()
    })
  }

  private def check(function: String, dataType: DataType)(cases: (Seq[(Int, Any)], Any)*): Unit =
    cases.foreach { case (others, expected) =>
      val history = others.map { case (ts, v) => s"$v@$ts" }.mkString(", ")
      test(s"$function of ${dataType.sql}: $history gives $expected") {
        assert(bits(folded(function, dataType, others.head._2, others.tail: _*)) == bits(expected))
      }
    }

  check("last", LongType)(
    Seq(5 -> 1L, 6 -> 2L) -> 2L, Seq(5 -> 1L, 4 -> 2L) -> 1L, Seq(5 -> 1L, 5 -> 2L) -> 2L,
    Seq(5 -> 1L, 6 -> null) -> null)
  check("last_non_null", LongType)(
    Seq(5 -> 1L, 6 -> null) -> 1L, Seq(5 -> null, 4 -> 2L) -> 2L, Seq(5 -> 1L, 4 -> 2L) -> 1L,
    Seq(5 -> 1L, 5 -> 2L) -> 2L)
  check("first", LongType)(
    Seq(5 -> 1L, 6 -> 2L) -> 1L, Seq(5 -> 1L, 4 -> 2L) -> 1L, Seq(5 -> null, 6 -> 2L) -> null)
  check("first_non_null", LongType)(Seq(5 -> null, 6 -> 2L, 4 -> 3L) -> 2L, Seq(5 -> 1L, 4 -> 2L) -> 1L)
  check("sum", IntegerType)(Seq(5 -> 1, 6 -> 2, 4 -> 3) -> 6, Seq(5 -> null, 4 -> 2) -> 2, Seq(5 -> 1, 5 -> null) -> 1,
    Seq(5 -> null, 6 -> null) -> null)
  check("sum", LongType)(Seq(5 -> 1L, 6 -> 2L, 4 -> 3L) -> 6L)
  check("sum", DoubleType)(Seq(5 -> 0.5, 6 -> 1.0, 4 -> null) -> 1.5)
  check("sum", FloatType)(Seq(5 -> 0.5f, 4 -> 1.0f) -> 1.5f)
  check("sum", DecimalType(38, 10))(
    Seq(5 -> decimal("0.0000000001", 38, 10), 4 -> decimal("1.5", 38, 10)) -> decimal("1.5000000001", 38, 10))
  check("product", LongType)(Seq(5 -> 3L, 6 -> 4L, 4 -> null) -> 12L)
  check("product", DecimalType(6, 2))(
    Seq(5 -> decimal("1.25", 6, 2), 6 -> decimal("1.50", 6, 2)) -> decimal("1.88", 6, 2))
  check("min", LongType)(Seq(5 -> 3L, 6 -> 4L, 4 -> 2L) -> 2L, Seq(5 -> null, 6 -> 4L) -> 4L)
  check("max", StringType)(Seq(5 -> "b", 4 -> "c", 6 -> "a") -> "c")
  check("max", DoubleType)(Seq(5 -> 1.0, 4 -> Double.NaN) -> Double.NaN)
  check("bool_and", BooleanType)(
    Seq(5 -> true, 4 -> null) -> true, Seq(5 -> null, 4 -> false) -> false,
    Seq(5 -> true, 6 -> false, 7 -> true) -> false,
    Seq(5 -> null, 6 -> null) -> null)
  check("bool_or", BooleanType)(
    Seq(5 -> false, 4 -> null) -> false, Seq(5 -> null, 4 -> true) -> true,
    Seq(5 -> false, 6 -> true, 7 -> false) -> true)
  check("collect", ArrayType(LongType))(
    Seq(5 -> Seq(1L), 4 -> Seq(2L, 1L), 6 -> null) -> Seq(1L, 2L, 1L), Seq(5 -> null, 4 -> Seq(2L)) -> Seq(2L))
  check("union", ArrayType(LongType))(
    Seq(5 -> Seq(1L), 4 -> Seq(2L, 1L), 6 -> Seq(2L)) -> Seq(1L, 2L),
    Seq(5 -> null, 6 -> Seq(2L, 2L)) -> Seq(2L))
  check("union", MapType(StringType, LongType))(
    Seq(5 -> Map("b" -> 1L), 6 -> Map("a" -> 2L, "b" -> 3L)) -> Seq("b" -> 3L, "a" -> 2L),
    Seq(5 -> Map("b" -> 1L), 4 -> Map("a" -> 2L, "b" -> 3L)) -> Seq("b" -> 1L, "a" -> 2L),
    Seq(5 -> Map("b" -> 1L), 5 -> Map("b" -> 2L), 6 -> null) -> Seq("b" -> 2L),
    Seq(5 -> null, 4 -> Map("b" -> 2L)) -> Seq("b" -> 2L))
  check("concat", StringType)(Seq(5 -> "a", 4 -> "b", 6 -> null) -> "ab")
  check("concat(', ')", StringType)(Seq(5 -> "a", 4 -> "b", 6 -> "c") -> "a, b, c", Seq(5 -> null, 4 -> "b") -> "b")

  for (
    (function, dataType, most, one) <- Seq[(String, DataType, Any, Any)](
      ("sum", IntegerType, Int.MaxValue, 1), ("sum", LongType, Long.MaxValue, 1L),
      ("product", LongType, Long.MaxValue, 2L), ("sum", DecimalType(3, 0), decimal("999", 3, 0), decimal("1", 3, 0)))
  )
    test(s"$function of ${dataType.sql} that does not fit is an error that names column, key and file group") {
      val error = intercept[MerganserException](folded(function, dataType, most, 4 -> one))
      assert(error.condition == "MERGER_FAILED")
      assert(error.parameters("merger") == s"function '$function' of column 'x'" && error.parameters("key") == "k")
      assert(error.parameters("older") == most.toString && error.parameters("newer") == one.toString)
      assert(error.parameters("fileGroup") == "p/group")
    }

  test("a function on an unsuitable type is refused with the suitable types") {
    val refused = Seq("sum" -> StringType, "product" -> DateType, "min" -> ArrayType(LongType), "bool_or" -> LongType,
      "collect" -> StringType, "union" -> LongType, "concat" -> BinaryType)
    refused.foreach { case (name, dataType) =>
      assert(ColumnFunction.parse(name).get.refusal(dataType).exists(_.nonEmpty), s"$name of $dataType")
    }
    val any = Seq(StringType, MapType(StringType, LongType), new StructType().add("a", LongType))
    for (name <- Seq("last", "last_non_null", "first", "first_non_null"); dataType <- any)
      assert(ColumnFunction.parse(name).get.refusal(dataType).isEmpty)
  }

  test("separators and expressions of any length are parsed with doubled quotes") {
    val long = "it''s " * 20000
    assert(ColumnFunction.parse(s"concat('$long')").contains(ColumnFunction.Joined("it's " * 20000)))
    assert(ColumnFunction.parse(s"expr('$long')").isDefined)
    assert(ColumnFunction.parse("concat('it's')").isEmpty)
  }

  test("a late row after a delete starts a new sum, and after a late delete adds to the row") {
    val table = new OneColumn("sum", LongType)
    def after(delete: Int) = table.fold.onto(table.version(5, 1L),
      table.fold.addToLogs(table.delete(delete), table.version(3, 2L)))
    assert(table.shown(after(delete = 5)) == "2@3" && table.shown(after(delete = 4)) == "3@5")
  }

  test("a late-arriving version that adds nothing leaves the stored row itself, and one that adds 0 does not") {
    val table  = new OneColumn("sum", LongType)
    val stored = table.version(5, 1L)
    assert(table.fold.merge(stored, table.version(4, null)) eq stored)
    assert(table.fold.merge(stored, table.version(4, 0L)) ne stored)
  }

  for (
    (function, dataType, value) <- Seq[(String, DataType, Random => Any)](
      ("sum", LongType, _.nextInt(9).toLong), ("sum", DecimalType(12, 2), r => Decimal(r.nextInt(900).toLong, 12, 2)),
      ("product", LongType, _.nextInt(3).toLong), ("min", LongType, _.nextInt(9).toLong),
      ("max", DoubleType, r => if (r.nextInt(5) == 0) Double.NaN else r.nextInt(4) * -0.0),
      ("bool_and", BooleanType, _.nextBoolean()), ("bool_or", BooleanType, _.nextBoolean()),
      ("first", LongType, _.nextInt(9).toLong), ("last", LongType, _.nextInt(9).toLong),
      ("first_non_null", LongType, _.nextInt(9).toLong), ("concat", StringType, _.nextInt(9).toString),
      ("collect", ArrayType(LongType), r => Seq.fill(r.nextInt(3))(r.nextInt(9).toLong)),
      ("union", ArrayType(LongType), r => Seq.fill(r.nextInt(3))(r.nextInt(3).toLong).distinct))
  )
    test(s"$function of ${dataType.sql}: grouping does not matter, as it claims") {
      val table = new OneColumn(function, dataType)
      assert(table.rule.laws.associative)
      val random = new Random(Histories.seed)
      for (_ <- 0 until 300) {
        def next()    = table.version(random.nextInt(4), if (random.nextInt(4) == 0) null else value(random))
        val (a, b, c) = (next(), next(), next())
        def merged(older: Version, newer: Version) = table.fold.merge(older, newer).copy()
        val (left, right)                          = (merged(merged(a, b), c), merged(a, merged(b, c)))
        assert(table.shown(left) == table.shown(right), s"of ${Seq(a, b, c).map(table.shown).mkString(", ")}")
      }
    }

  test("functions whose result depends on grouping are not declared associative") {
    val maps = MapType(StringType, LongType)
    for (
      (function, dataType) <- Seq("sum" -> DoubleType, "product" -> DecimalType(6, 2), "last_non_null" -> LongType,
        "union" -> maps)
    )
      assert(!new OneColumn(function, dataType).rule.laws.associative, function)
  }

  test("a group's columns go by its own ordering fields, and grouping does not matter") {
    val schema =
      new StructType().add("k", StringType).add("ts", IntegerType).add("a", StringType).add("at", IntegerType)
        .add("b", StringType).add("bt", IntegerType).add("n", IntegerType)
    val layout = RowLayout(schema, "k", Seq("ts"), None)
    val groups = Seq(ColumnGroup("a", Seq("a"), Seq("at")), ColumnGroup("b", Seq("b", "n"), Seq("bt")))
    val fold =
      new KeyFold(new ColumnRule(layout, Map("n" -> ColumnFunction.Sum).getOrElse(_, ColumnFunction.Last), groups, Nil))
    val project = UnsafeProjection.create(schema)
    def row(values: Any*): Version = {
      val own = values.map { case text: String => UTF8String.fromString(text); case other => other }
      val row = new GenericInternalRow((UTF8String.fromString("k") +: own).toArray[Any])
      new Version().set(project(row).copy(), isDelete = false, isUnconditional = false)
    }
    def partial(of: Version, columns: Int*): Version = {
      of.provided = (0 to 6).map(i => i == 0 || columns.contains(i)).toArray; of
    }
    def shown(version: Version): String = version.row.toSeq(schema).drop(1).mkString(",")
    val stored                          = row(5, "a5", 5, "b5", 5, 1)
    assert(shown(fold.merge(stored, row(6, "a4", 4, "b6", 6, 1))) == "6,a5,5,b6,6,2")
    assert(shown(fold.merge(stored, row(4, "a6", 6, "b4", 4, 1))) == "5,a6,6,b5,5,2")
    assert(shown(fold.merge(stored, row(6, "a6", null, "b5+", 5, null))) == "6,a5,5,b5+,5,1")
    assert(fold.merge(stored, row(4, "x", 4, "x", 4, null)) eq stored)
    assert(shown(fold.merge(stored, partial(row(9, "a6", 6, null, null, null), 2, 3))) == "5,a6,6,b5,5,1")
    assert(shown(fold.merge(stored, partial(row(9, "a9", null, "b4", 4, null), 2, 4, 5))) == "5,a9,5,b5,5,1")
    assert(fold.merge(stored, partial(row(null, "a4", 4, null, null, null), 2, 3)) eq stored)
    assert(fold.merge(stored, partial(row(null, null, null, "b4", 4, null), 4, 5)) eq stored)
    assert(shown(fold.merge(stored, partial(row(null, "a4", 4, "b6", 6, null), 2, 3, 4, 5))) == "5,a5,5,b6,6,1")
    assert(shown(fold.merge(stored, partial(row(6, "a4", 4, null, null, null), 1, 2, 3))) == "6,a5,5,b5,5,1")
    assert(shown(fold.merge(stored, partial(row(null, null, null, "b4", 4, 7), 4, 5, 6))) == "5,a5,5,b5,5,8")
    val random = new Random(Histories.seed)
    def next() = { def n = random.nextInt(3); row(n, s"a$n", if (n == 0) null else n, s"b$n", n, n) }
    for (_ <- 0 until 300) {
      val (x, y, z)                              = (next(), next(), next())
      def merged(older: Version, newer: Version) = fold.merge(older, newer).copy()
      assert(shown(merged(merged(x, y), z)) == shown(merged(x, merged(y, z))),
        s"of ${Seq(x, y, z).map(shown).mkString("; ")}")
    }
  }

  test("rows with additional columns after the layout's are merged") {
    val table = new OneColumn("sum", LongType)
    def wide(ts: Int, value: Any) = {
      val version = table.version(ts, value)
      val row     = new GenericInternalRow(Array[Any](UTF8String.fromString("k"), ts, value, "more", 7L))
      version.set(row, isDelete = false, isUnconditional = false)
    }
    val sums = Seq(wide(5, 1L), table.version(6, 2L), wide(4, 4L), wide(7, 8L)).reduceLeft(table.fold.merge(_, _))
    assert(table.shown(sums) == "15@7")
  }

  test("equal rules are written as equal strings, which are parsed into the same rule") {
    def rule(columns: (String, String)*) =
      DeclaredRule.of(columns.map { case (c, f) => c -> ColumnFunction.parse(f).get }.toMap, ColumnFunction.Last)
    val one = rule("qty" -> "SUM", "tags" -> "concat( ';''' )", "name" -> "last")
    assert(one.text == """{"version":1,"default":"last","columns":{"qty":"sum","tags":"concat(';''')"}}""")
    assert(DeclaredRule.parse(one.text) == Right(one))
    assert(one == rule("tags" -> "concat(';''')", "qty" -> "sum") && one.strategyId == rule("tags" -> "concat(';''')",
      "qty" -> "sum").strategyId)
    assert(one.strategyId != rule("qty" -> "max").strategyId)
    val grouped = DeclaredRule.of(Map.empty, ColumnFunction.Last, Seq(ColumnGroup("g", Seq("b", "a"), Seq("y", "x"))))
    assert(grouped.text.endsWith("""{},"groups":{"g":{"ordering":["y","x"],"columns":["a","b"]}}}"""))
    assert(DeclaredRule.parse(grouped.text) == Right(grouped))
    val deleting = DeclaredRule.of(Map.empty, ColumnFunction.Last,
      Seq(ColumnGroup("g", Seq("a"), Seq("x"), DeletePolicy.ResetGroup)), DeletePolicy.Ignore)
    assert(deleting.text == """{"version":1,"default":"last","delete":"ignore","columns":{},""" +
      """"groups":{"g":{"ordering":["x"],"columns":["a"],"delete":"reset_group"}}}""")
    assert(DeclaredRule.parse(deleting.text) == Right(deleting))
    val retracting = DeclaredRule.of(Map("n" -> ColumnFunction.Sum), ColumnFunction.Last,
      retract = Some(Retraction("op", Seq("update_before", "-U"))))
    assert(retracting.text == """{"version":1,"default":"last","retract":{"column":"op",""" +
      """"values":["-U","update_before"]},"columns":{"n":"sum"}}""")
    assert(DeclaredRule.parse(retracting.text) == Right(retracting))
  }

  test("a stored rule of a later version or with unknown parts is refused") {
    assert(DeclaredRule.parse("""{"version":2,"columns":{}}""").left.exists(_.contains("version is 2")))
    assert(DeclaredRule.parse("""{"version":1,"windows":{}}""").left.exists(_.contains("windows")))
    assert(DeclaredRule.parse("""{"version":1,"delete":"hide"}""").left.exists(_.contains("'hide'")))
    assert(DeclaredRule.parse("""{"version":1,"retract":{"column":"op"}}""").left.exists(_.contains("the values")))
    val group = """{"version":1,"groups":{"g":{"ordering":["x"],"columns":["a"],"reset":true}}}"""
    assert(DeclaredRule.parse(group).left.exists(_.contains("'reset'")))
    assert(DeclaredRule.parse("""{"version":1,"columns":{"a":"median"}}""").left.exists(_.contains("median")))
    assert(DeclaredRule.parse("sum").isLeft && DeclaredRule.parse("[]").isLeft && DeclaredRule.parse("").isLeft)
  }
}

object ColumnFunctionSuite {

  private def decimal(text: String, precision: Int, scale: Int): Decimal =
    Decimal(new java.math.BigDecimal(text), precision, scale)

  /** A table of a key, an ordering value and a column `x` with one function. */
  private final class OneColumn(function: String, dataType: DataType) {
    private val schema  = new StructType().add("k", StringType).add("ts", IntegerType).add("x", dataType)
    private val layout  = RowLayout(schema, "k", Seq("ts"), None)
    private val project = UnsafeProjection.create(schema)

    val rule =
      new ColumnRule(layout, Map("x" -> ColumnFunction.parse(function).get).getOrElse(_, ColumnFunction.Last), Nil, Nil)
    val fold = new KeyFold(rule, "p/group")

    def version(ts: Int, value: Any): Version = {
      val own = value match {
        case text: String => UTF8String.fromString(text)
        case list: Seq[_] => new GenericArrayData(list.toArray[Any])
        case map: Map[_, _] =>
          ArrayBasedMapData(map.keys.map(key => UTF8String.fromString(key.toString)).toArray[Any],
            map.values.toArray[Any])
        case other => other
      }
      val row = project(new GenericInternalRow(Array[Any](UTF8String.fromString("k"), ts, own))).copy()
      new Version().set(row, isDelete = false, isUnconditional = false)
    }

    def delete(ts: Int): Version = {
      val result = version(ts, null)
      result.set(result.row, isDelete = true, isUnconditional = false)
    }

    def value(version: Version): Any = RowLayout.valueAt(version.row, 2, dataType) match {
      case text: UTF8String => text.toString
      case list: ArrayData  => list.toLongArray.toSeq
      case map: MapData =>
        map.keyArray().toObjectArray(StringType).map(_.toString).toSeq.zip(map.valueArray().toLongArray)
      case other => other
    }

    def shown(version: Version): String = s"${bits(value(version))}@${version.row.getInt(1)}"
  }

  /** 0 and -0 differ, and NaN is NaN. */
  private def bits(value: Any): Any = value match {
    case number: Double => java.lang.Double.doubleToRawLongBits(number)
    case other          => other
  }
}
