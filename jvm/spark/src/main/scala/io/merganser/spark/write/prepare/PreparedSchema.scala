package io.merganser.spark.write.prepare

import io.merganser.merge.{RowLayout, Version}
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.SliceWriter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

import scala.collection.mutable

/**
 * The columns of rows in a write: the table's data columns, the meta columns that
 * [[SliceWriter.rowSchema]] names, control columns of this write, then those of [[WriteRow]].
 *
 * @param data    the table's data columns
 * @param columns all columns; with [[WriteRow.Slice]] as the last one if the rows are tagged already
 * @param masks   which columns rows provide that do not provide all; a row has the index of its mask, or
 *                [[PreparedSchema.FullRow]]
 * @param nullsAreMissing true for a frame, where null is a missing value; in a statement's row null is a value
 */
final case class PreparedSchema(
    data: StructType,
    columns: StructType,
    masks: Seq[ColumnMask],
    nullsAreMissing: Boolean
) {

  /** The columns that the merge sees. */
  val layout: StructType = StructType(columns.takeWhile(_ != WriteRow.Arrival))

  /** Columns that only this write has, such as `_hoodie_is_deleted` where the table does not store it. */
  def control: StructType = StructType(layout.drop(SliceWriter.rowSchema(data).length))

  /** All columns but that of tagging. */
  val rows: StructType = StructType(columns.filter(_ != WriteRow.Slice))

  val isTagged: Boolean = rows.length < columns.length

  /** The columns of tagged rows. */
  def tagged: StructType = rows.add(WriteRow.Slice)

  val keyOrdinal: Int                 = at(MetaColumns.RecordKey)
  val partitionOrdinal: Int           = at(MetaColumns.PartitionPath)
  val arrivalOrdinal: Int             = at(WriteRow.Arrival.name)
  val unconditionalDeleteOrdinal: Int = at(WriteRow.UnconditionalDelete.name)

  /** -1 if all rows are full. */
  val maskOrdinal: Int = at(WriteRow.Mask.name)

  /** -1 if the outcome of a row is not known beforehand. */
  val outcomeOrdinal: Int = at(WriteRow.Outcome.name)

  /** -1 if keys are looked up in their row's partition alone. */
  val originOrdinal: Int = at(WriteRow.Origin.name)

  /** For each mask, whether its rows insert. */
  val inserts: Array[Boolean] = masks.map(_.inserts).toArray

  /** For each mask, which columns of the layout it provides. */
  val provided: Array[Array[Boolean]] =
    masks.map(mask =>
      layout.fieldNames.map(name => !data.fieldNames.contains(name) || mask.columns.contains(name))).toArray

  private def at(column: String): Int = WriteRow.ordinal(rows, column)

  /** Fills `record` with a row. */
  def fill(record: Version, row: InternalRow, layout: RowLayout): Unit = {
    val mask = if (maskOrdinal < 0) PreparedSchema.FullRow else row.getInt(maskOrdinal)
    if (row.getBoolean(unconditionalDeleteOrdinal)) record.set(row, isDelete = true, isUnconditional = true)
    else if (mask == PreparedSchema.FullRow) layout.fill(record, row)
    else {
      val own = if (nullsAreMissing && inserts(mask)) notNull(mask, row) else provided(mask)
      layout.fill(record, row, own, inserts(mask))
    }
    ()
  }

  @transient private lazy val narrowed = mutable.HashMap.empty[(Int, java.util.BitSet), Array[Boolean]]

  /** The columns of a mask that are not null in the row; the same array for the same columns. */
  private def notNull(mask: Int, row: InternalRow): Array[Boolean] = {
    val all   = provided(mask)
    val nulls = new java.util.BitSet
    var i     = 0
    while (i < data.length) {
      if (all(i) && row.isNullAt(i)) nulls.set(i)
      i += 1
    }
    if (nulls.isEmpty) all
    else narrowed.getOrElseUpdate((mask, nulls), all.zipWithIndex.map { case (is, at) => is && !nulls.get(at) })
  }
}

object PreparedSchema {

  /** In place of a mask's index. */
  final val FullRow = -1
}

/**
 * Columns that rows of a write provide; the other columns keep their stored values.
 *
 * @param columns data columns, including those of key and partition path
 * @param inserts whether such a row is inserted, with nulls in the other columns, if its key is not stored; otherwise
 *                it changes stored rows only
 */
final case class ColumnMask(columns: Set[String], inserts: Boolean)
