package io.merganser.spark.sql

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, MergeIntoTable, UnresolvedWith}

import scala.annotation.unused

/** Differences of statements between Spark lines. */
object StatementLine {

  /** This line's grammar has no WITH SCHEMA EVOLUTION. */
  def withSchemaEvolution(@unused merge: MergeIntoTable): Boolean = false

  /** Changes the queries of a WITH, which are not among its children. */
  def inDefinitions(plan: LogicalPlan)(change: LogicalPlan => LogicalPlan): LogicalPlan = plan match {
    case within: UnresolvedWith =>
      within.copy(cteRelations = within.cteRelations.map { case (name, query) =>
        name -> query.copy(child = change(query.child))
      })
    case other => other
  }

  /**
   * On this line the parser calls [[DeferredStatements.hold]]: no rule can be injected before those that resolve names.
   */
  def inject(extensions: SparkSessionExtensions): Unit = extensions.injectResolutionRule(_ => PartialInserts.Complete)
}
