package io.merganser.spark.write.prepare

import io.merganser.merge.MerganserException
import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.functions.when
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

import scala.util.control.NonFatal

/**
 * A requirement on incoming rows. The first row that fails it stops the write; then up to ten failing rows are
 * collected for the error. Rows that pass cost nothing more.
 *
 * @param condition the error; its parameters are table, column and rows
 * @param column    the user's column, or columns, that the requirement is about
 * @param fails     true for a row to reject
 * @param row       what identifies a row in the error
 */
private[write] final case class Requirement(
    condition: String,
    table: String,
    column: String,
    fails: Column,
    row: Column
) {

  /** The value; throws the error if the row fails. */
  def guard(value: Column): Column = when(fails, refusal).otherwise(value)

  private def refusal: Column = SparkBridge.column(
    StaticInvoke(
      RefusedRows.getClass,
      StringType,
      "refuse",
      Seq(Literal(condition), Literal(table), Literal(column), SparkBridge.expression(row.cast(StringType))),
      propagateNull = false,
      // Otherwise the optimizer calls it if all its arguments are constants, even if there is no row.
      isDeterministic = false
    )
  )
}

private[write] object RefusedRows {
  val Shown = 10

  /** Whether the expression is the failure of a row that does not pass. */
  def isRefusal(expression: Expression): Boolean = expression match {
    case call: StaticInvoke => call.staticObject == RefusedRows.getClass
    case _                  => false
  }

  /** @throws MerganserException always */
  def refuse(condition: UTF8String, table: UTF8String, column: UTF8String, row: UTF8String): UTF8String =
    throw error(condition.toString, table.toString, column.toString, Seq(String.valueOf(row)))

  private def error(condition: String, table: String, column: String, rows: Seq[String]): MerganserException =
    MerganserException(condition, "table" -> table, "column" -> column, "rows" -> rows.mkString(", "))

  /** The same failure; if a requirement caused it, with up to ten of the rows that fail it. */
  def named(failure: Throwable, frame: DataFrame, requirements: Seq[Requirement]): Throwable = failure match {
    case first: MerganserException =>
      requirements.find(r => r.condition == first.condition && first.parameters.get("column").contains(r.column)).fold[
        Throwable](first) {
        r =>
          try {
            val found = frame.filter(r.fails).select(r.row.as("row")).limit(Shown).collect().map(row =>
              String.valueOf(row.get(0))).toSeq
            if (found.isEmpty) first else error(r.condition, r.table, r.column, found).causedBy(first)
          } catch { case NonFatal(_) => first } // the frame may return other rows, or none, the second time
      }
    case other => other
  }
}
