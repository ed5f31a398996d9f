package io.merganser.spark.capture

import io.merganser.table.options.Names
import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.expressions.{Cast, EvalMode, JsonToStructs}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types._

/** Expressions that the functions of Spark do not have on all lines, or not by such a name. */
private[capture] object Expressions {

  /** Null where the value has none of the type. */
  def tryCast(value: Column, dataType: DataType): Column =
    SparkBridge.column(Cast(SparkBridge.expression(value), dataType, evalMode = EvalMode.TRY))

  /** `from_json`, which takes its schema as text on Spark 4, where names that are reserved words are no names. */
  def fromJson(text: Column, schema: StructType, options: Map[String, String] = Map.empty): Column =
    SparkBridge.column(JsonToStructs(schema, options, SparkBridge.expression(text)))

  /** `result` of a value that is computed once. */
  def let(value: Column)(result: Column => Column): Column = transform(array(value), result).getItem(0)

  def nothing(dataType: DataType): Column = lit(null).cast(dataType)

  /** A column by its exact name, or a field inside structs by the parts of a path such as `source.lsn`. */
  def named(column: String): Column = col(Names.quoted(column))
  def at(path: String): Column      = path.split('.').tail.foldLeft(named(path.split('.').head))(_.getField(_))

  def holds(condition: Column): Column = coalesce(condition, lit(false))

  def anyOf(conditions: Seq[Column]): Column = conditions.reduceOption(_ || _).getOrElse(lit(false))

  def record(fields: Seq[(String, Column)]): Column =
    struct(fields.map { case (name, value) => value.as(name) }: _*)

  /** The non-null ones of some values as an array; null if there is none. */
  def present(values: Seq[Column], otherwise: DataType): Column =
    if (values.isEmpty) nothing(ArrayType(otherwise))
    else {
      val found = array_compact(array(values: _*))
      when(size(found) > 0, found)
    }

  /** The name by which a schema has a column: exactly, or else in any case. */
  def spelled(names: Seq[String], column: String): Option[String] =
    names.find(_ == column).orElse(names.find(_.equalsIgnoreCase(column)))

  def field(schema: StructType, column: String): Option[StructField] =
    spelled(schema.fieldNames.toSeq, column).map(schema(_))

  /** The part of a field's path that is a column. */
  def top(path: String): String = path.takeWhile(_ != '.')
}
