package io.merganser.spark.sql

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.{DataType, StructType}

/** A parser that handles its own statements and delegates all others. */
trait DelegatingParser extends ParserInterface {
  protected def inner: ParserInterface

  /** None if the text is not one of its own statements. */
  protected def own(text: String): Option[LogicalPlan]

  override def parsePlan(text: String): LogicalPlan = own(text).getOrElse(DeferredStatements.hold(parsed(text)))

  private def parsed(text: String): LogicalPlan = {
    val plan = PartialInserts(ForeignStatements.refused(text)(inner.parsePlan(text)))
    SparkSession.getActiveSession.fold(plan)(session => InsertMatching.hold(session, TimeTravelTexts(session, plan)))
  }

  override def parseExpression(text: String): Expression                 = inner.parseExpression(text)
  override def parseTableIdentifier(text: String): TableIdentifier       = inner.parseTableIdentifier(text)
  override def parseFunctionIdentifier(text: String): FunctionIdentifier = inner.parseFunctionIdentifier(text)
  override def parseMultipartIdentifier(text: String): Seq[String]       = inner.parseMultipartIdentifier(text)

  /** The text of a view. */
  override def parseQuery(text: String): LogicalPlan = {
    val plan = inner.parseQuery(text)
    SparkSession.getActiveSession.fold(plan)(TimeTravelTexts(_, plan))
  }
  override def parseTableSchema(text: String): StructType = inner.parseTableSchema(text)
  override def parseDataType(text: String): DataType      = inner.parseDataType(text)
}
