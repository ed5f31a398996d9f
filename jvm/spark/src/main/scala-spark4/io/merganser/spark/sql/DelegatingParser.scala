package io.merganser.spark.sql

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.{DataType, StructType}

/** A parser that handles its own statements and delegates all others. */
trait DelegatingParser extends ParameterParser {

  /** Defers statements, too: with Hive's metastore, Spark leaves out the rule that does so. */
  override def parsePlan(text: String): LogicalPlan = own(text).getOrElse(DeferredStatements.hold(parsed(text)))

  private def parsed(text: String): LogicalPlan = {
    val plan = ForeignStatements.refused(text)(inner.parsePlan(text))
    SparkSession.getActiveSession.fold(plan)(session => InsertMatching.hold(session, TimeTravelTexts(session, plan)))
  }

  override def parseExpression(text: String): Expression                 = inner.parseExpression(text)
  override def parseTableIdentifier(text: String): TableIdentifier       = inner.parseTableIdentifier(text)
  override def parseFunctionIdentifier(text: String): FunctionIdentifier = inner.parseFunctionIdentifier(text)
  override def parseMultipartIdentifier(text: String): Seq[String]       = inner.parseMultipartIdentifier(text)
  override def parseQuery(text: String): LogicalPlan                     = inner.parseQuery(text)
  override def parseTableSchema(text: String): StructType                = inner.parseTableSchema(text)
  override def parseDataType(text: String): DataType                     = inner.parseDataType(text)
  override def parseRoutineParam(text: String): StructType               = inner.parseRoutineParam(text)
}
