package io.merganser.spark.sql.procedures

import org.apache.spark.sql.{Column, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Cast, Expression, Literal}
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types.{BinaryType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * A statement of a program: the text has a word in the place of each column and of names that text cannot have. They
 * become part of its plan, so that the parser and its settings (variables, escapes, quotes) never apply to them.
 *
 * @param columns by the word that the text has in its place
 * @param names   of tables and columns, as SQL, by the word that the text has in its place
 */
final case class BoundStatement(
    text: String,
    columns: Map[String, Expression] = Map.empty,
    names: Map[String, String] = Map.empty
) {
  private lazy val parts = names.map { case (word, name) => word -> CatalystSqlParser.parseMultipartIdentifier(name) }

  /** The statement as parsed; nothing is resolved. */
  def plan(session: SparkSession): LogicalPlan = {
    val parsed = session.sessionState.sqlParser.parsePlan(text)
    if (columns.isEmpty && names.isEmpty) parsed
    else
      parsed.transform {
        case relation: UnresolvedRelation => relation.copy(multipartIdentifier = named(relation.multipartIdentifier))
      }.transformAllExpressions {
        case UnresolvedAttribute(Seq(word)) if columns.contains(word) => columns(word)
        case UnresolvedAttribute(path) if path.exists(parts.contains) => UnresolvedAttribute(named(path))
      }
  }

  /** Runs the statement; its result is that of `SparkSession.sql`. */
  def run(session: SparkSession): DataFrame =
    if (columns.isEmpty && names.isEmpty) session.sql(text) else SparkBridge.ofRows(session, plan(session))

  private def named(path: Seq[String]): Seq[String] = path.flatMap(word => parts.getOrElse(word, Seq(word)))
}

object BoundStatement {

  /** The expression of a column, whose columns are resolved in the statement by their names. */
  def expression(column: Column): Expression = SparkBridge.expression(column).transformUp {
    case alias: Alias                       => alias.child
    case found: Attribute if found.resolved => UnresolvedAttribute(found.qualifier :+ found.name)
  }

  /** The text of an expression, whose strings no setting of the parser changes. */
  def text(expression: Expression): String = expression.transform {
    case Literal(value: UTF8String, _: StringType) if value.toString.exists(isSpecial) =>
      Cast(Literal(value.getBytes, BinaryType), StringType)
  }.sql

  /** Whether a character may have another meaning in a literal, or begin a variable. */
  private def isSpecial(c: Char): Boolean = c == '\'' || c == '\\' || c == '$' || c < ' '
}
