package io.merganser.testing

import io.merganser.merge.MerganserException
import io.merganser.merge.laws.RuleLaw
import io.merganser.table.UsersClasses
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

/** Laws of rules, as the tests of those who write them in Scala check them. */
class MergeLawsSuite extends AnyFunSuite {
  private val columns = StructType.fromDDL("id INT, ts BIGINT, amount INT, note STRING")
  private val ordered =
    Map("hoodie.datasource.write.recordkey.field" -> "id", "hoodie.table.ordering.fields" -> "ts")
  private val sum = ordered + ("merganser.rule.column.amount" -> "sum")

  test("the example of the documentation on laws runs") {
    val columns = StructType.fromDDL("id INT, ts BIGINT, amount INT")
    val options = Map("hoodie.datasource.write.recordkey.field" -> "id", "merganser.rule.column.amount" -> "max")
    MergeLaws.assertHold(columns, options, Seq(RuleLaw.Associative, RuleLaw.Idempotent))
    MergeLaws.check(columns, options).foreach(println)
  }

  test("valid laws pass, and an invalid one fails with the versions that refute it") {
    MergeLaws.assertHold(columns, ordered, cases = 100)
    MergeLaws.assertHold(columns, sum, Seq(RuleLaw.Associative, RuleLaw.ProjectionSafe), cases = 100)
    val error = intercept[AssertionError](MergeLaws.assertHold(columns, sum, Seq(RuleLaw.Idempotent), cases = 100))
    assert(error.getMessage ==
      """idempotent does not hold: a version that comes twice changes nothing
        |  a      row ts=1 amount=null
        |  b      row ts=1 amount=1
        |  a b    row ts=1 amount=1 note=null
        |  a b b  row ts=1 amount=2 note=null""".stripMargin)
  }

  test("an inapplicable law is an error only if it is requested by name") {
    MergeLaws.assertHold(columns, ordered - "hoodie.table.ordering.fields", Seq(RuleLaw.Associative), cases = 10)
    val error = intercept[AssertionError](
      MergeLaws.assertHold(columns, ordered - "hoodie.table.ordering.fields", Seq(RuleLaw.DeletesKeepPlace),
        cases = 10))
    assert(error.getMessage.startsWith("deletes_keep_place is not about this rule: "))
  }

  test("parts of a row with the ordering fields of its groups are merged like the whole row") {
    val group = Map("merganser.rule.group.g.columns" -> "note", "merganser.rule.group.g.ordering" -> "amount")
    MergeLaws.assertHold(columns, ordered ++ group, Seq(RuleLaw.PartialIsWhole), cases = 300)
  }

  test("a user's merger is found by its class, and an unusable rule is refused as in a write") {
    val merger = ordered ++ Map("hoodie.write.record.merge.mode" -> "CUSTOM",
      "hoodie.write.record.merge.strategy.id" -> UsersClasses.Id,
      "hoodie.write.record.merge.custom.implementation.classes" -> classOf[UsersClasses.Appending].getName)
    assert(MergeLaws.check(columns, merger, cases = 20).map(_.law) == RuleLaw.all)
    val error = intercept[MerganserException](
      MergeLaws.check(columns, ordered + ("merganser.rule.column.note" -> "sum"), cases = 1))
    assert(error.condition == "RULE_INVALID")
  }
}
