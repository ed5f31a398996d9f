package io.merganser.spark.sql

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{NamedParameter, PosParameter}
import org.apache.spark.sql.catalyst.parser.{
  NamedParameterContext,
  ParameterContext,
  ParameterHandler,
  ParserInterface,
  PositionalParameterContext
}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Parses statements with parameters. */
trait ParameterParser extends ParserInterface {
  protected def inner: ParserInterface

  /** None if the text is not one of its own statements. */
  protected def own(text: String): Option[LogicalPlan]

  /**
   * A call has its parameters as expressions. Spark writes them into the text, where variables are then substituted and
   * escapes are read by the settings of the session.
   */
  override def parsePlanWithParameters(text: String, parameters: ParameterContext): LogicalPlan =
    (own(text), parameters) match {
      case (Some(call: procedures.CallCommand), NamedParameterContext(values)) => call.transformExpressions {
          case NamedParameter(name) if values.contains(name) => values(name)
        }
      case (Some(call: procedures.CallCommand), PositionalParameterContext(values)) =>
        val places = call.expressions.flatMap(_.collect { case PosParameter(place) => place }).sorted.zip(values).toMap
        call.transformExpressions { case PosParameter(place) if places.contains(place) => places(place) }
      case (Some(_), _) => own(ParameterHandler.substituteParameters(text, parameters)._1).get
      case (None, _) =>
        val plan = ForeignStatements.refused(text)(inner.parsePlanWithParameters(text, parameters))
        // With Hive's metastore, Spark leaves out the rule that does so.
        SparkSession.getActiveSession.fold(plan)(InsertMatching.hold(_, plan))
    }
}
