package io.merganser.spark.sql.procedures

import org.apache.spark.sql.Row
import org.apache.spark.sql.types._

import java.lang.{Boolean => JBoolean, Long => JLong}
import java.sql.Timestamp

/** Nullable columns of a result, whose rows are made of values of T: one list gives both the schema and the rows. */
final class ResultColumns[T] private (val schema: StructType, private val values: T => Seq[Any]) {

  def names: Seq[String] = schema.fieldNames.toSeq

  def row(of: T): Row = Row.fromSeq(values(of))

  /** The same columns where the value is a part of another one; the part is taken once for each row. */
  def of[U](part: U => T): ResultColumns[U] = new ResultColumns(schema, part.andThen(values))

  /** The same columns, null where there is no value. */
  def optional: ResultColumns[Option[T]] = {
    val none = Seq.fill[Any](schema.size)(null)
    new ResultColumns(schema, _.fold(none)(values))
  }

  /** These columns for one kind of rows, then others for another kind; null in those of the other kind. */
  def or[U](others: ResultColumns[U]): ResultColumns[Either[T, U]] =
    ResultColumns(optional.of(_.left.toOption), others.optional.of(_.toOption))
}

object ResultColumns {

  /** Lists of one column or more, one after the other. */
  def apply[T](parts: ResultColumns[T]*): ResultColumns[T] =
    new ResultColumns(StructType(parts.flatMap(_.schema)), value => parts.flatMap(_.values(value)))

  /** Of rows that are made elsewhere, in the order of these columns. */
  def ofRows(fields: (String, DataType)*): ResultColumns[Row] =
    new ResultColumns(StructType(fields.map { case (name, dataType) => StructField(name, dataType) }), _.toSeq)

  private[procedures] def one[T](name: String, dataType: DataType, value: T => Any): ResultColumns[T] =
    new ResultColumns(new StructType().add(name, dataType), of => Seq(value(of)))
}

/** One column of a name with a value, which may be null, by the column's type. */
private[procedures] trait ResultColumnTypes {
  import ResultColumns.one

  protected def string[T](name: String, value: T => String): ResultColumns[T]    = one(name, StringType, value)
  protected def int[T](name: String, value: T => Integer): ResultColumns[T]      = one(name, IntegerType, value)
  protected def long[T](name: String, value: T => JLong): ResultColumns[T]       = one(name, LongType, value)
  protected def boolean[T](name: String, value: T => JBoolean): ResultColumns[T] = one(name, BooleanType, value)

  /** @param millis since 1970 */
  protected def time[T](name: String, millis: T => Option[Long]): ResultColumns[T] =
    one(name, TimestampType, millis(_: T).map(new Timestamp(_)).orNull)

  protected def strings[T](name: String, values: T => Seq[String]): ResultColumns[T] =
    one(name, ArrayType(StringType), values)

  protected def longsByName[T](name: String, values: T => Map[String, Long]): ResultColumns[T] =
    one(name, MapType(StringType, LongType), values)

  protected def nested[T, V](name: String, columns: ResultColumns[V], value: T => V): ResultColumns[T] =
    one(name, columns.schema, of => columns.row(value(of)))

  /** @param values may be null */
  protected def nestedSeq[T, V](name: String, columns: ResultColumns[V], values: T => Seq[V]): ResultColumns[T] =
    one(name, ArrayType(columns.schema), of => Option(values(of)).map(_.map(columns.row)).orNull)
}
