package io.merganser.spark.write

import io.merganser.merge.MerganserException
import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types.{DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** Stops a write at the first row that lacks a value it must have; evaluated for such a row only. */
object RequiredValue {

  /** A column that is never there: evaluating it raises `condition`, naming table, column and row. */
  def raise(condition: String, table: String, column: String, row: Column, as: DataType = StringType): Column =
    SparkBridge.column(
      StaticInvoke(
        RequiredValue.getClass,
        as,
        "refuse",
        Seq(Literal(condition), Literal(table), Literal(column), SparkBridge.expression(row.cast(StringType))),
        propagateNull = false
      )
    )

  /** @throws MerganserException always */
  def refuse(condition: UTF8String, table: UTF8String, column: UTF8String, row: UTF8String): UTF8String =
    throw MerganserException(condition.toString, "table" -> table, "column" -> column, "row" -> row)
}
