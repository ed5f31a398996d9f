package io.merganser.merge.laws

import io.merganser.merge.{KeyFold, Laws, MerganserException, NamedValue, RowLayout, Version}

import scala.annotation.nowarn

/**
 * A rule for rows of one layout.
 *
 * @param claims the laws that merges rely on
 * @param fixed  names of columns that have one value in all versions of a key, besides the record key
 * @param sums   names of the columns from which retractions are subtracted; none where rows are no retractions
 * @param clocks names of columns that order groups of columns
 * @param narrow the same rule for fewer columns: a column that is read, and the rule for it and what it needs
 */
final case class RuleOfLayout(
    layout: RowLayout,
    fold: KeyFold,
    claims: Laws,
    fixed: Set[String] = Set.empty,
    sums: Set[String] = Set.empty,
    clocks: Set[String] = Set.empty,
    narrow: Seq[(String, RuleOfLayout)] = Nil
) {

  /** Positions of the columns that have one value in all versions. */
  val fixedOrdinals: Set[Int] =
    layout.schema.indices.filter(i => fixed(layout.schema(i).name)).toSet + layout.keyOrdinal

  val shown = new ShownVersions(layout, fixedOrdinals)

  /** Merges versions, oldest first; the result has a row of its own. */
  def merged(versions: Version*): Version = versions.reduceLeft((older, newer) => fold.merge(older, newer).copy())

  def resultOf(samples: Seq[VersionSample]): Version = merged(samples.map(_.version(layout)): _*)
}

/** Two results that a law requires to be equal, and how each was made. */
final case class Violation(one: String, oneResult: String, other: String, otherResult: String)

/**
 * A statement about a rule that holds for all versions, or does not.
 *
 * @param meaning  the statement, as a clause
 * @param versions number of versions in a case
 */
sealed abstract class RuleLaw(val name: String, val meaning: String, val versions: Int) extends NamedValue {

  /** Whether merges rely on it; None if no merge does. */
  @nowarn("cat=unused-params")
  def isClaimed(claims: Laws): Option[Boolean] = None

  /** Whether the law applies to the rule. */
  @nowarn("cat=unused-params")
  def isAbout(rule: RuleOfLayout): Boolean = true

  /** Versions to try. */
  def draw(values: SampleValues): Seq[VersionSample] = Seq.fill(versions)(values.version())

  /**
   * None if the law holds for these versions, or does not apply to them.
   *
   * @throws io.merganser.merge.MerganserException MERGER_FAILED
   */
  def violation(rule: RuleOfLayout, samples: Seq[VersionSample]): Option[Violation]
}

object RuleLaw {

  val all: Seq[RuleLaw] =
    Seq(NeverNull, Associative, Idempotent, OrderFree, DeletesKeepPlace, PartialIsWhole, ProjectionSafe,
      RetractionsUndo)

  private def different(one: (String, String), other: (String, String)): Option[Violation] =
    if (one._2 == other._2) None else Some(Violation(one._1, one._2, other._1, other._2))

  case object NeverNull
      extends RuleLaw("never_null", "merging two versions gives a version and does not change them", 2) {

    override def violation(rule: RuleOfLayout, samples: Seq[VersionSample]): Option[Violation] = {
      val versions = samples.map(_.version(rule.layout))
      def texts    = versions.map(rule.shown.text(_)).mkString(", ")
      val before   = texts
      try {
        rule.merged(versions: _*)
        different("a, b before" -> before, "a, b after" -> texts)
      } catch {
        case e: MerganserException =>
          Some(Violation("a b", String.valueOf(e.parameters.getOrElse("reason", e.getMessage)), "expected",
              "a version"))
      }
    }
  }

  case object Associative extends RuleLaw("associative", "grouping does not matter", 3) {

    override def isClaimed(claims: Laws): Option[Boolean] = Some(claims.associative)

    override def violation(rule: RuleOfLayout, samples: Seq[VersionSample]): Option[Violation] = {
      // Merges do not combine such deletes of such a rule.
      val isBuffered = rule.claims.buffersDeletes && samples.exists(sample =>
        sample.kind == SampleKind.OrderedDelete ||
          (sample.kind == SampleKind.Delete && rule.claims.buffersUnconditional))
      val versions = samples.map(_.version(rule.layout))
      def left     = rule.merged(versions: _*)
      def right    = rule.merged(versions.head, rule.merged(versions.tail: _*))
      if (isBuffered) None
      else different("(a b) c" -> rule.shown.text(left), "a (b c)" -> rule.shown.text(right))
    }
  }

  case object Idempotent extends RuleLaw("idempotent", "a version that comes twice changes nothing", 2) {

    override def isClaimed(claims: Laws): Option[Boolean] = Some(claims.idempotent)

    override def violation(rule: RuleOfLayout, samples: Seq[VersionSample]): Option[Violation] =
      different("a b" -> rule.shown.text(rule.resultOf(samples)),
        "a b b" -> rule.shown.text(rule.resultOf(samples :+ samples.last)))
  }

  /** Of all permutations the first that differs. */
  private def reordered(rule: RuleOfLayout, samples: Seq[VersionSample]): Option[Violation] = {
    def ordered(order: Seq[Int]) =
      order.map(i => ('a' + i).toChar).mkString(" ") -> rule.shown.text(rule.resultOf(order.map(samples)))
    val orderings = samples.map(_.ordering(rule.layout))
    val differ    = rule.layout.ordering.isEmpty || orderings.distinct.size == samples.size
    if (!differ || samples.exists(_.kind == SampleKind.Delete)) None
    else
      samples.indices.permutations.drop(1).map(order => different(ordered(samples.indices), ordered(order)))
        .collectFirst { case Some(found) => found }
  }

  case object OrderFree
      extends RuleLaw("order_free", "the order of arrival does not matter where ordering values differ", 3) {

    override def isClaimed(claims: Laws): Option[Boolean] = Some(claims.orderFree)

    override def violation(rule: RuleOfLayout, samples: Seq[VersionSample]): Option[Violation] =
      reordered(rule, samples)
  }

  case object DeletesKeepPlace
      extends RuleLaw("deletes_keep_place", "a late-arriving row does not bring back what was deleted after it", 2) {

    override def isAbout(rule: RuleOfLayout): Boolean = rule.layout.ordering.nonEmpty

    override def draw(values: SampleValues): Seq[VersionSample] =
      Seq(values.row().copy(kind = SampleKind.OrderedDelete), values.row())

    override def violation(rule: RuleOfLayout, samples: Seq[VersionSample]): Option[Violation] =
      if (samples.map(_.kind) == Seq(SampleKind.OrderedDelete, SampleKind.Row)) reordered(rule, samples) else None
  }

  case object PartialIsWhole
      extends RuleLaw("partial_is_whole", "a row that arrives in two parts merges like one that arrives whole", 2) {

    override def draw(values: SampleValues): Seq[VersionSample] = Seq(values.row(), values.row())

    /** Both parts have the key, the partition and the ordering columns, also those of groups. */
    override def violation(rule: RuleOfLayout, samples: Seq[VersionSample]): Option[Violation] = {
      val layout = rule.layout
      val clocks = layout.schema.indices.filter(i => rule.clocks(layout.schema(i).name))
      val both   = layout.orderingOrdinals.toSet ++ rule.fixedOrdinals ++ clocks
      val single = layout.schema.indices.filterNot(both)
      val rows   = samples.map(_.version(layout))
      if (rows.exists(_.isDelete)) None
      else {
        def whole = "a b" -> rule.shown.text(rule.resultOf(samples))
        def parted(i: Int) = {
          val parts   = Seq(both + i, both ++ single.filter(_ != i)).map(samples.last.partial(layout, _))
          val results = rule.merged(samples.head.version(layout) +: parts: _*)
          s"a, column ${layout.schema(i).name} of b, the others of b" -> rule.shown.text(results)
        }
        if (single.size < 2) None
        else single.iterator.map(i => different(whole, parted(i))).collectFirst { case Some(found) => found }
      }
    }
  }

  case object ProjectionSafe
      extends RuleLaw("projection_safe", "a read of some columns gives the same values as a read of all", 2) {

    override def isAbout(rule: RuleOfLayout): Boolean = rule.narrow.nonEmpty

    override def violation(rule: RuleOfLayout, samples: Seq[VersionSample]): Option[Violation] = {
      lazy val whole = rule.resultOf(samples)
      rule.narrow.iterator.map { case (column, narrow) =>
        val found = narrow.resultOf(samples.map(_.of(rule.layout, narrow.layout)))
        different(s"$column of a b" -> rule.shown.text(whole, Seq(column)),
          s"a b of ${narrow.shown.columns.mkString(", ")}" -> narrow.shown.text(found, Seq(column)))
      }.collectFirst { case Some(found) => found }
    }
  }

  case object RetractionsUndo
      extends RuleLaw("retractions_undo", "a row and its retraction add nothing to a sum, in either order", 2) {

    override def isAbout(rule: RuleOfLayout): Boolean = rule.sums.nonEmpty

    override def draw(values: SampleValues): Seq[VersionSample] = Seq(values.row(), values.row())

    /** A sum without a value is not one of 0; the law is about those that have values. */
    override def violation(rule: RuleOfLayout, samples: Seq[VersionSample]): Option[Violation] = {
      val layout = rule.layout
      val sums =
        rule.sums.map(layout.schema.fieldIndex).filter(i => samples.forall(_.values(i) != null)).toSeq.sorted
      val names          = sums.map(layout.schema(_).name)
      def row(i: Int)    = samples(i).version(layout)
      def taken          = samples.last.retraction(layout, sums.toSet, rule.fixedOrdinals)
      def before         = rule.shown.text(row(0), names)
      def after          = rule.shown.text(rule.merged(row(0), row(1), taken), names)
      def inAnotherOrder = rule.shown.text(rule.merged(row(0), taken, row(1)), names)
      if (sums.isEmpty || samples.indices.exists(row(_).isDelete)) None
      else different("a" -> before, "a b -b" -> after).orElse(different("a" -> before, "a -b b" -> inAnotherOrder))
    }
  }
}
