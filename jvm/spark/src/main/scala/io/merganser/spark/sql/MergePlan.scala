package io.merganser.spark.sql

import io.merganser.merge.{DeleteCheck, MerganserException}
import io.merganser.spark.read.ValueOrder
import io.merganser.table.config.StoredRule
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.Literal.{FalseLiteral, TrueLiteral}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{BooleanType, IntegerType, LongType, NullType, StructField, StructType}

/**
 * A MERGE as a lookup of its source's keys, where ON equates the record key; else as a join.
 *
 * Either way the clauses are one function of the stored row and the source row, and what it gives goes through the table's
 * rule in the write.
 */
private[sql] final case class MergePlan(session: SparkSession, relation: DataSourceV2Relation, given: MergeIntoTable)
    extends PredicateHelper {
  import MergePlan._

  private val evolves = EvolvingStars.isAsked(session, given)
  private val target  = StatementTarget(session, relation, "MERGE", if (evolves) Some(incoming) else None)
  private val merge = if (evolves)
    given.copy(matchedActions = given.matchedActions.map(whole), notMatchedActions = given.notMatchedActions.map(whole))
  else given
  private val source = target.pinned(merge.sourceTable)
  private val on     = byColumn(merge.mergeCondition)
  private val onKey  = KeyedOn.of(on, target)

  private val clauses: Seq[Clause] = {
    val byMatch = Seq(Matched -> merge.matchedActions, NotMatched -> merge.notMatchedActions, BySource -> merge.notMatchedBySourceActions)
    byMatch.flatMap { case (when, actions) => actions.map(action => Clause(when, action, text(when, action))) }
  }

  private val computed   = new Computed(source.outputSet)
  private val conditions = clauses.map(_.action.condition.map(computed.instead))
  private val values = clauses.map(c =>
    Alignment.ofAction(merge, c.action, c.text, target).map { case (name, value) => name -> computed.instead(value) })

  def plan: LogicalPlan = {
    require("ON", on)
    clauses.foreach(c => c.action.condition.foreach(require(c.text, _)))
    // A partition that ON names need not be the one that a row is inserted into.
    onKey.flatMap(k => Seq(k, k.copy(paths = Nil, isAll = false)).find(isKeyed)).fold(byJoin)(byKey)
  }

  // --- columns that the statement adds or widens ------------------------------------------------------------------------

  /** Columns of the source that a clause assigns to the column of their name. */
  private def incoming: StructType = {
    val actions = given.matchedActions ++ given.notMatchedActions
    val names   = session.sessionState.conf.resolver
    val assigned = actions.flatMap(Alignment.assignments).collect { case a =>
      (a.key, MergePlan.uncast(a.value)) match {
        case (key: Attribute, value: Attribute) if names(key.name, value.name) => Some(value.exprId)
        case _                                                                 => None
      }
    }.flatten
    val columns = given.sourceTable.output.filter(a => actions.exists(isStar) || assigned.contains(a.exprId))
    StructType(columns.map(a => StructField(a.name, a.dataType)).filter(f =>
        f.name != DeleteCheck.FlagColumn || relation.output.exists(_.name == f.name)))
  }

  /** A clause that assigns every column which source and table share from the source's column of that name. */
  private def isStar(action: MergeAction): Boolean = {
    val assignments = Alignment.assignments(action)
    val names       = session.sessionState.conf.resolver
    val shared      = given.sourceTable.output.filter(s => relation.output.exists(t => names(t.name, s.name)))
    assignments.nonEmpty && assignments.size == shared.size && assignments.forall { a =>
      (a.key, MergePlan.uncast(a.value)) match {
        case (key: Attribute, value: Attribute) => names(key.name, value.name) && shared.exists(_.exprId == value.exprId)
        case _                                  => false
      }
    }
  }

  /** With the columns that the table has not yet. */
  private def whole(action: MergeAction): MergeAction =
    if (!isStar(action)) action
    else {
      val assignments = given.sourceTable.output.flatMap(value => target.columnAfter(value.name).map(Assignment(_, value)))
      action match {
        case update: UpdateAction => update.copy(assignments = assignments)
        case insert: InsertAction => insert.copy(assignments = assignments)
        case other                => other
      }
    }

  // --- by key ---------------------------------------------------------------------------------------------------------

  /** Whether something has to be computed that only a plan of Spark's own can: the clauses are one function of a row. */
  private def isPlanned: Boolean = !computed.isEmpty || computed.isNeededFor(on)

  /** The condition with `(a, b) = (c, d)` and `a IN (c)` as equalities of their columns. */
  private def byColumn(condition: Expression): Expression = condition match {
    case And(left, right)    => And(byColumn(left), byColumn(right))
    case In(value, Seq(one)) => EqualTo(value, one)
    // Fields of a struct are equal where both are null.
    case EqualTo(Fields(a), Fields(b)) => a.zip(b).map { case (x, y) => EqualNullSafe(x, y): Expression }.reduce(And(_, _))
    case other                         => other
  }

  /** A row that no stored one matches goes where its key was looked up, so its key must be the one that ON names. */
  private def isKeyed(keyed: KeyedOn): Boolean = !isPlanned && !clauses.exists(_.when == BySource) && insertsThere(keyed)

  /** Whether what is inserted has the key that ON names. */
  private def insertsThere(keyed: KeyedOn): Boolean = clauses.zip(values).forall {
    case (Clause(NotMatched, _, _), given) => (keyed.keys ++ keyed.paths).forall { case (name, value) =>
        given.get(name).exists(KeyedOn.areOne(_, value))
      }
    case _ => true
  }

  private def byKey(keyed: KeyedOn): LogicalPlan = {
    val columns  = target.changed(target.marksDeletes, isTagged = true)
    val arrival  = AttributeReference(Arrival, LongType, nullable = false)()
    val slice    = AttributeReference("__merganser_slice", IntegerType, nullable = false)()
    val isStored = AttributeReference("__merganser_is_stored", BooleanType, nullable = false)()
    val change   = new RowChange(target, columns, arrival, Some((slice, isStored)))
    val matches  = And(isStored, on)
    val made = this.made(change) {
      case Matched => matches
      case _       => Not(Coalesce(Seq(matches, FalseLiteral)))
    }
    val order  = if (keyed.paths.nonEmpty || target.partitionColumns.isEmpty) sourceOrder else None
    val used   = made.conditions ++ made.rows.flatten ++ order.toSeq.flatten :+ on
    val stored = target.relation.output.filter(AttributeSet(used.flatMap(_.references)).contains)
    ChangeRowsByKey(target.describe(columns, isRead = target.isReadBy(source), assigns), clauses.map(_.text), made.conditions, made.rows,
      change.masks,
      on, keyed.keys.map(_._2), keyed.keys.map(_._1), keyed.paths.map(_._2), keyed.paths.map(_._1), arrival, order,
      Seq(slice, isStored), stored,
      Needed.of(source, used ++ (keyed.keys ++ keyed.paths).map(_._2)))
  }

  // --- by join --------------------------------------------------------------------------------------------------------

  private def byJoin: LogicalPlan = {
    val columns    = target.changed(target.marksDeletes, isTagged = false)
    val fromSource = Alias(TrueLiteral, "__merganser_from_source")()
    val number     = Alias(MonotonicallyIncreasingID(), Arrival)()
    val fromTarget = Alias(TrueLiteral, "__merganser_from_target")()
    val rowNumber  = Alias(MonotonicallyIncreasingID(), "__merganser_stored_row")()
    // Stored rows that the source lacks come before all of the source's: what it inserts under their keys stays.
    val arrival = Coalesce(Seq(number.toAttribute.withNullability(true), Literal(-1L)))
    val (inSource, inTarget) =
      (IsNotNull(fromSource.toAttribute.withNullability(true)), IsNotNull(fromTarget.toAttribute.withNullability(true)))
    val change = new RowChange(target, columns, arrival, None)
    val made = this.made(change) {
      case Matched    => And(inSource, inTarget)
      case NotMatched => Not(inTarget)
      case BySource   => Not(inSource)
    }
    val once =
      if (!matchesOnce) None else Some(If(And(inSource, inTarget), rowNumber.toAttribute.withNullability(true), Literal(null, LongType)))
    val shown           = if (once.isEmpty) Nil else (target.key +: source.output).filterNot(_.dataType.catalogString.contains("binary"))
    val (before, after) = chosen.toSeq.partition { case (keyed, _) => isChosenBefore(keyed) }
    val (place, row)    = (number.toAttribute.withNullability(true), rowNumber.toAttribute.withNullability(true))
    val together        = after.flatMap { case (keyed, _) => versions(keyed, place, row, inTarget) }
    val order           = after.flatMap { case (_, order) => inTarget +: order }
    val used            = made.conditions ++ made.rows.flatten ++ once ++ shown ++ computed.inputs ++ together ++ order :+ on
    val all             = Project(source.output ++ Seq(fromSource, number), source)
    val marked = before.headOption.fold(Needed.of(all, used)) { case (keyed, order) =>
      Needed.of(beforeJoin(keyed, order, number.toAttribute, Needed.of(all, used ++ valuesOf(keyed) ++ order :+ number.toAttribute)), used)
    }
    val stored          = Needed.of(Project(target.relation.output ++ Seq(fromTarget, rowNumber), target.rows), used)
    def has(when: When) = clauses.exists(_.when == when)
    val joinType =
      if (has(NotMatched) && has(BySource)) FullOuter
      else if (has(BySource)) LeftOuter
      else if (has(NotMatched)) RightOuter
      else Inner
    val prunes = if (has(BySource)) Nil
    else KeyedOn.equated(on, target, nullSafe = false, ValueOrder.isKnown)
    val keys = if (has(BySource)) Nil else onKey.toSeq.flatMap(_.keys)
    if (prunes.isEmpty || isPlanned) {
      val join = LatestRows.of(together, place, order, Join(stored, marked, joinType, Some(on), MatchedTwice.hint(once)))
      ChangeRows(target.describe(columns, isRead = true, assigns), clauses.map(_.text), made.conditions, made.rows, change.masks, once,
        shown,
        target.pinned(Needed.of(computed.over(join), used.filterNot(_ eq on))))
    } else
      ChangeRowsByJoin(target.describe(columns, isRead = true, assigns), clauses.map(_.text), made.conditions, made.rows, change.masks,
        once, shown, on, together, place, order,
        joinType, prunes.map(_._1), prunes.map(_._2), keys.map(_._2), keys.map(_._1), new StoredSide(stored), marked)
  }

  /**
   * By what one of several source rows for one record key counts, where ON equates the key and the rule chooses whole rows:
   * the key, and what the source has for the ordering columns.
   */
  private def chosen: Option[(KeyedOn, Seq[Expression])] =
    onKey.filter(k => combines && (k.paths.nonEmpty || target.partitionColumns.isEmpty)).flatMap(k => sourceOrder.map(k -> _))

  /**
   * Whether the source row that counts is the same whatever is stored: nothing else in ON looks at the stored row, and rows that
   * ON leaves out are not inserted.
   */
  private def isChosenBefore(keyed: KeyedOn): Boolean = {
    val own     = AttributeSet(source.output)
    val inserts = clauses.exists(_.when == NotMatched)
    keyed.isExact && insertsThere(keyed) && splitConjunctivePredicates(on).forall { c =>
      (!inserts && c.references.forall(own.contains)) || KeyedOn.equated(c, target, nullSafe = true).exists { case (name, value) =>
        (keyed.keys ++ keyed.paths).exists(k => k._1 == name && k._2.semanticEquals(value))
      }
    }
  }

  /** The source rows that count. */
  private def beforeJoin(keyed: KeyedOn, order: Seq[Expression], number: Attribute, rows: LogicalPlan): LogicalPlan = {
    // A row that ON leaves out is no version of the stored row, if another one is.
    val own = AttributeSet(rows.output)
    val ofSource = Coalesce(Seq(
        splitConjunctivePredicates(on).filter(c => c.references.nonEmpty && c.references.forall(own.contains))
          .foldLeft(TrueLiteral: Expression)(And(_, _)), FalseLiteral))
    // Rows without a key are versions of nothing.
    val apart = If(hasNoKey(keyed), number, Literal(null, LongType))
    LatestRows(valuesOf(keyed) :+ apart, number, ofSource +: order, rows)
  }

  /**
   * What is common to rows of a join whose source rows are versions of one row. Rows that the source lacks are alone, and so are
   * those that are new by other keys than ON's.
   */
  private def versions(keyed: KeyedOn, number: Attribute, storedRow: Attribute, inTarget: Expression): Seq[Expression] = {
    val isAlone = And(Not(inTarget), if (insertsThere(keyed)) hasNoKey(keyed) else TrueLiteral)
    valuesOf(keyed) :+ If(IsNull(number), Subtract(Literal(-1L), storedRow), If(isAlone, number, Literal(null, LongType)))
  }

  private def valuesOf(keyed: KeyedOn): Seq[Expression] = (keyed.keys ++ keyed.paths).map(_._2)

  private def hasNoKey(keyed: KeyedOn): Expression = valuesOf(keyed).map(k => IsNull(k): Expression).reduce(Or(_, _))

  /**
   * What the source has for the ordering columns, where the rule chooses between whole rows by them: what a clause assigns
   * to them, or the source's columns of their names. Empty where the source says nothing of them, and a later row counts.
   */
  private def sourceOrder: Option[Seq[Expression]] = target.rule match {
    case StoredRule.ByMode(_, _, None) =>
      val own = AttributeSet(source.output)
      val assigned = values.filter(given =>
        target.ordering.nonEmpty && target.ordering.forall(f =>
          given.get(f).exists(v => v.deterministic && v.references.nonEmpty && v.references.forall(own.contains))))
      Some(assigned.headOption.map(given => target.orderingOf(given)).getOrElse {
        val named = sourceOrdering
        def typed(name: String) = named.get(name).map { value =>
          val to = target.schema(name).dataType
          if (value.dataType == to) value else Cast(value, to, Some(session.sessionState.conf.sessionLocalTimeZone), EvalMode.TRY)
        }
        if (!target.ordering.forall(named.contains)) Nil
        else target.orderingOf(target.ordering.flatMap(name => typed(name).map(name -> _)).toMap)
      })
    case _ => None
  }

  /** As SQL has it, unless nothing depends on which of several source rows it is. */
  private def matchesOnce: Boolean = merge.matchedActions match {
    case Nil                     => false
    case _ if combines           => false
    case Seq(DeleteAction(None)) => target.orderedDeletes
    case _                       => true
  }

  /** Source rows of one record key are versions of one row, of which the table's rule makes one. */
  private def combines: Boolean = !target.settings.statement.failsOnDuplicates && onKey.isDefined

  // --- both -----------------------------------------------------------------------------------------------------------

  private def made(change: RowChange)(when: When => Expression): Made = {
    val rows = clauses.zip(values).map {
      case (Clause(_, update: UpdateAction, _), given) => change.update(given, Alignment.assigned(update.assignments, target))
      case (Clause(_, _: InsertAction, _), given)      => change.insert(given)
      // Of a row that the source lacks, the source says nothing.
      case (clause, _) => change.delete(if (clause.when == BySource) Map.empty else sourceOrdering)
    }
    Made(clauses.zip(conditions).map { case (c, condition) => condition.foldLeft(when(c.when))(And(_, _)) }, rows)
  }

  private def assigns: Seq[(String, Set[String])] =
    clauses.collect { case Clause(_, update: UpdateAction, text) => text -> Alignment.assigned(update.assignments, target) }

  /** Of a delete that has an ordering value: what the source has under the ordering columns' names. */
  private def sourceOrdering: Map[String, Expression] =
    target.ordering.flatMap(name => source.output.find(a => session.sessionState.conf.resolver(a.name, name)).map(name -> _)).toMap

  private def require(clause: String, condition: Expression): Unit = {
    def refuse(why: String) = throw MerganserException("CLAUSE_CONDITION_UNSUPPORTED", "clause" -> clause, "condition" -> condition.sql,
      "reason" -> why)
    if (condition.dataType != BooleanType && condition.dataType != NullType)
      refuse(s"it is of type ${condition.dataType.sql}, not BOOLEAN; compare it with something")
    if (!condition.deterministic) refuse("it is not deterministic")
    if (SubqueryExpression.hasSubquery(condition)) refuse("it has a sub-query; put it into the source")
    if (condition.exists(_.isInstanceOf[AggregateExpression])) refuse("it has an aggregate function; put it into the source")
  }

  private def text(when: When, action: MergeAction): String = {
    val does = action match {
      case u: UpdateAction => "UPDATE SET " + Alignment.assigned(u.assignments, target).toSeq.sorted.mkString(", ")
      case _: InsertAction => "INSERT"
      case _               => "DELETE"
    }
    s"${when.text}${action.condition.map(c => s" AND ${c.sql}").mkString} THEN $does"
  }
}

private[sql] object MergePlan {

  /** Last column of the source's rows: their place in it, by which later rows win. */
  val Arrival = "__merganser_source_arrival"

  sealed abstract class When(val text: String)
  case object Matched extends When("WHEN MATCHED")
  case object NotMatched extends When("WHEN NOT MATCHED")
  case object BySource extends When("WHEN NOT MATCHED BY SOURCE")

  final case class Clause(when: When, action: MergeAction, text: String)

  final case class Made(conditions: Seq[Expression], rows: Seq[Seq[Expression]])

  /** What a struct is made of where it is compared. */
  private object Fields {
    def unapply(e: Expression): Option[Seq[Expression]] = (e, e.dataType) match {
      case (made: CreateNamedStruct, _) => Some(made.valExprs)
      case (cast: Cast, to: StructType) => cast.child match {
          case made: CreateNamedStruct if made.valExprs.map(_.dataType) == to.map(_.dataType) => Some(made.valExprs)
          case _                                                                              => None
        }
      case _ => None
    }
  }

  def uncast(e: Expression): Expression = e match {
    case cast: Cast => uncast(cast.child)
    case other      => other
  }
}
