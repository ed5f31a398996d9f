package io.merganser.spark.sql

import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, MergeIntoTable}
import org.apache.spark.sql.catalyst.rules.Rule

/** What statements differ in between Spark's lines. */
object StatementLine {

  def withSchemaEvolution(merge: MergeIntoTable): Boolean = merge.withSchemaEvolution

  /** Puts [[EvolvingStars.mark]] before the rules that resolve names: statements come as text and from `mergeInto`. */
  def injectStars(extensions: SparkSessionExtensions): Unit = extensions.injectHintResolutionRule(Stars(_))

  private final case class Stars(session: SparkSession) extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = EvolvingStars.mark(session, plan)
  }
}
