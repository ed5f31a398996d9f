package io.merganser.spark.write.prepare

import io.merganser.merge.{RowLayout, Version}
import io.merganser.table.slice.SliceWriter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

import scala.collection.mutable

/**
 * The columns of rows in a write: the table's data columns, the meta columns that
 * [[SliceWriter.rowSchema]] names, control columns of this write, then arrival and the mark of an unconditional delete.
 *
 * @param data    the table's data columns
 * @param control columns that only this write has, such as `_hoodie_is_deleted` where the table does not store it
 * @param masks   which columns rows provide that do not provide all; a row has the index of its mask, or
 *                [[PreparedSchema.FullRow]]
 * @param knowsOutcome rows have an outcome, one of [[io.merganser.merge.buffer.Outcome]]
 * @param nullsAreMissing true for a frame, where null is a missing value; in a statement's row null is a value
 * @param hasOrigin rows have the partition path of the stored row that they change, which may differ from their own;
 *                  null for a new row
 * @param isTagged rows already have [[PreparedSchema.SliceColumn]] after all these columns
 */
final case class PreparedSchema(
    data: StructType,
    control: StructType,
    masks: Seq[ColumnMask] = Nil,
    knowsOutcome: Boolean = false,
    isTagged: Boolean = false,
    hasOrigin: Boolean = false,
    nullsAreMissing: Boolean = false
) {

  /** The columns that the merge sees. Deletes have nulls where stored rows may have none. */
  val layout: StructType = StructType((SliceWriter.rowSchema(data) ++ control).map(_.copy(nullable = true)))

  /** All columns. */
  val rows: StructType = StructType(
    layout ++ Seq(
      StructField(PreparedSchema.Arrival, LongType, nullable = false),
      StructField(PreparedSchema.UnconditionalDelete, BooleanType, nullable = false)
    ) ++ (if (masks.isEmpty) Nil else Seq(StructField(PreparedSchema.Mask, IntegerType, nullable = false))) ++
      (if (hasOrigin) Seq(StructField(PreparedSchema.Origin, StringType)) else Nil) ++
      (if (knowsOutcome) Seq(StructField(PreparedSchema.Outcome, IntegerType, nullable = false)) else Nil)
  )

  /** The columns of tagged rows. */
  def tagged: StructType = rows.add(PreparedSchema.SliceColumn)

  val keyOrdinal: Int                 = data.length
  val partitionOrdinal: Int           = data.length + 1
  val arrivalOrdinal: Int             = layout.length
  val unconditionalDeleteOrdinal: Int = layout.length + 1

  /** -1 if all rows are full. */
  val maskOrdinal: Int = if (masks.isEmpty) -1 else layout.length + 2

  /** -1 if the outcome of a row is not known beforehand. */
  val outcomeOrdinal: Int = if (knowsOutcome) rows.length - 1 else -1

  /** -1 if keys are looked up in their row's partition alone. */
  val originOrdinal: Int = if (hasOrigin) layout.length + 2 + (if (masks.isEmpty) 0 else 1) else -1

  /** For each mask, whether its rows insert. */
  val inserts: Array[Boolean] = masks.map(_.inserts).toArray

  /** For each mask, which columns of the layout it provides. */
  val provided: Array[Array[Boolean]] =
    masks.map(mask =>
      layout.fieldNames.map(name => !data.fieldNames.contains(name) || mask.columns.contains(name))).toArray

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
  val Arrival             = "__merganser_arrival"
  val UnconditionalDelete = "__merganser_unconditional_delete"
  val Mask                = "__merganser_mask"
  val Origin              = "__merganser_origin"
  val Outcome             = "__merganser_outcome"

  /** The column that tagging adds: an index into the slices, or -1 where the key is not stored. */
  val SliceColumn: StructField = StructField("__merganser_slice", IntegerType, nullable = false)

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
