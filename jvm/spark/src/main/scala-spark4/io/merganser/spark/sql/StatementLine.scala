package io.merganser.spark.sql

import io.merganser.spark.source.DefersStatements
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, MergeIntoTable}
import org.apache.spark.sql.catalyst.rules.Rule

import scala.annotation.unused

/** Differences of statements between Spark lines. */
object StatementLine {

  def withSchemaEvolution(merge: MergeIntoTable): Boolean = merge.withSchemaEvolution

  /** No change: on this line, rules that run before names are resolved see the queries of a WITH in the plan. */
  def inDefinitions(plan: LogicalPlan)(@unused change: LogicalPlan => LogicalPlan): LogicalPlan = plan

  /**
   * Runs [[DeferredStatements.hold]] and [[InsertMatching.hold]] before names are resolved: statements come from SQL
   * and from `mergeInto`.
   */
  def inject(extensions: SparkSessionExtensions): Unit = extensions.injectHintResolutionRule(Hold(_))

  private final case class Hold(session: SparkSession) extends Rule[LogicalPlan] with DefersStatements {
    override def apply(plan: LogicalPlan): LogicalPlan =
      DeferredStatements.hold(InsertMatching.hold(session, TimeTravelTexts(session, plan)))
  }
}
