package io.merganser.spark.sql

import io.merganser.spark.source.{MerganserTable, SelfReads}
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
 * Keeps MERGE and UPDATE unresolved until we have seen them, with everything in them resolved.
 *
 * Once they are resolved Spark casts what they assign, and on some lines makes a join of them at the same moment; for tables
 * that it does not take for row-level ones it casts structs by the places of their fields, and not by their names.
 */
object HeldStatements {

  /** A condition that is not resolved, whatever is inside. */
  private final case class Held(child: Expression) extends UnaryExpression {
    override lazy val resolved: Boolean = false
    override def dataType: DataType     = child.dataType
    override def nullable: Boolean      = child.nullable
    override def sql: String            = child.sql

    override def eval(input: InternalRow): Any = throw new IllegalStateException("a condition that is held")

    override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
      throw new IllegalStateException("a condition that is held")

    override protected def withNewChildInternal(newChild: Expression): Held = copy(child = newChild)
  }

  /** To be called before names are resolved. */
  def hold(session: SparkSession, plan: LogicalPlan): LogicalPlan = plan match {
    case merge: MergeIntoTable if !isHeld(merge.mergeCondition) =>
      val starred = EvolvingStars.mark(session, merge)
      starred.copy(mergeCondition = Held(starred.mergeCondition))
    case update: UpdateTable if !update.condition.exists(isHeld) =>
      update.copy(condition = Some(Held(update.condition.getOrElse(TrueLiteral))))
    case within: WithCTE         => within.copy(plan = hold(session, within.plan))
    case explain: ExplainCommand => explain.copy(logicalPlan = hold(session, explain.logicalPlan))
    // A statement after WITH.
    case other if other.getClass.getSimpleName == "UnresolvedWith" && other.children.size == 1 =>
      other.withNewChildren(other.children.map(hold(session, _)))
    case other => other
  }

  private def isHeld(e: Expression): Boolean = e.isInstanceOf[Held]

  private def inside(e: Expression): Expression = e match {
    case held: Held => held.child
    case other      => other
  }

  /**
   * Makes commands of ours of statements on our tables, and hands others back to Spark. One that nobody held is taken as it
   * is: Spark 4 leaves out the rules that hold where it has Hive's metastore, so a `mergeInto` of a frame is not held there.
   */
  final case class Release(session: SparkSession) extends Rule[LogicalPlan] {

    override def apply(plan: LogicalPlan): LogicalPlan = plan match {
      // What is defined before the statement goes with its query: the statement itself is run apart from the plan around it.
      case within: WithCTE =>
        apply(within.plan) match {
          case ours: ChangeStatement       => over(within, ours)
          case same if same eq within.plan => within
          case other                       => within.copy(plan = other)
        }
      case merge: MergeIntoTable if merge.targetTable.resolved =>
        val free = merge.copy(mergeCondition = inside(merge.mergeCondition))
        relation(merge.targetTable) match {
          case None                                                    => free
          case Some(target) if free.resolved && free.duplicateResolved => MergePlan(session, target, free).plan
          case _                                                       => plan
        }
      case update: UpdateTable if update.table.resolved =>
        val free = update.copy(condition = update.condition.map(inside).filter(_ != TrueLiteral))
        relation(update.table) match {
          case None                          => free
          case Some(target) if free.resolved => SimpleChanges(session).update(target, free)
          case _                             => plan
        }
      case delete: DeleteFromTable if delete.resolved =>
        relation(delete.table).fold(plan)(SimpleChanges(session).delete(_, delete.condition))
      case other => other
    }

    private def over(within: WithCTE, statement: ChangeStatement): LogicalPlan = {
      val opened = statement.target.table.opened
      val query  = SelfReads.pinnedTo(opened, within.copy(plan = statement.query))
      statement match {
        case keyed: ChangeRowsByKey if within.cteDefs.exists(SelfReads.isRead(opened, _)) =>
          keyed.copy(query = query, target = keyed.target.copy(readsItself = true))
        case other => other.withNewChildren(Seq(query))
      }
    }

    /** The relation of ours that a statement names as its target. */
    private def relation(target: LogicalPlan): Option[DataSourceV2Relation] = EliminateSubqueryAliases(target) match {
      case relation: DataSourceV2Relation if relation.table.isInstanceOf[MerganserTable] => Some(relation)
      case _                                                                             => None
    }
  }
}
