package io.merganser.spark.sql

import io.merganser.merge.{MerganserException, OrderingField}
import io.merganser.table.options.StatementDeletes
import io.merganser.table.rule.StoredRule
import io.merganser.table.schema.FrameCheck
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{BooleanType, NullType, StructField, StructType}

/** A MERGE as its plans need it: target, source, ON, and clauses as functions of a stored row and a source row. */
private[sql] final class MergeStatement(session: SparkSession, relation: DataSourceV2Relation, plan: MergeIntoTable) {
  import MergeStatement._

  private val evolves = StarExpansion.isAsked(session, plan)
  val target          = CommandTarget(session, relation, "MERGE", if (evolves) Some(incoming) else None)
  private val merge = if (evolves)
    plan.copy(matchedActions = plan.matchedActions.map(whole), notMatchedActions = plan.notMatchedActions.map(whole))
  else plan
  val source = target.pinned(merge.sourceTable)
  val on     = byColumn(merge.mergeCondition)
  val onKey  = KeyCondition.of(on, target)

  val clauses: Seq[Clause] = {
    val byMatch = Seq(Matched -> merge.matchedActions, NotMatched -> merge.notMatchedActions,
      BySource -> merge.notMatchedBySourceActions)
    byMatch.flatMap { case (when, actions) => actions.map(action => Clause(when, action, text(when, action))) }
  }

  val computed           = new Computed(source.outputSet)
  private val conditions = clauses.map(_.action.condition.map(computed.instead))
  private val values = clauses.map(c =>
    Alignment.ofAction(merge, c.action, c.text, target).map { case (name, value) => name -> computed.instead(value) })

  // --- columns that the statement adds or widens ---------------------------------------------------------------------

  /** Source columns that a clause assigns to the target column of the same name. */
  private def incoming: StructType = {
    val actions = plan.matchedActions ++ plan.notMatchedActions
    val names   = session.sessionState.conf.resolver
    val assigned = actions.flatMap(Alignment.assignments).collect { case a =>
      (a.key, MergeStatement.uncast(a.value)) match {
        case (key: Attribute, value: Attribute) if names(key.name, value.name) => Some(value.exprId)
        case _                                                                 => None
      }
    }.flatten
    val columns = plan.sourceTable.output.filter(a => actions.exists(isStar) || assigned.contains(a.exprId))
    val found   = StructType(columns.map(a => StructField(a.name, a.dataType)))
    val flag    = FrameCheck.deleteFlag(found, StructType(relation.output.map(a => StructField(a.name, a.dataType))))
    StructType(found.filterNot(flag.contains))
  }

  /** Whether each column that source and table share is assigned from the source column of the same name. */
  private def isStar(action: MergeAction): Boolean = {
    val assignments = Alignment.assignments(action)
    val names       = session.sessionState.conf.resolver
    val shared      = plan.sourceTable.output.filter(s => relation.output.exists(t => names(t.name, s.name)))
    assignments.nonEmpty && assignments.size == shared.size && assignments.forall { a =>
      (a.key, MergeStatement.uncast(a.value)) match {
        case (key: Attribute, value: Attribute) =>
          names(key.name, value.name) && shared.exists(_.exprId == value.exprId)
        case _ => false
      }
    }
  }

  /** The action with assignments to the columns that the table lacks. */
  private def whole(action: MergeAction): MergeAction =
    if (!isStar(action)) action
    else {
      val assignments =
        plan.sourceTable.output.flatMap(value => target.columnAfter(value.name).map(Assignment(_, value)))
      action match {
        case update: UpdateAction => update.copy(assignments = assignments)
        case insert: InsertAction => insert.copy(assignments = assignments)
        case other                => other
      }
    }

  // --- ON ------------------------------------------------------------------------------------------------------------

  /** The condition with `(a, b) = (c, d)` and `a IN (c)` as equalities of their columns. */
  private def byColumn(condition: Expression): Expression = condition match {
    case And(left, right)    => And(byColumn(left), byColumn(right))
    case In(value, Seq(one)) => EqualTo(value, one)
    // Fields of a struct are equal where both are null.
    case EqualTo(Fields(a), Fields(b)) =>
      a.zip(b).map { case (x, y) => EqualNullSafe(x, y): Expression }.reduce(And(_, _))
    case other => other
  }

  /** Whether inserted rows have the key and partition in ON. */
  def insertsUnderKey(keyed: KeyCondition): Boolean = clauses.zip(values).forall {
    case (Clause(NotMatched, _, _), assigned) => (keyed.keys ++ keyed.paths).forall { case (name, value) =>
        KeyCondition.assignedTo(assigned, target.schema, name).exists(KeyCondition.areSameValue(_, value))
      }
    case _ => true
  }

  // --- clauses -------------------------------------------------------------------------------------------------------

  def made(change: ClauseOutput)(when: When => Expression): Seq[RowClause] = {
    val rows = clauses.zip(values).zip(deletes).map {
      case ((Clause(_, update: UpdateAction, _), assigned), _) =>
        val names = Alignment.assigned(update.assignments, target)
        target.requireAssignable(assigned.filter { case (name, _) => names(name) })
        change.update(assigned, names)
      case ((Clause(_, _: InsertAction, _), assigned), _) => change.insert(assigned)
      case (_, ordering)                                  => change.delete(ordering)
    }
    clauses.zip(conditions).zip(rows).map { case ((clause, condition), row) =>
      RowClause(clause.text, condition.foldLeft(when(clause.when))(And(_, _)), row)
    }
  }

  def assigns: Seq[(String, Set[String])] =
    clauses.collect { case Clause(_, update: UpdateAction, text) =>
      text -> Alignment.assigned(update.assignments, target)
    }

  private lazy val ordering = new SourceOrdering(target, source.output, values)

  /** The ordering values of each clause's deletes; None where they are unconditional, or the clause deletes nothing. */
  private lazy val deletes: Seq[Option[Map[OrderingField, Expression]]] = clauses.map {
    case clause @ Clause(when, _: DeleteAction, _) if target.ordersDeletes =>
      // The source has no ordering values for a row that it lacks.
      def found = if (when == BySource) Map.empty[OrderingField, Expression] else ordering.ofDelete(clause.text)
      target.settings.statement.deletes match {
        case StatementDeletes.Ordered => Some(found)
        case StatementDeletes.BySource if !target.rule.decidesDeletes =>
          Some(found).filter(values => target.orderingFields.forall(values.contains))
        case _ => None
      }
    case _ => None
  }

  /** Whether the statement has deletes with ordering values. */
  def ordersDeletes: Boolean = deletes.exists(_.isDefined)

  /**
   * The source's values for the ordering fields, where the rule chooses between whole rows by them. Empty where the
   * source has none: then the later row wins.
   */
  def sourceOrder: Option[Seq[Expression]] = target.rule match {
    case StoredRule.ByMode(_, _, None) => Some(ordering.ofChoice)
    case _                             => None
  }

  /** Whether a stored row may match once only, as SQL demands; not where all its source rows have the same effect. */
  def matchesOnce: Boolean = merge.matchedActions match {
    case Nil                     => false
    case _ if combines           => false
    case Seq(DeleteAction(None)) => target.settings.statement.deletes == StatementDeletes.Ordered
    case _                       => true
  }

  /** Whether source rows of one record key are versions of one row, which the table's rule merges. */
  def combines: Boolean = !target.settings.statement.failsOnDuplicates && onKey.isDefined

  /** @throws MerganserException CLAUSE_CONDITION_UNSUPPORTED */
  def requireSupported(): Unit = {
    require("ON", on)
    clauses.foreach(c => c.action.condition.foreach(require(c.text, _)))
  }

  /** Whether values need a plan of Spark's own: the clauses are one function of a row, and cannot compute them. */
  def needsSparkPlan: Boolean = !computed.isEmpty || computed.isNeededFor(on)

  def has(when: When): Boolean = clauses.exists(_.when == when)

  private def require(clause: String, condition: Expression): Unit = {
    def refuse(why: String) =
      throw MerganserException("CLAUSE_CONDITION_UNSUPPORTED", "clause" -> clause, "condition" -> condition.sql,
        "reason" -> why)
    if (condition.dataType != BooleanType && condition.dataType != NullType)
      refuse(s"it is of type ${condition.dataType.sql}, not BOOLEAN; compare it with something")
    if (!condition.deterministic) refuse("it is not deterministic")
    if (SubqueryExpression.hasSubquery(condition)) refuse("it contains a sub-query; move that to the source")
    if (condition.exists(_.isInstanceOf[AggregateExpression]))
      refuse("it contains an aggregate function; move that to the source")
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

private[sql] object MergeStatement {

  /** Last column of the source rows: their position in the source, by which later rows win. */
  val Arrival = "__merganser_source_arrival"

  sealed abstract class When(val text: String)
  case object Matched extends When("WHEN MATCHED")
  case object NotMatched extends When("WHEN NOT MATCHED")
  case object BySource extends When("WHEN NOT MATCHED BY SOURCE")

  final case class Clause(when: When, action: MergeAction, text: String)

  /** The field values of a struct in a comparison. */
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
