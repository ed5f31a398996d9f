package io.merganser.spark.sql

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.{DataType, StructType}

/** A parser that leaves everything but its own statements to another one. */
trait DelegatingParser extends ParameterParser {

  override def parsePlan(text: String): LogicalPlan = own(text).getOrElse(held(inner.parsePlan(text)))

  /** Also where Hive's metastore makes Spark leave out the rule that does it. */
  private def held(plan: LogicalPlan): LogicalPlan =
    SparkSession.getActiveSession.fold(plan)(session => HeldStatements.hold(session, TimeTravelTexts(session, plan)))

  override def parseExpression(text: String): Expression                 = inner.parseExpression(text)
  override def parseTableIdentifier(text: String): TableIdentifier       = inner.parseTableIdentifier(text)
  override def parseFunctionIdentifier(text: String): FunctionIdentifier = inner.parseFunctionIdentifier(text)
  override def parseMultipartIdentifier(text: String): Seq[String]       = inner.parseMultipartIdentifier(text)
  override def parseQuery(text: String): LogicalPlan                     = inner.parseQuery(text)
  override def parseTableSchema(text: String): StructType                = inner.parseTableSchema(text)
  override def parseDataType(text: String): DataType                     = inner.parseDataType(text)
  override def parseRoutineParam(text: String): StructType               = inner.parseRoutineParam(text)
}
