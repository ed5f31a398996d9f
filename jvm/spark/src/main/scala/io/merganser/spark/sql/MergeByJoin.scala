package io.merganser.spark.sql

import io.merganser.spark.prune.ValueOrder
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.Literal.{FalseLiteral, TrueLiteral}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.LongType

/** A MERGE as a join of the stored rows with the source. */
private[sql] final class MergeByJoin(merge: MergeStatement) extends PredicateHelper {
  import MergeStatement._
  import merge.{computed, has, on, onKey, source, target}

  def plan: LogicalPlan = {
    val columns    = target.changed(merge.ordersDeletes, isTagged = false)
    val fromSource = Alias(TrueLiteral, "__merganser_from_source")()
    val number     = Alias(MonotonicallyIncreasingID(), Arrival)()
    val fromTarget = Alias(TrueLiteral, "__merganser_from_target")()
    val rowNumber  = Alias(MonotonicallyIncreasingID(), "__merganser_stored_row")()
    // Stored rows without a source row arrive before all source rows: rows inserted under their keys win.
    val arrival = Coalesce(Seq(number.toAttribute.withNullability(true), Literal(-1L)))
    val (inSource, inTarget) =
      (IsNotNull(fromSource.toAttribute.withNullability(true)), IsNotNull(fromTarget.toAttribute.withNullability(true)))
    val change = new ClauseOutput(target, columns, arrival, None)
    val made = merge.made(change) {
      case Matched    => And(inSource, inTarget)
      case NotMatched => Not(inTarget)
      case BySource   => Not(inSource)
    }
    val once =
      if (!merge.matchesOnce) None
      else Some(If(And(inSource, inTarget), rowNumber.toAttribute.withNullability(true), Literal(null, LongType)))
    val shown =
      if (once.isEmpty) Nil else (target.key +: source.output).filterNot(_.dataType.catalogString.contains("binary"))
    val (before, after) = chosen.toSeq.partition { case (keyed, _) => isChosenBefore(keyed) }
    val (place, row)    = (number.toAttribute.withNullability(true), rowNumber.toAttribute.withNullability(true))
    val together        = after.flatMap { case (keyed, _) => versions(keyed, place, row, inTarget) }
    val order           = after.flatMap { case (_, order) => inTarget +: order }
    val used            = made.flatMap(_.children) ++ once ++ shown ++ computed.inputs ++ together ++ order :+ on
    val all             = Project(source.output ++ Seq(fromSource, number), source)
    val marked = before.headOption.fold(Needed.of(all, used)) { case (keyed, order) =>
      Needed.of(beforeJoin(keyed, order, number.toAttribute,
          Needed.of(all, used ++ valuesOf(keyed) ++ order :+ number.toAttribute)), used)
    }
    val stored = Needed.of(Project(target.relation.output ++ Seq(fromTarget, rowNumber), target.rows), used)
    val prunes = if (has(BySource)) Nil
    else KeyCondition.equated(on, target, nullSafe = false, ValueOrder.isKnown)
    val keys      = if (has(BySource)) Nil else onKey.toSeq.flatMap(_.keys)
    val described = target.describe(columns, isRead = true, merge.assigns)
    val checked   = once.map(MatchedOnce(_, shown))
    if (prunes.isEmpty || merge.needsSparkPlan) {
      val join =
        LatestRows.of(together, place, order, Join(stored, marked, joinType, Some(on), CardinalityCheck.hint(once)))
      RowLevelCommandOverQuery(described, made, change.masks, checked,
        target.pinned(Needed.of(computed.over(join), used.filterNot(_ eq on))))
    } else
      RowLevelCommandByJoin(
        described,
        made,
        change.masks,
        checked,
        on,
        arrival = place,
        SourceChoice(together, order),
        joinType,
        pruning = EqualColumns.of(prunes),
        keys = EqualColumns.of(keys),
        new StoredSide(stored),
        query = marked
      )
  }

  private def joinType: JoinType =
    if (has(NotMatched) && has(BySource)) FullOuter
    else if (has(BySource)) LeftOuter
    else if (has(NotMatched)) RightOuter
    else Inner

  /**
   * How one of several source rows for one record key is chosen, where ON equates the key and the rule chooses whole
   * rows: by the key, and by the source's values for the ordering columns.
   */
  private def chosen: Option[(KeyCondition, Seq[Expression])] =
    onKey.filter(k => merge.combines && (k.paths.nonEmpty || target.partitionColumns.isEmpty)).flatMap(k =>
      merge.sourceOrder.map(k -> _))

  /**
   * Whether the choice of the source row is independent of stored rows: ON reads nothing else of the stored row, and
   * rows that ON excludes are not inserted.
   */
  private def isChosenBefore(keyed: KeyCondition): Boolean = {
    val columns = AttributeSet(source.output)
    val inserts = has(NotMatched)
    keyed.isExact && merge.insertsUnderKey(keyed) && splitConjunctivePredicates(on).forall { c =>
      (!inserts && c.references.forall(columns.contains)) || KeyCondition.equated(c, target, nullSafe = true).exists {
        case (name, value) =>
          (keyed.keys ++ keyed.paths).exists(k => k._1 == name && k._2.semanticEquals(value))
      }
    }
  }

  /** The chosen source rows. */
  private def beforeJoin(
      keyed: KeyCondition,
      order: Seq[Expression],
      number: Attribute,
      rows: LogicalPlan
  ): LogicalPlan = {
    // A row that ON excludes loses to any row that it includes.
    val columns = AttributeSet(rows.output)
    val ofSource = Coalesce(Seq(
        splitConjunctivePredicates(on).filter(c => c.references.nonEmpty && c.references.forall(columns.contains))
          .foldLeft(TrueLiteral: Expression)(And(_, _)), FalseLiteral))
    // A row without a key is not a version of another one.
    val apart = If(hasNoKey(keyed), number, Literal(null, LongType))
    LatestRows(valuesOf(keyed) :+ apart, number, ofSource +: order, rows)
  }

  /**
   * Values shared by rows of a join whose source rows are versions of one row. Each stored row without a source row
   * stands alone, and so does each new row without a key, or with another key than ON's.
   */
  private def versions(
      keyed: KeyCondition,
      number: Attribute,
      storedRow: Attribute,
      inTarget: Expression
  ): Seq[Expression] = {
    val isAlone = And(Not(inTarget), if (merge.insertsUnderKey(keyed)) hasNoKey(keyed) else TrueLiteral)
    valuesOf(keyed) :+ If(IsNull(number), Subtract(Literal(-1L), storedRow),
      If(isAlone, number, Literal(null, LongType)))
  }

  private def valuesOf(keyed: KeyCondition): Seq[Expression] = (keyed.keys ++ keyed.paths).map(_._2)

  private def hasNoKey(keyed: KeyCondition): Expression =
    valuesOf(keyed).map(k => IsNull(k): Expression).reduce(Or(_, _))
}
