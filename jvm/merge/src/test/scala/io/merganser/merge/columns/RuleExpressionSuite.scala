package io.merganser.merge.columns

import io.merganser.merge._
import io.merganser.merge.buffer.VersionBuffer
import io.merganser.merge.columns.ColumnFunction.{Computed, Last}
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import org.scalatest.funsuite.AnyFunSuite

/** Expressions over two versions: values, what they may have, and versions that lack columns. */
class RuleExpressionSuite extends AnyFunSuite {
  import RuleExpressionSuite._

  /** The column after two versions; the second is late-arriving where its `ts` is smaller. */
  private def merged(column: String, sql: String, older: Map[String, Any], newer: Map[String, Any]): Any = {
    val fold = foldOf(column -> sql)
    value(fold.merge(row(older), row(newer)), column)
  }

  for (
    (column, sql, older, newer, expected) <- Seq[(String, String, Map[String, Any], Map[String, Any], Any)](
      ("x", "old.x + new.x", Map("x" -> 1L), Map("x" -> 2L), 3L),
      ("x", "OLD.X + New.x", Map("x" -> 1L), Map("x" -> 2L), 3L),
      ("x", "old.x + new.x", Map("x" -> 1L), Map("x" -> null), null),
      ("x", "old.x + new.x", Map("x" -> 1L, "ts" -> 5), Map("x" -> 2L, "ts" -> 4), 3L),
      ("x", "greatest(old.x, new.y)", Map("x" -> 1L), Map("y" -> 7L), 7L),
      ("x", "CASE WHEN new.y > old.y THEN new.x ELSE old.x END", Map("x" -> 1L, "y" -> 3L), Map("x" -> 2L, "y" -> 2L),
        1L), ("x", "if(new.s = 'reset', new.x, old.x)", Map("x" -> 1L), Map("x" -> 2L, "s" -> "reset"), 2L),
      ("x", "nullif(new.x, 0)", Map(), Map("x" -> 0L), null),
      ("x", "nvl(new.x, old.x)", Map("x" -> 1L), Map("x" -> null), 1L),
      ("x", "CASE WHEN new.x BETWEEN 0 AND 9 THEN new.x END", Map(), Map("x" -> 9L), 9L),
      ("x", "size(new.xs)", Map(), Map("xs" -> Seq(1L, 2L)), 2L), ("x", "new.xs[0]", Map(), Map("xs" -> Seq(4L)), 4L),
      ("x", "new.m.a", Map(), Map("m" -> 6), 6L), ("x", "new.d", Map(), Map("d" -> Decimal("2.50")), 2L),
      ("d", "old.d * new.d", Map("d" -> Decimal("1.50")), Map("d" -> Decimal("1.25")), Decimal("1.88")),
      ("s", "concat_ws('/', old.s, new.s)", Map("s" -> "a"), Map("s" -> "b"), "a/b"),
      ("s", "old.s || '\\'' || new.s", Map("s" -> "a"), Map("s" -> "b"), "a'b"),
      ("s", "old.s || 'c''d' || new.s", Map("s" -> "a"), Map("s" -> "b"), "acdb"),
      ("s", "cast(new.x AS string)", Map(), Map("x" -> 5L), "5"),
      ("xs", "array_union(old.xs, new.xs)", Map("xs" -> Seq(1L)), Map("xs" -> Seq(2L, 1L)), Seq(1L, 2L))
    )
  )
    test(s"$column = $sql of $older, then $newer, is $expected") {
      assert(merged(column, sql, older, newer) == expected)
    }

  test("a number that does not fit is an error, with the column, its expression and both values") {
    for ((sql, newer) <- Seq("old.x + new.x" -> Long.MaxValue, "old.x / 0" -> 1L, "cast(new.s AS bigint)" -> 1L)) {
      val error = intercept[MerganserException](merged("x", sql, Map("x" -> 1L), Map("x" -> newer, "s" -> "a")))
      assert(
        error.condition == "MERGER_FAILED" && error.parameters("merger") == s"function 'expr('$sql')' of column 'x'")
      assert(error.parameters("older") == "1" && error.parameters("newer") == newer.toString, sql)
    }
  }

  test("the session's settings do not change an expression's result") {
    val session = new SQLConf
    session.setConfString("spark.sql.ansi.enabled", "false")
    session.setConfString("spark.sql.session.timeZone", "Asia/Tokyo")
    session.setConfString("spark.sql.caseSensitive", "true")
    session.setConfString("spark.sql.decimalOperations.allowPrecisionLoss", "false")
    SQLConf.withExistingConf(session) {
      assert(merged("x", "OLD.x + new.X", Map("x" -> 1L), Map("x" -> 2L)) == 3L)
      assert(merged("s", "cast(new.t AS string)", Map(), Map("t" -> 0L)) == "1970-01-01 00:00:00")
      intercept[MerganserException](merged("x", "old.x + new.x", Map("x" -> 1L), Map("x" -> Long.MaxValue)))
    }
  }

  test("the session's settings do not change an expression compiled during a merge") {
    val schema  = StructType.fromDDL("k STRING, ts INT, d DECIMAL(38, 18), n DECIMAL(18, 6), s STRING")
    val layout  = RowLayout(schema, "k", Seq("ts"), None)
    val columns = Map("d" -> "old.d * new.d", "n" -> "old.d * new.d", "s" -> "cast(array(new.ts, null) AS string)")
    def row(ts: Int, d: String): Version = layout.fill(new Version,
      UnsafeProjection.create(schema)(
        new GenericInternalRow(Array[Any](UTF8String.fromString("k"), ts, Decimal(BigDecimal(d), 38, 18),
            Decimal(BigDecimal(d), 18, 6), null))).copy())
    def results = for ((column, sql) <- columns.toSeq.sorted; ts <- Seq(4, 6)) yield {
      val fold = new KeyFold(new ColumnRule(layout, Map(column -> Computed(sql)).getOrElse(_, Last), Nil, Nil))
      val at   = schema.fieldIndex(column)
      val result =
        try RowLayout.valueAt(fold.merge(row(5, "123.5"), row(ts, "10")).row, at, schema(at).dataType)
        catch { case e: MerganserException => e.parameters("reason") }
      s"$column $ts $result"
    }
    val session = new SQLConf
    session.setConfString("spark.sql.decimalOperations.allowPrecisionLoss", "false")
    session.setConfString("spark.sql.legacy.castComplexTypesToString.enabled", "true")
    assert(SQLConf.withExistingConf(session)(results) == results)
  }

  for (
    (sql, mentions) <- Seq(
      "old.x +" -> Seq("yntax"),
      "x + new.x" -> Seq("'x'", "neither version", "old.column or new.column"),
      "older.x + new.x" -> Seq("'older.x'"),
      "new" -> Seq("'new'"),
      "old.z" -> Seq("no column 'z'", "old.z", "xs"),
      "sum(new.x)" -> Seq("'sum'", "greatest"),
      "my_function(new.x)" -> Seq("'my_function'"),
      "db.greatest(new.x, old.x)" -> Seq("'db.greatest'"),
      "rand()" -> Seq("'rand'"),
      "current_date" -> Seq("current_date"),
      "current_timestamp()" -> Seq("'current_timestamp'"),
      "reflect('java.lang.System', 'exit', 1)" -> Seq("'reflect'"),
      "(SELECT 1)" -> Seq("subquery"),
      "new.x IN (SELECT 1)" -> Seq("subquery"),
      "coalesce(DISTINCT new.x)" -> Seq("'coalesce'"),
      "coalesce(new.x) OVER (PARTITION BY new.y)" -> Seq("window"),
      "first(new.x)" -> Seq(""),
      "greatest(new.*)" -> Seq("'*'"),
      "array_max(transform(new.xs, e -> e + 1))" -> Seq("transform"),
      "new.x = 'a' AND new.y" -> Seq(""),
      "greatest(old.x, new.xs)" -> Seq("greatest"),
      "new.xs" -> Seq("array<bigint>", "bigint", "Cast it"),
      "new.m.b" -> Seq("b"),
      ":limit" -> Seq(""),
      "" -> Seq("")
    )
  )
    test(s"x = $sql is refused, with a remedy") {
      val problem = Computed(sql).problem(schema, "x").getOrElse(fail("it is not refused"))
      val text    = s"${problem.reason}. ${problem.remedy}."
      mentions.foreach(mention => assert(text.contains(mention), text))
      assert(problem.remedy.nonEmpty && !text.contains("\n"))
    }

  test("every allowed function is one of Spark's built-in functions") {
    val builtin = org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin
    ExpressionSyntax.Functions.foreach(name =>
      assert(builtin.functionExists(org.apache.spark.sql.catalyst.FunctionIdentifier(name)), name))
    assert(ExpressionSyntax.Functions == ExpressionSyntax.Functions.sorted)
  }

  test("an expression's columns are resolved in the schema for each version") {
    assert(Computed("if(new.TS > old.ts, new.m.a, old.x)").columns(schema) ==
      Right(ExpressionColumns(older = Seq("ts", "x"), newer = Seq("ts", "m"))))
  }

  test("a column needs the columns of its expression, theirs in turn, and the ordering fields of their groups") {
    val rule = DeclaredRule.of(
      Map("x" -> Computed("greatest(old.x, new.y)"), "y" -> Computed("if(new.s = 'a', old.m.a, new.y)"),
        "d" -> ColumnFunction.Sum),
      Last, Seq(ColumnGroup("g", Seq("s"), Seq("t"))))
    assert(rule.neededFor(Seq("x"), schema).toSet == Set("y", "s", "m", "t"))
    assert(rule.neededFor(Seq("d", "k"), schema).isEmpty)
    assert(rule.wholeColumns(schema).toSet == Set("x", "y", "s", "m"))
  }

  test("a late row without an effect keeps the stored row, and one with an effect changes it") {
    val fold   = foldOf("x" -> "coalesce(new.y, old.x)")
    val stored = row(Map("ts" -> 5, "x" -> 1L, "y" -> 0L))
    assert(fold.merge(stored, row(Map("ts" -> 4, "y" -> null, "x" -> 9L))) eq stored)
    assert(value(fold.merge(stored, row(Map("ts" -> 4, "y" -> 8L))), "x") == 8L)
  }

  test("versions are folded one by one, never combined before the stored row is known") {
    val fold = foldOf("x" -> "old.x * 2 + new.x")
    assert(!fold.combinesBatch && !fold.combinesLogs)
    val versions = Seq(2L, 3L).map(x => row(Map("x" -> x))).reduceLeft(fold.addToBatch(_, _))
    assert(value(fold.onto(row(Map("x" -> 1L)), versions), "x") == 11L && value(fold.alone(versions), "x") == 7L)
  }

  test("an expression equivalent to a function has its laws, so one version per key is buffered") {
    def buffered(sql: String): Int = {
      val buffer = new VersionBuffer(layout, foldOf("x" -> sql), Long.MaxValue)
      for (x <- 1 to 5) buffer.add(row(Map("x" -> x.toLong)))
      buffer.get(UTF8String.fromString("k")).oldestFirst.size
    }
    for (sql <- Seq("greatest(old.x, new.x)", "LEAST(new.X, old.x)", "coalesce(old.x, new.x)", "old.x"))
      assert(buffered(sql) == 1, sql)
    for (
      sql <- Seq("greatest(old.x, new.y)", "greatest(old.x, new.x, 3)", "coalesce(new.x, old.x)", "new.x",
        "old.x + new.x")
    )
      assert(buffered(sql) == 5, sql)
  }

  test("an expression equivalent to a function gives its values") {
    val random = new scala.util.Random(Histories.seed)
    for (
      (sql, function) <- Seq("greatest(old.x, new.x)" -> "max", "least(new.x, old.x)" -> "min",
        "coalesce(old.x, new.x)" -> "first_non_null", "old.x" -> "first"); _ <- 0 until 100
    ) {
      def drawn: Map[String, Any] =
        Map("ts" -> random.nextInt(3), "x" -> (if (random.nextInt(3) == 0) null else random.nextInt(4).toLong))
      val (a, b)  = (drawn, drawn)
      val unknown = s"if(true, $sql, null)"
      val byFunction =
        new KeyFold(new ColumnRule(layout, Map("x" -> ColumnFunction.parse(function).get).getOrElse(_, Last), Nil, Nil))
      val folds = Seq(foldOf("x" -> sql), foldOf("x" -> unknown), byFunction)
      val found = folds.map(fold => value(fold.merge(row(a), row(b)), "x"))
      assert(found.distinct.size == 1, s"$sql of $a and $b: $found")
    }
  }

  test("a partial version must provide every column that its expression reads") {
    val fold   = foldOf("x" -> "if(new.y > old.y, new.x, old.x)")
    val stored = row(Map("x" -> 1L, "y" -> 1L, "s" -> "a"))
    val both   = fold.merge(stored, partial(Map("x" -> 2L, "y" -> 2L)))
    assert(value(both, "x") == 2L && value(both, "y") == 2L && value(both, "s") == "a")
    val without = fold.merge(stored, partial(Map("y" -> 2L)))
    assert(value(without, "x") == 1L && value(without, "y") == 2L)
    val error = intercept[MerganserException](fold.merge(stored, partial(Map("x" -> 2L))))
    assert(error.condition == "MERGER_FAILED" && error.parameters("reason").contains("does not provide 'y'"))
  }

  test("an expression that this schema does not allow is an error where rows are merged") {
    val error = intercept[MerganserException](merged("x", "old.z + new.x", Map(), Map()))
    assert(error.condition == "RULE_EXPRESSION_INVALID" && error.getMessage.contains("expr('old.z + new.x')"))
  }

  test("an expression is written with doubled quotes and parsed into the same function") {
    val one = ColumnFunction.parse("EXPR( 'coalesce(new.s, ''none'')' )").get
    assert(one == Computed("coalesce(new.s, 'none')") && one.text == "expr('coalesce(new.s, ''none'')')")
    assert(ColumnFunction.parse(one.text).contains(one) && ColumnFunction.parse("expr(new.s)").isEmpty)
    val rule = DeclaredRule.of(Map("s" -> one, "x" -> Computed("old.x +\n new.x")), Last)
    assert(DeclaredRule.parse(rule.text) == Right(rule))
  }
}

object RuleExpressionSuite {

  private val schema =
    new StructType().add("k", StringType).add("ts", IntegerType).add("x", LongType).add("y", LongType)
      .add("s", StringType).add("d", DecimalType(10, 2)).add("xs", ArrayType(LongType))
      .add("m", new StructType().add("a", IntegerType)).add("t", TimestampType)

  private val project = UnsafeProjection.create(schema)

  private val layout = RowLayout(schema, "k", Seq("ts"), None)

  private def foldOf(columns: (String, String)*): KeyFold = {
    val functions = columns.toMap.map { case (name, sql) => name -> Computed(sql) }
    new KeyFold(new ColumnRule(layout, functions.getOrElse(_, Last), Nil, Nil), "p/group")
  }

  private def row(values: Map[String, Any]): Version = {
    val own =
      schema.fieldNames.map(name => (Map[String, Any]("k" -> "k", "ts" -> 5) ++ values).getOrElse(name, null)).map {
        case text: String => UTF8String.fromString(text)
        case list: Seq[_] => new GenericArrayData(list.toArray[Any])
        case decimal: Decimal =>
          decimal.changePrecision(10, 2); decimal
        case other => other
      }
    own(7) = if (own(7) == null) null else new GenericInternalRow(Array[Any](own(7)))
    new Version().set(project(new GenericInternalRow(own.toArray[Any])).copy(), isDelete = false,
      isUnconditional = false)
  }

  private def partial(values: Map[String, Any]): Version = {
    val result = row(values)
    result.provided = schema.fieldNames.map(name => name == "k" || values.contains(name))
    result
  }

  private def value(version: Version, column: String): Any = {
    val i = schema.fieldIndex(column)
    RowLayout.valueAt(version.row, i, schema(i).dataType) match {
      case text: UTF8String => text.toString
      case list: ArrayData  => list.toLongArray.toSeq
      case other            => other
    }
  }
}
