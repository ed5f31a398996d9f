package io.merganser.spark.sql

import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, MergeIntoTable}
import org.apache.spark.sql.catalyst.rules.Rule

import scala.annotation.unused

/** What statements differ in between Spark's lines. */
object StatementLine {

  def withSchemaEvolution(merge: MergeIntoTable): Boolean = merge.withSchemaEvolution

  /** The queries of a WITH: where rules run before names are resolved, these stand in the plan already. */
  def inDefinitions(plan: LogicalPlan)(@unused change: LogicalPlan => LogicalPlan): LogicalPlan = plan

  /** Puts [[DeferredStatements.hold]] before the rules that resolve names: statements come as text and from `mergeInto`. */
  def inject(extensions: SparkSessionExtensions): Unit = extensions.injectHintResolutionRule(Hold(_))

  private final case class Hold(session: SparkSession) extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = DeferredStatements.hold(TimeTravelTexts(session, plan))
  }
}
