package io.merganser.merge.laws

import io.merganser.merge._
import io.merganser.merge.columns.{ColumnFunction, ColumnRule}
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

// Guarantee (Merge rules): A law that merges rely on holds for random versions; one that does not hold is refuted with
//   versions that show it, for built-in rules and yours, and then not relied on. Also: MergeRuleLawsSuite,
//   test_laws_are_asserted_by_name_and_the_error_shows_versions, UserMergersSuite,
//   test_a_stored_check_is_shown_with_its_rule_and_dropped_when_the_rule_changes
/** The laws that users check, on rules of which other suites prove or refute them. */
class RuleCheckSuite extends AnyFunSuite {

  private def ofLayout(rule: RowLayout => MergeRule, layout: RowLayout): RuleOfLayout = {
    val compiled = rule(layout)
    RuleOfLayout(layout, new KeyFold(compiled), compiled.laws)
  }

  private def underTest(rule: RowLayout => MergeRule, layout: RowLayout = Notation.layout): RuleOfLayout = {
    val narrow = Seq("v", "w").map(column =>
      column -> ofLayout(rule,
        RowLayout(StructType(Seq("k", "ts", column).map(layout.schema(_))), "k", Seq("ts"), None)))
    ofLayout(rule, layout).copy(narrow = narrow)
  }

  private def partial(rule: RowLayout => MergeRule): RowLayout => MergeRule =
    layout => new PartialRule(rule(layout), layout)

  private def results(rule: RuleOfLayout): Map[RuleLaw, LawResult] =
    RuleCheck(rule, markers = Seq(BuiltInRules.Unavailable)).map(result => result.law -> result).toMap

  for (builtIn <- BuiltInRules.all)
    test(s"$builtIn: a law that merges rely on holds, and each other one of these has a counterexample") {
      val rule  = if (builtIn.oracle.columns.nonEmpty) builtIn.full else partial(builtIn.full)
      val found = results(underTest(rule))
      Seq(RuleLaw.Associative, RuleLaw.Idempotent, RuleLaw.OrderFree).foreach { law =>
        assert(found(law).holds == found(law).isClaimed, s"$law\n${found(law).counterexample.mkString}")
      }
      Seq(RuleLaw.NeverNull, RuleLaw.ProjectionSafe).foreach(law =>
        assert(found(law).holds.contains(true), found(law).counterexample))
    }

  private def counterexample(rule: String, law: RuleLaw): String = {
    val result = results(underTest(partial(BuiltInRules.named(rule).full)))(law)
    assert(result.holds.contains(false) && result.cases < RuleCheck.DefaultCases)
    result.counterexample.get
  }

  test("a counterexample shows two or three small versions and their results") {
    assert(counterexample("CommitTime", RuleLaw.OrderFree).linesIterator.size == 5)
    assert(counterexample("CommitTime", RuleLaw.DeletesKeepPlace) ==
      """a    delete ts=2
        |b    row ts=1
        |a b  row ts=1 v=null w=null
        |b a  delete ts=2""".stripMargin)
    assert(counterexample("IgnoreDefaults by event time", RuleLaw.Associative) ==
      """a        row ts=1 v='b'
        |b        row ts=0 v='a'
        |c        row ts=1 v=null
        |(a b) c  row ts=1 v='b' w=null
        |a (b c)  row ts=1 v='a' w=null""".stripMargin)
  }

  test("event time over partial rows keeps every law but that of retractions") {
    val found = results(underTest(partial(BuiltInRules.named("EventTime").full)))
    assert(RuleLaw.all.filterNot(law => found(law).holds.contains(true)) == Seq(RuleLaw.RetractionsUndo))
  }

  test("declared column rules keep the laws that they claim") {
    BuiltInRules.declared.foreach { builtIn =>
      val found = results(underTest(builtIn.full))
      Seq(RuleLaw.Associative, RuleLaw.Idempotent).foreach(law =>
        assert(found(law).isClaimed != Some(true) || found(law).holds.contains(true),
          s"$builtIn, $law\n${found(law).counterexample.mkString}"))
      Seq(RuleLaw.NeverNull, RuleLaw.ProjectionSafe, RuleLaw.PartialIsWhole).foreach(law =>
        assert(found(law).holds.contains(true), s"$builtIn, $law\n${found(law).counterexample.mkString}"))
    }
    val joined = results(underTest(BuiltInRules.declared.head.full))
    assert(joined(RuleLaw.Idempotent).holds.contains(false))
    assert(joined(RuleLaw.DeletesKeepPlace).holds.contains(false))
  }

  test("a sum takes a retraction back in either order, and a rule that keeps the largest value does not") {
    val layout =
      RowLayout(StructType.fromDDL("k STRING, ts INT, n INT, d DECIMAL(5,1), s STRING"), "k", Seq("ts"), None)
    def undoes(function: ColumnFunction) = {
      val functions = Map("n" -> function, "d" -> function)
      val rule      = ofLayout(new ColumnRule(_, functions.getOrElse(_, ColumnFunction.Last), Nil, Nil), layout)
      RuleCheck(rule.copy(sums = Set("n", "d"))).find(_.law == RuleLaw.RetractionsUndo).get
    }
    assert(undoes(ColumnFunction.Sum).holds.contains(true), undoes(ColumnFunction.Sum).counterexample)
    assert(undoes(ColumnFunction.Max).counterexample.get.contains("a b -b"))
  }

  private final class Merging(merged: (BufferedRecord, BufferedRecord) => BufferedRecord) extends MergerSource {
    override def className: String = "Merging"

    override def open(): RecordMerger = new RecordMerger {
      override def getMergingStrategy: String = "00000000-0000-0000-0000-00000000abcd"

      override def merge(
          older: BufferedRecord,
          newer: BufferedRecord,
          context: RecordContext,
          props: java.util.Map[String, String]
      ): BufferedRecord = merged(older, newer)
    }
  }

  test("the counterexample of a custom merger shows a null result and partial versions") {
    def rule(merged: (BufferedRecord, BufferedRecord) => BufferedRecord)(layout: RowLayout) =
      new CustomRule(new Merging(merged), layout, Set("k"), new java.util.TreeMap[String, String])
    val dropping = results(underTest(rule((_, newer) => if (newer.isDelete) null else newer)))
    assert(dropping(RuleLaw.NeverNull).counterexample.get.contains("it returned null"))
    val newest = results(underTest(rule((_, newer) => newer)))
    assert(newest(RuleLaw.NeverNull).holds.contains(true))
    assert(newest(RuleLaw.Associative).holds.contains(true), newest(RuleLaw.Associative).counterexample)
    assert(newest(RuleLaw.Associative).isClaimed.contains(false))
  }

  test("cases include the user's rows and repeat for the same seed") {
    val rare = UTF8String.fromString("rare")
    // By event time, but that a rare value is never replaced.
    def special(layout: RowLayout): MergeRule = {
      val v         = layout.schema.fieldNames.indexOf("v")
      val eventTime = EventTimeRule(layout)
      new MergeRule {
        override def laws: Laws = Laws(associative = true, idempotent = true, orderFree = true)

        override def merge(older: Version, newer: Version): Version =
          if (!older.isDelete && !older.row.isNullAt(v) && older.row.getUTF8String(v) == rare) older
          else eventTime.merge(older, newer)
      }
    }
    val layout = Notation.layout
    val own    = new GenericInternalRow(Array[Any](UTF8String.fromString("k9"), 3L, rare, null))
    def orderFree(own: GenericInternalRow*) =
      RuleCheck(ofLayout(special, layout), own, seed = 1).find(_.law == RuleLaw.OrderFree).get
    assert(orderFree().holds.contains(true))
    assert(orderFree(own).counterexample.get.contains("v='rare'") && orderFree(own) == orderFree(own))
  }

  test("cases have values of every type, and laws about ordering do not apply without it") {
    val inner = StructType(Seq(StructField("x", IntegerType), StructField("y", StringType)))
    val types = Seq(BooleanType, ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType, DecimalType(10, 2),
      StringType, BinaryType, DateType, TimestampType, TimestampNTZType, ArrayType(inner), MapType(StringType, inner),
      inner)
    val schema =
      StructType(StructField("k", StringType) +: types.zipWithIndex.map { case (t, i) => StructField(s"c$i", t) })
    val layout = RowLayout(schema, "k", Nil, None)
    val found  = RuleCheck(ofLayout(_ => new CommitTimeRule, layout), cases = 200)
    assert(found.map(_.holds) == Seq(Some(true), Some(true), Some(true), Some(false), None, Some(true), None, None))
    val text = found.flatMap(_.counterexample).mkString
    assert(text.contains("c0=") && !text.contains("@"), text)
  }
}
