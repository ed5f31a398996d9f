package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.spark.read.SnapshotPinning
import io.merganser.spark.source.MerganserTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.command.ExplainCommand
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.DataType

/**
 * Keeps MERGE, UPDATE and DELETE on our tables unresolved until all their parts are resolved.
 *
 * Once they are resolved, Spark casts the assigned values, and on some lines rewrites the statement to a join in the
 * same step; for tables that it does not treat as row-level, it casts structs by field position, not by field name.
 *
 * Statements on tables of other formats are left to Spark and to other extensions, in whatever order extensions are
 * listed: no rule matches a statement before its target is resolved, and by then it is again as it was written.
 */
object DeferredStatements {

  /** A target that is never resolved, whatever its child: rules match a statement once its children are resolved. */
  private final case class UnknownTarget(child: LogicalPlan) extends UnaryNode {
    override lazy val resolved: Boolean = false

    override def output: Seq[Attribute] = child.output

    override protected def withNewChildInternal(newChild: LogicalPlan): UnknownTarget = copy(child = newChild)
  }

  /**
   * Hides one of our tables while its statement is deferred: rules of other extensions look for their own tables there,
   * and some of them fail on any other.
   */
  private final case class OwnTarget(child: LogicalPlan) extends UnaryNode {
    override def output: Seq[Attribute] = child.output

    override protected def withNewChildInternal(newChild: LogicalPlan): OwnTarget = copy(child = newChild)
  }

  /** A condition that is never resolved, whatever its child. */
  private final case class Deferred(child: Expression) extends UnaryExpression {
    override lazy val resolved: Boolean = false
    override def dataType: DataType     = child.dataType
    override def nullable: Boolean      = child.nullable
    override def sql: String            = child.sql
    override def toString: String       = child.toString

    override def eval(input: InternalRow): Any = throw new IllegalStateException("a deferred condition")

    override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
      throw new IllegalStateException("a deferred condition")

    override protected def withNewChildInternal(newChild: Expression): Deferred = copy(child = newChild)
  }

  /** Called before names are resolved. */
  def hold(plan: LogicalPlan): LogicalPlan = plan match {
    case merge: MergeIntoTable if isNew(merge.targetTable) => merge.copy(targetTable = UnknownTarget(merge.targetTable))
    case update: UpdateTable if isNew(update.table)        => update.copy(table = UnknownTarget(update.table))
    case delete: DeleteFromTable if isNew(delete.table)    => delete.copy(table = UnknownTarget(delete.table))
    case within: WithCTE                                   => within.copy(plan = hold(within.plan))
    case explain: ExplainCommand                           => explain.copy(logicalPlan = hold(explain.logicalPlan))
    // A statement after WITH.
    case other if other.getClass.getSimpleName == "UnresolvedWith" && other.children.size == 1 =>
      other.withNewChildren(other.children.map(hold))
    case other => other
  }

  private def isNew(target: LogicalPlan): Boolean = !target.resolved && !target.isInstanceOf[UnknownTarget]

  /** The target as the statement names it. */
  private[sql] def bare(target: LogicalPlan): LogicalPlan = target match {
    case OwnTarget(own) => own
    case other          => other
  }

  private def inside(e: Expression): Expression = e match {
    case deferred: Deferred => deferred.child
    case other              => other
  }

  /** The relation of a statement's target, if it is one of our tables. */
  private def relation(target: LogicalPlan): Option[DataSourceV2Relation] = EliminateSubqueryAliases(target) match {
    case relation: DataSourceV2Relation if relation.table.isInstanceOf[MerganserTable] => Some(relation)
    case _                                                                             => None
  }

  /** Restores a statement's target once it is resolved; on our tables the statement then waits for its other parts. */
  final case class Decide(session: SparkSession) extends Rule[LogicalPlan] {

    override def apply(plan: LogicalPlan): LogicalPlan = plan match {
      case within: WithCTE =>
        val decided = apply(within.plan)
        if (decided eq within.plan) within else within.copy(plan = decided)
      case merge: MergeIntoTable =>
        known(merge.targetTable).fold[LogicalPlan](merge) { target =>
          refuseView("MERGE INTO", target)
          val free = merge.copy(targetTable = target)
          if (relation(target).isEmpty) free
          else {
            val marked = StarExpansion.mark(session, free)
            marked.copy(targetTable = OwnTarget(target), mergeCondition = Deferred(marked.mergeCondition))
          }
        }
      case update: UpdateTable =>
        known(update.table).fold[LogicalPlan](update) { target =>
          refuseView("UPDATE", target)
          val free = update.copy(table = target)
          if (relation(target).isEmpty) free
          else free.copy(table = OwnTarget(target), condition = Some(Deferred(free.condition.getOrElse(TrueLiteral))))
        }
      case delete: DeleteFromTable =>
        known(delete.table).fold[LogicalPlan](delete) { target =>
          refuseView("DELETE FROM", target)
          if (relation(target).isEmpty) delete.copy(table = target)
          else delete.copy(table = OwnTarget(target), condition = Deferred(delete.condition))
        }
      case other => other
    }

    /** Spark's own errors tell that MERGE and UPDATE are not supported, or name a table that the statement does not. */
    private def refuseView(statement: String, target: LogicalPlan): Unit = EliminateSubqueryAliases(target) match {
      case view: View =>
        val tables = view.collect { case table: DataSourceV2Relation => table }.filter(relation(_).isDefined)
        if (tables.nonEmpty)
          throw MerganserException("VIEW_AS_TARGET", "statement" -> statement,
            "view" -> view.desc.identifier.unquotedString, "tables" -> tables.map(nameOf).distinct.mkString(", "))
      case _ =>
    }

    private def nameOf(table: DataSourceV2Relation): String =
      CatalogName.of(table).getOrElse(s"merganser.`${table.table.asInstanceOf[MerganserTable].path}`")

    private def known(target: LogicalPlan): Option[LogicalPlan] = target match {
      case UnknownTarget(found) if found.resolved => Some(found)
      case _                                      => None
    }
  }

  /**
   * Turns statements on our tables into our commands, also those that were not deferred: with Hive's metastore, Spark 4
   * leaves out the rules that defer, so a `mergeInto` of a frame is not deferred there.
   */
  final case class Release(session: SparkSession) extends Rule[LogicalPlan] {

    override def apply(plan: LogicalPlan): LogicalPlan = plan match {
      // CTE definitions become part of the statement's query: the command runs outside the plan around it.
      case within: WithCTE =>
        apply(within.plan) match {
          case ours: RowLevelCommand       => over(within, ours)
          case same if same eq within.plan => within
          case other                       => within.copy(plan = other)
        }
      case merge: MergeIntoTable if merge.targetTable.resolved =>
        val free = merge.copy(targetTable = bare(merge.targetTable), mergeCondition = inside(merge.mergeCondition))
        relation(free.targetTable) match {
          case Some(target) if free.resolved && free.duplicateResolved => MergePlan.of(session, target, free)
          case _                                                       => plan
        }
      case update: UpdateTable if update.table.resolved =>
        val free =
          update.copy(table = bare(update.table), condition = update.condition.map(inside).filter(_ != TrueLiteral))
        relation(free.table) match {
          case Some(target) if free.resolved => UpdateDeletePlan(session).update(target, free)
          case _                             => plan
        }
      case delete: DeleteFromTable if delete.table.resolved =>
        val free = delete.copy(table = bare(delete.table), condition = inside(delete.condition))
        relation(free.table) match {
          case Some(target) if free.resolved => UpdateDeletePlan(session).delete(target, free.condition)
          case _                             => plan
        }
      case other => other
    }

    private def over(within: WithCTE, statement: RowLevelCommand): LogicalPlan = {
      val opened = statement.target.table.opened
      val query  = SnapshotPinning.pinnedTo(opened, within.copy(plan = statement.query))
      statement match {
        case keyed: RowLevelCommandByKey if within.cteDefs.exists(SnapshotPinning.isRead(opened, _)) =>
          keyed.copy(query = query, target = keyed.target.copy(readsItself = true))
        case other => other.withNewChildren(Seq(query))
      }
    }
  }
}
