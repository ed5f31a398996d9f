package io.merganser.spark.sql

import io.merganser.spark.source.MerganserTable
import io.merganser.spark.write.FrameWrite
import io.merganser.table.config.WriteConfig
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{DataType, NullType}

/**
 * `UPDATE SET *` and `INSERT *` of a MERGE that may change the table's columns: the star stands for the source's columns, also
 * where there are fewer or other ones than the table's. Spark would look for each column of the table in the source.
 */
object EvolvingStars {

  /** Stands for all columns of the source that the table has, in an assignment to itself. */
  private final case class SourceColumns() extends LeafExpression with Unevaluable {
    override def nullable: Boolean      = true
    override def dataType: DataType     = NullType
    override lazy val resolved: Boolean = false
  }

  private def marked: Seq[Assignment] = Seq(Assignment(SourceColumns(), SourceColumns()))

  /** Whether a MERGE may change its target's columns. */
  def isAsked(session: SparkSession, merge: MergeIntoTable): Boolean =
    StatementLine.withSchemaEvolution(merge) || WriteConfig.asksForEvolution(FrameWrite.sessionConf(session))

  /** To be called before names are resolved. */
  def mark(session: SparkSession, merge: MergeIntoTable): MergeIntoTable =
    if (!isAsked(session, merge)) merge
    else merge.copy(
      matchedActions =
        merge.matchedActions.map { case star: UpdateStarAction => UpdateAction(star.condition, marked); case other => other },
      notMatchedActions = merge.notMatchedActions.map {
        case star: InsertStarAction => InsertAction(star.condition, marked)
        case other                  => other
      }
    )

  /** Says what the stars stand for, once both tables are known; other formats get theirs back. */
  final case class Expand(session: SparkSession) extends Rule[LogicalPlan] {

    override def apply(plan: LogicalPlan): LogicalPlan = plan match {
      case within: WithCTE => within.copy(plan = apply(within.plan))
      case merge: MergeIntoTable if merge.targetTable.resolved && merge.sourceTable.resolved && actions(merge).exists(isMarked) =>
        merge.copy(matchedActions = merge.matchedActions.map(expanded(merge)),
          notMatchedActions = merge.notMatchedActions.map(expanded(merge)))
      case other => other
    }

    private def actions(merge: MergeIntoTable) = merge.matchedActions ++ merge.notMatchedActions

    private def isMarked(action: MergeAction): Boolean = action match {
      case update: UpdateAction => update.assignments.exists(_.key.isInstanceOf[SourceColumns])
      case insert: InsertAction => insert.assignments.exists(_.key.isInstanceOf[SourceColumns])
      case _                    => false
    }

    private def expanded(merge: MergeIntoTable)(action: MergeAction): MergeAction =
      if (!isMarked(action)) action
      else if (!isOurs(merge.targetTable)) action match {
        case update: UpdateAction => UpdateStarAction(update.condition)
        case other                => InsertStarAction(other.condition)
      }
      else {
        val names = session.sessionState.conf.resolver
        val assignments =
          merge.sourceTable.output.flatMap(value => merge.targetTable.output.find(t => names(t.name, value.name)).map(Assignment(_, value)))
        action match {
          case update: UpdateAction => update.copy(assignments = assignments)
          case insert: InsertAction => insert.copy(assignments = assignments)
          case other                => other
        }
      }

    private def isOurs(target: LogicalPlan): Boolean = EliminateSubqueryAliases(target) match {
      case relation: DataSourceV2Relation => relation.table.isInstanceOf[MerganserTable]
      case _                              => false
    }
  }
}
