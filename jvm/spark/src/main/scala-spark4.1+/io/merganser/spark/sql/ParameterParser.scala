package io.merganser.spark.sql

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.parser.{ParameterContext, ParameterHandler, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Parses statements with parameters. */
trait ParameterParser extends ParserInterface {
  protected def inner: ParserInterface

  /** None if the text is not one of its own statements. */
  protected def own(text: String): Option[LogicalPlan]

  override def parsePlanWithParameters(text: String, parameters: ParameterContext): LogicalPlan =
    if (own(text).isEmpty) {
      val plan = ForeignStatements.refused(text)(inner.parsePlanWithParameters(text, parameters))
      // With Hive's metastore, Spark leaves out the rule that does so.
      SparkSession.getActiveSession.fold(plan)(InsertMatching.hold(_, plan))
    } else own(ParameterHandler.substituteParameters(text, parameters)._1).get
}
