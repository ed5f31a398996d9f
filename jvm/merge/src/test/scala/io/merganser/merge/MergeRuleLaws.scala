package io.merganser.merge

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.StructType
import org.scalacheck.Prop.{forAllNoShrink, propBoolean}
import org.scalacheck.rng.Seed
import org.scalacheck.util.Pretty
import org.scalacheck.{Gen, Prop, Test}
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

/** The laws of a merge rule; each is checked on random versions of one key. */
object MergeRuleLaws {
  type Law = (String, () => Test.Result)

  val Grouping = "grouping does not matter"
  val Twice    = "a version that comes twice changes nothing"
  val Order    = "the order of versions with different ordering values does not matter"

  /** The laws that a rule claims, and how its versions are merged and, in a batch, combined. */
  final case class RuleUnderTest(
      laws: Laws,
      merge: (Version, Version) => Version,
      combine: (Version, Version) => Version
  )

  /** A rule as every path calls it. */
  def underTest(rule: MergeRule): RuleUnderTest = {
    val fold = MergePaths.fold(rule)
    RuleUnderTest(rule.laws, fold.merge, fold.combine)
  }

  /** The optional laws by name, with whether the rule claims them. */
  def claimable(fold: RuleUnderTest, versions: Gen[Version], ordered: Gen[Version]): Seq[(Boolean, Law)] = Seq(
    fold.laws.associative -> law(Grouping)(forAllNoShrink(versions, versions, versions, versions) { (a, b, c, d) =>
      same(fold.merge(fold.merge(a, b), c), fold.merge(a, fold.merge(b, c))) &&
      same(fold.merge(fold.merge(fold.merge(a, b), c), d), fold.merge(fold.merge(a, b), fold.merge(c, d)))
    }),
    fold.laws.idempotent -> law(Twice)(forAllNoShrink(versions, versions) { (a, b) =>
      Prop.all(Seq(fold.merge, fold.combine).map { merge =>
        same(merge(b, b), b) && same(merge(merge(a, b), b), merge(a, b))
      }: _*)
    }),
    fold.laws.orderFree -> law(Order)(forAllNoShrink(ordered, ordered, ordered) { (a, b, c) =>
      val different = Seq(a, b, c).groupBy(Notation.read(_).ts).values.map(_.head).toSeq
      val results   = different.permutations.map(_.reduceLeft(fold.merge(_, _))).toSeq
      Prop.all(results.map(same(_, results.head)): _*)
    })
  )

  /** The laws that every rule must satisfy, both across batches and within one. */
  def required(fold: RuleUnderTest, versions: Gen[Version]): Seq[Law] =
    Seq("" -> fold.merge, "in a batch, " -> fold.combine).flatMap { case (where, merge) =>
      Seq(
        law(s"${where}the result is a record with a row, and the arguments are as they were")(forAllNoShrink(versions,
            versions) {
            (a, b) =>
              val before = (meaning(a), meaning(b))
              val result = merge(a, b)
              ((result != null && result.row != null) :| "no record") && (((meaning(a),
                meaning(b)) == before) :| "an argument was changed")
          }),
        law(s"${where}a delete that results keeps its own ordering value, or its having none")(forAllNoShrink(versions,
            versions) {
            (a, b) =>
              val result = Notation.read(merge(a, b))
              (!result.isDelete || Seq(a, b).map(Notation.read(_)).contains(result)) :| s"$result"
          })
      )
    }

  /**
   * Merging projected rows equals projecting the merged rows: reading fewer columns changes no result.
   *
   * @param rule     the rule for rows of a layout
   * @param compares whether it uses the ordering column, which must then be read
   */
  def projection(rule: RowLayout => MergeRule, compares: Boolean, versions: Gen[Version]): Law = {
    val full = MergePaths.fold(rule(Notation.layout))
    val columns =
      (if (compares) Nil else Seq(Seq("k"), Seq("k", "v"))) ++ Seq("k ts", "k ts v", "k w ts").map(_.split(" ").toSeq)
    val narrow = columns.map { names =>
      val schema   = StructType(names.map(Notation.schema(_)))
      val ordering = Seq("ts").filter(names.contains)
      (names.map(Notation.schema.fieldIndex), schema, MergePaths.fold(rule(RowLayout(schema, "k", ordering, None))))
    }
    law("merging some of the columns gives the same values in them")(forAllNoShrink(versions, versions) { (a, b) =>
      Prop.all(narrow.map { case (ordinals, schema, projected) =>
        def project(v: Version) = {
          val result = new Version().set(
            new GenericInternalRow(ordinals.map(i => v.row.get(i, Notation.schema(i).dataType)).toArray[Any]),
            v.isDelete, v.isUnconditional)
          result.endsHistory = v.endsHistory
          result
        }
        def text(v: Version) = s"${v.row.toSeq(schema)} ${v.isDelete} ${v.isUnconditional} ${v.endsHistory}"
        def unlike(one: Version, other: Version) =
          (text(project(one)) == text(other)) :|
            s"${schema.fieldNames.mkString(" ")}: ${text(project(one))} is not ${text(other)}"
        unlike(full.merge(a, b), projected.merge(project(a), project(b))) &&
        unlike(full.combine(a, b), projected.combine(project(a), project(b)))
      }: _*)
    })
  }

  private def law(name: String)(prop: Prop): Law = name -> (() => Test.check(parameters, prop))

  /** Random versions, and some that an unconditional delete was merged into. */
  val versions: Gen[Version] = Gen.long.map { seed =>
    val random = new Random(seed)
    val record = Notation.record(new Histories(partials = false, BuiltInRules.Unavailable).change(random, keys = 1))
    if (random.nextInt(5) == 0) record.withoutHistory else record
  }

  val orderedVersions: Gen[Version] = versions.suchThat(version => !version.isUnconditional && !version.endsHistory)

  private val parameters = Test.Parameters.default.withMinSuccessfulTests(1000).withInitialSeed(Seed(Histories.seed))

  /** What must be equal in two records for every caller to treat them alike. */
  private def meaning(record: Version): String =
    s"${Notation.read(record)}${if (record.endsHistory || record.isUnconditional) " and nothing before it" else ""}"

  private def same(a: Version, b: Version): Prop = (meaning(a) == meaning(b)) :| s"${meaning(a)} is not ${meaning(b)}"

  private implicit val pretty: Version => Pretty = record => Pretty(_ => meaning(record))
}

class MergeRuleLawsSuite extends AnyFunSuite {
  import MergeRuleLaws._

  private def failure(outcome: Test.Result): String =
    s"(seed ${Histories.seed}) ${Pretty.pretty(outcome, Pretty.Params(1))}"

  for {
    builtIn <- BuiltInRules.all
    full = builtIn.full(Notation.layout)
    (claims, law) <- claimable(underTest(full), versions, orderedVersions)
  } if (claims) test(s"$builtIn: ${law._1}") {
    val outcome = law._2()
    assert(outcome.passed, failure(outcome))
  }
  else test(s"$builtIn: the invalid law is not claimed: ${law._1}") { assert(!law._2().passed) }

  for {
    builtIn <- BuiltInRules.all
    projected =
      projection(builtIn.full, compares = builtIn.oracle.byEventTime || builtIn.oracle.batchByEventTime, versions)
    (law, check) <- required(underTest(builtIn.full(Notation.layout)), versions) :+ projected
  } test(s"$builtIn: $law") {
    val outcome = check()
    assert(outcome.passed, failure(outcome))
  }

  test("full versions under a partial rule keep the laws of the wrapped rule") {
    for {
      builtIn       <- BuiltInRules.all
      (claims, law) <- claimable(underTest(builtIn.rule), versions, orderedVersions) if claims
    } assert(law._2().passed, s"$builtIn: ${law._1}")
  }

  private val commitTime = MergePaths.fold(new CommitTimeRule)
  private val eventTime  = MergePaths.fold(EventTimeRule(Notation.layout))

  private def merged(fold: KeyFold, words: String): String =
    Notation.read(Notation.changes(words).map(Notation.record).reduceLeft(fold.merge(_, _))).toString

  /** Versions whose result differs when they are grouped from the right, with both results. */
  private val ungroupable = Seq(
    ("IgnoreDefaults by event time", "k1@1=a k1@3=null k1@2=b", "k1@3=a", "k1@3=b"),
    ("FillUnavailable by event time", s"k1@1=a k1@3=${BuiltInRules.Unavailable} k1@2=b", "k1@3=a", "k1@3=b"),
    ("PartialUpdate", "k1@1=a k1@3=null k1@2=b", "k1@3=a", "k1@3=b"),
    ("PostgresDebezium", s"k1@2=a k1@1=b k1@3=${BuiltInRules.Unavailable}", "k1@3=a", "k1@3=b")
  )

  for ((name, words, left, right) <- ungroupable)
    test(s"$name: the versions $words are $left from the left and $right from the right, so not combined") {
      val rule     = BuiltInRules.named(name).rule
      val fold     = MergePaths.fold(rule)
      val versions = Notation.changes(words).map(Notation.record)
      assert(merged(fold, words) == left)
      assert(Notation.read(fold.merge(versions.head, versions.tail.reduceLeft(fold.merge(_, _)))).toString == right)
      assert(!rule.laws.associative)
    }

  test("exactly the rules that do not combine versions have a counterexample") {
    assert(BuiltInRules.all.filterNot(_.rule.laws.associative).map(_.oracle.name).toSet == ungroupable.map(_._1).toSet)
  }

  /** Versions with different ordering values whose result differs in another order. */
  private val unordered = Seq(
    ("CommitTime", "k1@1=a k1@2=b", "k1@2=b k1@1=a"),
    ("IgnoreDefaults by commit time", "k1@1=a k1@2=null,b", "k1@2=null,b k1@1=a"),
    ("IgnoreDefaults by event time", "k1@3=null k1@1=a k1@2=b", "k1@3=null k1@2=b k1@1=a"),
    ("FillUnavailable by commit time", "k1@1=a k1@2=b", "k1@2=b k1@1=a"),
    ("FillUnavailable by event time", s"k1@3=${BuiltInRules.Unavailable} k1@1=a k1@2=b",
      s"k1@3=${BuiltInRules.Unavailable} k1@2=b k1@1=a"), ("OverwriteWithLatest", "k1@1=a k1@2=b", "k1@2=b k1@1=a"),
    ("OverwriteNonDefaults", "k1@1=a k1@2=null,b", "k1@2=null,b k1@1=a"),
    ("PartialUpdate", "k1@2=a k1@1-", "k1@1- k1@2=a"), ("AwsDms", "k1@2=a k1@1-", "k1@1- k1@2=a"),
    ("PostgresDebezium", s"k1@1=a k1@2=${BuiltInRules.Unavailable}", s"k1@2=${BuiltInRules.Unavailable} k1@1=a")
  )

  for ((name, one, other) <- unordered)
    test(s"$name: $one is not $other, so the order of commits matters") {
      val rule = BuiltInRules.named(name).rule
      assert(merged(MergePaths.fold(rule), one) != merged(MergePaths.fold(rule), other))
      assert(!rule.laws.orderFree)
    }

  test("exactly the rules that depend on the order have a counterexample") {
    assert(BuiltInRules.all.filterNot(_.rule.laws.orderFree).map(_.oracle.name).toSet == unordered.map(_._1).toSet)
  }

  test("event time depends on the order where versions tie, or a delete has no ordering value") {
    assert(merged(eventTime, "k1@1=a k1@1=b") != merged(eventTime, "k1@1=b k1@1=a"))
    assert(merged(eventTime, "k1@1=a k1-") != merged(eventTime, "k1- k1@1=a"))
  }

  /** The laws that a rule claims wrongly, or breaks. */
  private def broken(merge: (Version, Version) => Version): Seq[String] = {
    val claimsAll = RuleUnderTest(Laws(associative = true, idempotent = true, orderFree = true), merge, merge)
    (claimable(claimsAll, versions, orderedVersions).map(_._2) ++ required(claimsAll, versions)).collect {
      case (law, result) if !result().passed => law
    }
  }

  test("the laws detect a rule that forgets that a delete ended history") {
    assert(broken((older, newer) => if (older.isUnconditional) newer else eventTime.merge(older, newer)).contains(
        Grouping))
  }

  test("the laws detect a rule whose result depends on the order") {
    assert(broken(commitTime.merge(_, _)) == Seq(Order))
  }

  test("the laws detect a rule that changes the ordering value of a delete") {
    val law = "a delete that results keeps its own ordering value, or its having none"
    assert(broken { (older, newer) =>
      if (newer.isDelete) new Version().set(older.row, isDelete = true, isUnconditional = false) else newer
    }.contains(law))
  }

  test("the laws detect a rule that writes into its arguments and one that returns null") {
    val law = "the result is a record with a row, and the arguments are as they were"
    assert(broken { (_, newer) => newer.endsHistory = true; newer }.contains(law))
    assert(broken((_, newer) => if (newer.isDelete) null else newer).contains(law))
  }

  test("the laws detect a rule that reads a column it does not declare") {
    def byText(layout: RowLayout): MergeRule = {
      val v = layout.schema.fieldNames.indexOf("v")
      new MergeRule {
        override def laws: Laws = Laws(associative = true, idempotent = true, orderFree = true)

        override def merge(older: Version, newer: Version): Version =
          if (v >= 0 && !older.row.isNullAt(v) && newer.row.isNullAt(v)) older else newer
      }
    }
    assert(!projection(byText, compares = false, versions)._2().passed)
  }
}
