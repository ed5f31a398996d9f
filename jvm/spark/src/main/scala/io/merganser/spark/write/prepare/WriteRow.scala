package io.merganser.spark.write.prepare

import io.merganser.table.options.Names
import org.apache.spark.sql.Column
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types._

/**
 * A column of the rows between two steps of a write.
 *
 * @param value     what fills it
 * @param isPresent false if the rows of this write do not have it
 */
private[spark] final case class WriteColumn[+V](field: StructField, value: V, isPresent: Boolean = true)

/**
 * The row between two steps of a write: schema, values and ordinals derive from one list of columns.
 *
 * @param listed columns in their order, absent ones too
 * @tparam V what fills a column, such as a column of a frame
 */
private[spark] final case class WriteRow[+V](listed: Seq[WriteColumn[V]]) {
  private val columns = listed.filter(_.isPresent)

  val schema: StructType = StructType(columns.map(_.field))

  def values: Seq[V] = columns.map(_.value)

  def map[W](filled: V => W): WriteRow[W] = WriteRow(columns.map(c => WriteColumn(c.field, filled(c.value))))
}

/** Columns that only rows of a write have, after those of the table. */
private[spark] object WriteRow {

  /** Position of a row in its write, by which versions of a key are ordered. */
  val Arrival: StructField = StructField("__merganser_arrival", LongType, nullable = false)

  /** True for a row that deletes its key whatever its ordering value. */
  val UnconditionalDelete: StructField = StructField("__merganser_unconditional_delete", BooleanType, nullable = false)

  /** Number of the row's [[ColumnMask]], or [[PreparedSchema.FullRow]]. */
  val Mask: StructField = StructField("__merganser_mask", IntegerType, nullable = false)

  /** Partition path of the stored row that the row changes, which may differ from its own; null for a new row. */
  val Origin: StructField = StructField("__merganser_origin", StringType)

  /** One of [[io.merganser.merge.buffer.Outcome]], where it is known before the merge. */
  val Outcome: StructField = StructField("__merganser_outcome", IntegerType, nullable = false)

  /** The column that tagging adds: an index into the slices, or -1 where the key is not stored. */
  val Slice: StructField = StructField("__merganser_slice", IntegerType, nullable = false)

  /** Record key and partition path of the stored row that a frame's row changes; null for a new row. */
  val StoredKey: StructField  = StructField("__merganser_given_key", StringType)
  val StoredPath: StructField = StructField("__merganser_given_path", StringType)

  /** Position of such a row in its source; null if it has no source. */
  val SourceArrival: StructField = StructField("__merganser_given_arrival", LongType)

  /** True for a delete with an ordering value, which may be that of a row of another partition. */
  val OrderedDelete: StructField = StructField("__merganser_given_delete", BooleanType, nullable = false)

  /** Record key of a row of a table without key columns; null in rows that have the key of a stored row. */
  val GeneratedKey: StructField = StructField("__merganser_generated_key", StringType)

  /** A column of a frame by its name, in which nothing is parsed. */
  def quoted(name: String): Column = col(Names.quoted(name))

  def quoted(column: StructField): Column = quoted(column.name)

  /** The columns of a frame. */
  def select(row: WriteRow[Column]): Seq[Column] =
    row.schema.fieldNames.toSeq.zip(row.values).map { case (name, value) => value.as(name) }

  /** -1 if the rows do not have the column. */
  def ordinal(schema: StructType, column: String): Int = schema.fieldNames.lastIndexOf(column)
}
