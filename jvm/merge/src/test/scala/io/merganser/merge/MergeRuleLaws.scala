package io.merganser.merge

import org.scalacheck.Prop.{forAllNoShrink, propBoolean}
import org.scalacheck.rng.Seed
import org.scalacheck.util.Pretty
import org.scalacheck.{Gen, Prop, Test}
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

/** The laws of a merge rule, written once; each is tried on random versions of one key. */
object MergeRuleLaws {

  /**
   * The laws the rule claims, and those that every rule keeps, by name.
   *
   * @param versions versions of the kind the claims are made for
   * @param ordered  the same, each with an ordering value and none after a delete without one
   */
  def of(rule: MergeRule, versions: Gen[Version], ordered: Gen[Version]): Seq[(String, () => Test.Result)] = {
    def law(name: String)(prop: Prop) = name -> (() => Test.check(parameters, prop))

    val claims = Seq(
      rule.laws.associative -> law("grouping does not matter")(forAllNoShrink(versions, versions, versions, versions) { (a, b, c, d) =>
        same(rule.merge(rule.merge(a, b), c), rule.merge(a, rule.merge(b, c))) &&
        same(rule.merge(rule.merge(rule.merge(a, b), c), d), rule.merge(rule.merge(a, b), rule.merge(c, d)))
      }),
      rule.laws.idempotent -> law("a version that comes twice changes nothing")(forAllNoShrink(versions, versions) { (a, b) =>
        same(rule.merge(b, b), b) && same(rule.merge(rule.merge(a, b), b), rule.merge(a, b))
      }),
      rule.laws.orderFree -> law("the order of versions with different ordering values does not matter")(
        forAllNoShrink(ordered, ordered, ordered) { (a, b, c) =>
          val different = Seq(a, b, c).groupBy(Notation.read(_).ts).values.map(_.head).toSeq
          val results   = different.permutations.map(_.reduceLeft(rule.merge(_, _))).toSeq
          Prop.all(results.map(same(_, results.head)): _*)
        }
      )
    )
    claims.collect { case (true, claimed) => claimed } ++ Seq(
      law("the result is a record with a row, and the arguments are as they were")(forAllNoShrink(versions, versions) { (a, b) =>
        val before = (meaning(a), meaning(b))
        val result = rule.merge(a, b)
        ((result != null && result.row != null) :| "no record") && (((meaning(a), meaning(b)) == before) :| "an argument was changed")
      }),
      law("a delete that results keeps its own ordering value, or its having none")(forAllNoShrink(versions, versions) { (a, b) =>
        val result = Notation.read(rule.merge(a, b))
        (!result.isDelete || Seq(a, b).map(Notation.read(_)).contains(result)) :| s"$result"
      })
    )
  }

  /** Versions as they come, and some that an unordered delete was merged into. */
  val versions: Gen[Version] = Gen.long.map { seed =>
    val random = new Random(seed)
    val record = Notation.record(new Histories(partials = false).change(random, keys = 1))
    if (random.nextInt(5) == 0) record.withoutHistory else record
  }

  val orderedVersions: Gen[Version] = versions.suchThat(version => !version.isUnordered && !version.endsHistory)

  private val parameters = Test.Parameters.default.withMinSuccessfulTests(1000).withInitialSeed(Seed(Histories.seed))

  /** What two records must share to be the same to every caller. */
  private def meaning(record: Version): String =
    s"${Notation.read(record)}${if (record.endsHistory || record.isUnordered) " and nothing before it" else ""}"

  private def same(a: Version, b: Version): Prop = (meaning(a) == meaning(b)) :| s"${meaning(a)} is not ${meaning(b)}"

  private implicit val pretty: Version => Pretty = record => Pretty(_ => meaning(record))
}

class MergeRuleLawsSuite extends AnyFunSuite {
  private val commitTime = new CommitTimeRule
  private val eventTime  = new EventTimeRule(new OrderingComparator(Notation.layout))
  private val partial    = new PartialRule(eventTime, Notation.layout)

  for {
    (name, rule)  <- Seq("commit time" -> commitTime, "event time" -> eventTime, "full versions under a partial rule" -> partial)
    (law, result) <- MergeRuleLaws.of(rule, MergeRuleLaws.versions, MergeRuleLaws.orderedVersions)
  } test(s"$name: $law") {
    val outcome = result()
    assert(outcome.passed, s"(seed ${Histories.seed}) ${Pretty.pretty(outcome, Pretty.Params(1))}")
  }

  private def merged(rule: MergeRule, words: String): String =
    Notation.read(Notation.changes(words).map(Notation.record).reduceLeft(rule.merge(_, _))).toString

  test("commit time depends on the order, and says so") {
    assert(!commitTime.laws.orderFree)
    assert(merged(commitTime, "k1@1=a k1@2=b") != merged(commitTime, "k1@2=b k1@1=a"))
  }

  test("event time depends on the order where versions tie, or a delete has no ordering value") {
    assert(merged(eventTime, "k1@1=a k1@1=b") != merged(eventTime, "k1@1=b k1@1=a"))
    assert(merged(eventTime, "k1@1=a k1-") != merged(eventTime, "k1- k1@1=a"))
  }

  /** The laws that a rule claims wrongly, or breaks. */
  private def broken(rule: (Version, Version) => Version): Seq[String] = {
    val judged = new MergeRule {
      override def laws: Laws = Laws(associative = true, idempotent = true, orderFree = true)

      override def merge(older: Version, newer: Version): Version = rule(older, newer)
    }
    MergeRuleLaws.of(judged, MergeRuleLaws.versions, MergeRuleLaws.orderedVersions).collect {
      case (law, result) if !result().passed => law
    }
  }

  test("the laws find a rule that forgets that a delete ended history") {
    assert(broken((older, newer) => if (older.isUnordered) newer else eventTime.merge(older, newer)).contains("grouping does not matter"))
  }

  test("the laws find a rule whose result depends on the order") {
    assert(broken(commitTime.merge(_, _)) == Seq("the order of versions with different ordering values does not matter"))
  }

  test("the laws find a rule that gives a delete another ordering value") {
    val law = "a delete that results keeps its own ordering value, or its having none"
    assert(broken { (older, newer) =>
      if (newer.isDelete) new Version().set(older.row, isDelete = true, isUnordered = false) else newer
    }.contains(law))
  }

  test("the laws find a rule that writes into its arguments, and one that gives nothing") {
    val law = "the result is a record with a row, and the arguments are as they were"
    assert(broken { (_, newer) => newer.endsHistory = true; newer }.contains(law))
    assert(broken((_, newer) => if (newer.isDelete) null else newer).contains(law))
  }
}
