package io.merganser.spark.sql

import io.merganser.spark.source.{MerganserTable, TableNames}
import io.merganser.table.timeline.AsOf
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{RelationTimeTravel, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal, Subtract}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.command.ExplainCommand
import org.apache.spark.sql.types.{IntegerType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import scala.util.Try

/**
 * `TIMESTAMP AS OF 'string'` on one of our tables: the string is parsed like the option `as.of.instant`. Spark would
 * cast it to a timestamp, which an instant is not, and in the session's zone. So are the digits of an integer, which
 * Spark would take as seconds since 1970. Other expressions and tables are left to Spark.
 */
object TimeTravelTexts {

  /** Called before names are resolved. */
  def apply(session: SparkSession, plan: LogicalPlan): LogicalPlan = plan.transformDownWithSubqueries {
    case travel @ RelationTimeTravel(relation: UnresolvedRelation, Some(Literal(text: UTF8String, StringType)), None)
        if isOurs(session, relation) =>
      travel.copy(timestamp = None, version = Some(text.toString))
    case travel @ RelationTimeTravel(relation: UnresolvedRelation, Some(number), None)
        if ofIntegers(number) && isOurs(session, relation) =>
      number match {
        case Literal(digits, _) => travel.copy(timestamp = None, version = Some(String.valueOf(digits)))
        case unquoted           => throw AsOf.invalid(relation.name, unquoted.sql, "a string in quotes: ")
      }
    case explain: ExplainCommand => explain.copy(logicalPlan = apply(session, explain.logicalPlan))
    case other                   => StatementLine.inDefinitions(other)(apply(session, _))
  }

  /** An integer, or what a date without quotes is: `2026-01-31` subtracts. */
  private def ofIntegers(expression: Expression): Boolean = expression match {
    case Literal(_, _: IntegerType | _: LongType) => true
    case minus: Subtract                          => ofIntegers(minus.left) && ofIntegers(minus.right)
    case _                                        => false
  }

  private[sql] def isOurs(session: SparkSession, relation: UnresolvedRelation): Boolean =
    Try(TableNames.named(session, relation.multipartIdentifier)).toOption.flatten.exists(_.isInstanceOf[MerganserTable])
}
