package io.merganser.merge.laws

import io.merganser.merge.MerganserException
import org.apache.spark.sql.catalyst.InternalRow

import scala.annotation.tailrec
import scala.util.Random

/**
 * Whether a law holds.
 *
 * @param holds          None if the law does not apply to the rule
 * @param isClaimed      whether merges rely on it; None if no merge does
 * @param cases          how many were tried
 * @param counterexample versions for which it does not hold, and their results, on several lines
 */
final case class LawResult(
    law: RuleLaw,
    holds: Option[Boolean],
    isClaimed: Option[Boolean],
    cases: Int,
    counterexample: Option[String]
) {

  /** One line, followed by those of the counterexample. */
  override def toString: String = {
    val verdict = holds.fold("is not about this rule")(if (_) "holds" else "does not hold")
    (s"${law.name} $verdict: ${law.meaning}" +: counterexample.toSeq.flatMap(_.split('\n').map("  " + _))).mkString(
      "\n")
  }
}

/** Checks a rule's laws on random versions: a law that holds for all is not proven, one that does not is refuted. */
object RuleCheck {

  /** Cases of each law by default. */
  val DefaultCases = 1000

  /**
   * @param own     rows of the layout's columns, such as a table's, whose values half of the versions have
   * @param markers strings that the rule treats in another way than others
   * @param seed    of the random cases: the same seed tries the same cases
   * @param laws    those to check
   */
  def apply(
      rule: RuleOfLayout,
      own: Seq[InternalRow] = Nil,
      markers: Seq[String] = Nil,
      cases: Int = DefaultCases,
      seed: Long = 0,
      laws: Seq[RuleLaw] = RuleLaw.all
  ): Seq[LawResult] =
    laws.map { law =>
      val claimed = law.isClaimed(rule.claims)
      if (!law.isAbout(rule)) LawResult(law, None, claimed, 0, None)
      else {
        val values = new SampleValues(rule.layout, rule.fixedOrdinals, own.toIndexedSeq, markers,
          new Random(seed * 31 + law.name.hashCode))
        val found = Iterator.range(1, cases + 1).map(n => (n, law.draw(values))).collectFirst {
          case (n, samples) if violation(law, rule, samples).isDefined => (n, shrunk(law, rule, samples))
        }
        LawResult(law, Some(found.isEmpty), claimed, found.fold(cases)(_._1),
          found.map { case (_, samples) => shown(rule, samples, violation(law, rule, samples).get) })
      }
    }

  /** A failure of the merger violates [[RuleLaw.NeverNull]]; one with partial versions only violates their law. */
  private def violation(law: RuleLaw, rule: RuleOfLayout, samples: Seq[VersionSample]): Option[Violation] =
    try law.violation(rule, samples)
    catch {
      case e: MerganserException =>
        if (law == RuleLaw.PartialIsWhole && RuleLaw.NeverNull.violation(rule, samples).isEmpty)
          Some(Violation("a, parts of b", String.valueOf(e.parameters.getOrElse("reason", e.getMessage)), "expected",
              "a version"))
        else None
    }

  /** The versions with as many nulls and as simple values as possible that still break the law. */
  @tailrec private def shrunk(law: RuleLaw, rule: RuleOfLayout, samples: Seq[VersionSample]): Seq[VersionSample] =
    simpler(rule, samples).find(violation(law, rule, _).isDefined) match {
      case Some(found) => shrunk(law, rule, found)
      case None        => samples
    }

  /** The same versions with one of them simpler. */
  private def simpler(rule: RuleOfLayout, samples: Seq[VersionSample]): Iterator[Seq[VersionSample]] =
    for {
      i    <- samples.indices.iterator
      less <- simplerKind(samples(i)) ++ simplerValues(rule, samples(i))
    } yield samples.updated(i, less)

  private def simplerKind(sample: VersionSample): Iterator[VersionSample] = sample.kind match {
    case SampleKind.Row           => Iterator.empty
    case SampleKind.OrderedDelete => Iterator(sample.copy(kind = SampleKind.Row))
    case SampleKind.Delete => Iterator(SampleKind.Row, SampleKind.OrderedDelete).map(kind => sample.copy(kind = kind))
  }

  /** A missing ordering value is less simple than any, another missing value is the simplest. */
  private def simplerValues(rule: RuleOfLayout, sample: VersionSample): Iterator[VersionSample] =
    for {
      j <- sample.values.indices.iterator if !rule.fixedOrdinals(j)
      known      = SampleValues.simple(rule.layout.schema(j).dataType)
      before     = known.indexOf(sample.values(j))
      simpler    = known.take(if (before < 0) known.size else before)
      isOrdering = rule.layout.orderingOrdinals.contains(j)
      value <- if (isOrdering) simpler else if (sample.values(j) == null) Nil else null +: simpler
    } yield sample.copy(values = sample.values.updated(j, value))

  private def shown(rule: RuleOfLayout, samples: Seq[VersionSample], found: Violation): String = {
    val columns = rule.shown.used(samples)
    val names   = samples.indices.map(i => ('a' + i).toChar.toString)
    val lines = names.zip(samples.map(rule.shown.text(_, columns))) ++
      Seq(found.one -> found.oneResult, found.other -> found.otherResult)
    val width = lines.map(_._1.length).max
    lines.map { case (what, text) => s"${what.padTo(width, ' ')}  $text" }.mkString("\n")
  }
}
