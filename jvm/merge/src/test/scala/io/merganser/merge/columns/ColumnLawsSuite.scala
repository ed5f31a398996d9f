package io.merganser.merge.columns

import io.merganser.merge._
import io.merganser.merge.laws.{RuleLaw, RuleOfLayout, SampleValues}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

/** The laws of each function on rows: those that hold on random versions, and those that a counterexample refutes. */
class ColumnLawsSuite extends AnyFunSuite {

  private val maps = MapType(StringType, IntegerType)

  /** Function, type, the laws that hold, and values that show that others do not. */
  private val expected = Seq[(String, DataType, Seq[RuleLaw], Seq[Any])](
    ("last", LongType, Seq(RuleLaw.Associative, RuleLaw.Idempotent, RuleLaw.OrderFree), Nil),
    ("last_non_null", LongType, Seq(RuleLaw.Idempotent), Nil),
    ("first", LongType, Seq(RuleLaw.Associative, RuleLaw.Idempotent), Nil),
    ("first_non_null", LongType, Seq(RuleLaw.Associative, RuleLaw.Idempotent), Nil),
    ("sum", IntegerType, Seq(RuleLaw.Associative, RuleLaw.OrderFree), Nil),
    ("sum", LongType, Seq(RuleLaw.Associative, RuleLaw.OrderFree), Nil),
    ("sum", DecimalType(10, 2), Seq(RuleLaw.Associative, RuleLaw.OrderFree), Nil),
    ("sum", DoubleType, Nil, Seq(0.1, 0.2, 0.3)), ("sum", FloatType, Nil, Seq(0.1f, 0.2f, 1e7f)),
    ("product", LongType, Seq(RuleLaw.Associative, RuleLaw.OrderFree), Nil),
    ("product", DecimalType(6, 2), Nil, Seq("1.25", "0.33", "1.50").map(Decimal(_)).map(decimal)),
    ("product", DoubleType, Nil, Seq(0.1, 0.2, 0.3)),
    ("min", LongType, Seq(RuleLaw.Associative, RuleLaw.Idempotent, RuleLaw.OrderFree), Nil),
    ("max", StringType, Seq(RuleLaw.Associative, RuleLaw.Idempotent, RuleLaw.OrderFree), Nil),
    ("bool_and", BooleanType, Seq(RuleLaw.Associative, RuleLaw.Idempotent, RuleLaw.OrderFree), Nil),
    ("bool_or", BooleanType, Seq(RuleLaw.Associative, RuleLaw.Idempotent, RuleLaw.OrderFree), Nil),
    ("collect", ArrayType(IntegerType), Seq(RuleLaw.Associative), Nil),
    ("union", ArrayType(IntegerType), Seq(RuleLaw.Associative, RuleLaw.Idempotent), Nil),
    ("union", maps, Seq(RuleLaw.Idempotent), Nil), ("concat", StringType, Seq(RuleLaw.Associative), Nil),
    ("concat(', ')", StringType, Seq(RuleLaw.Associative), Nil), ("expr('old.x * 2 + new.x')", LongType, Nil, Nil),
    ("expr('greatest(old.x, new.x)')", LongType, Seq(RuleLaw.Associative, RuleLaw.Idempotent, RuleLaw.OrderFree), Nil)
  )

  for ((function, dataType, laws, values) <- expected)
    test(s"$function of ${dataType.sql}: ${if (laws.isEmpty) "no law" else laws.mkString(", ")}") {
      val (rule, claims) = ColumnLawsSuite.ofColumn(function, dataType)
      val own = values.map(value =>
        new GenericInternalRow(Array[Any](UTF8String.fromString("k"), 1, value)): InternalRow).toIndexedSeq
      val samples = new SampleValues(rule.layout, rule.fixedOrdinals, own, Nil, new Random(Histories.seed))
      def counterexample(law: RuleLaw) =
        Iterator.continually(Seq.fill(law.versions)(samples.row())).take(1000).flatMap(law.violation(rule, _)).take(
          1).toSeq.headOption
      for (law <- Seq(RuleLaw.Associative, RuleLaw.Idempotent, RuleLaw.OrderFree))
        assert(counterexample(law).isEmpty == laws.contains(law), s"$law: ${counterexample(law)}")
      assert(claims.associative == laws.contains(RuleLaw.Associative))
      assert(claims.idempotent == laws.contains(RuleLaw.Idempotent))
      for (law <- Seq(RuleLaw.NeverNull, RuleLaw.PartialIsWhole))
        assert(counterexample(law).isEmpty, s"$law: ${counterexample(law)}")
    }

  test("every function has its laws tested") {
    val tested = expected.map { case (function, _, _, _) => ColumnFunction.parse(function).get.name }.toSet
    assert(ColumnFunction.names.map(_.takeWhile(_ != '(')).toSet == tested)
  }

  private def decimal(value: Decimal): Decimal = { value.changePrecision(6, 2); value }
}

private object ColumnLawsSuite {

  /** The rule of a table with one column besides key and ordering field, and what it claims. */
  def ofColumn(function: String, dataType: DataType): (RuleOfLayout, Laws) = {
    val schema = new StructType().add("k", StringType).add("ts", IntegerType).add("x", dataType)
    val layout = RowLayout(schema, "k", Seq("ts"), None)
    val rule =
      new ColumnRule(layout, Map("x" -> ColumnFunction.parse(function).get).getOrElse(_, ColumnFunction.Last), Nil, Nil)
    (RuleOfLayout(layout, new KeyFold(rule), rule.laws), rule.laws)
  }
}
