package io.merganser.spark.write.prepare

import io.merganser.merge.{RowLayout, Version}
import io.merganser.table.slice.SliceWriter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

import scala.collection.mutable

/**
 * The columns of rows on their way through a write: the table's data columns, the meta columns that
 * [[SliceWriter.rowSchema]] names, control columns of this write, then arrival and unordered-delete.
 *
 * @param data    the table's data columns
 * @param control columns that only this write has, such as `_hoodie_is_deleted` where the table does not store it
 * @param masks   which columns rows provide that do not provide all; a row says the number of its mask, or
 *                [[PreparedSchema.FullRow]]
 * @param knowsOutcome rows have an outcome, one of [[io.merganser.merge.buffer.Outcome]]
 * @param nullsSayNothing a null of a frame's row stands for a value that was not sent; that of a statement's row is a value
 * @param hasOrigin rows say the partition path of the stored row that they change, null for one that is new, where another path
 *                  than their own may hold it
 * @param isTagged rows have [[PreparedSchema.SliceColumn]] behind all these columns already
 */
final case class PreparedSchema(
    data: StructType,
    control: StructType,
    masks: Seq[ColumnMask] = Nil,
    knowsOutcome: Boolean = false,
    isTagged: Boolean = false,
    hasOrigin: Boolean = false,
    nullsSayNothing: Boolean = false
) {

  /** What the merge sees. The rows of deletes hold nulls where stored rows may have none. */
  val layout: StructType = StructType((SliceWriter.rowSchema(data) ++ control).map(_.copy(nullable = true)))

  /** All of it. */
  val rows: StructType = StructType(
    layout ++ Seq(
      StructField(PreparedSchema.Arrival, LongType, nullable = false),
      StructField(PreparedSchema.UnorderedDelete, BooleanType, nullable = false)
    ) ++ (if (masks.isEmpty) Nil else Seq(StructField(PreparedSchema.Mask, IntegerType, nullable = false))) ++
      (if (hasOrigin) Seq(StructField(PreparedSchema.Origin, StringType)) else Nil) ++
      (if (knowsOutcome) Seq(StructField(PreparedSchema.Outcome, IntegerType, nullable = false)) else Nil)
  )

  val keyOrdinal: Int             = data.length
  val partitionOrdinal: Int       = data.length + 1
  val arrivalOrdinal: Int         = layout.length
  val unorderedDeleteOrdinal: Int = layout.length + 1

  /** -1 where all rows are full. */
  val maskOrdinal: Int = if (masks.isEmpty) -1 else layout.length + 2

  /** -1 where what becomes of a row is not known beforehand. */
  val outcomeOrdinal: Int = if (knowsOutcome) rows.length - 1 else -1

  /** -1 where a row is looked for in its own partition alone. */
  val originOrdinal: Int = if (hasOrigin) layout.length + 2 + (if (masks.isEmpty) 0 else 1) else -1

  /** For each mask, whether its rows insert. */
  val inserts: Array[Boolean] = masks.map(_.inserts).toArray

  /** For each mask, which columns of the layout it provides. */
  val provided: Array[Array[Boolean]] =
    masks.map(mask => layout.fieldNames.map(name => !data.fieldNames.contains(name) || mask.columns.contains(name))).toArray

  /** Makes `record` the version that a row is. */
  def fill(record: Version, row: InternalRow, layout: RowLayout): Unit = {
    val mask = if (maskOrdinal < 0) PreparedSchema.FullRow else row.getInt(maskOrdinal)
    if (row.getBoolean(unorderedDeleteOrdinal)) record.set(row, isDelete = true, isUnordered = true)
    else if (mask == PreparedSchema.FullRow) layout.fill(record, row)
    else {
      val own = if (nullsSayNothing && inserts(mask)) notNull(mask, row) else provided(mask)
      layout.fill(record, row, own, inserts(mask))
    }
    ()
  }

  @transient private lazy val narrowed = mutable.HashMap.empty[(Int, java.util.BitSet), Array[Boolean]]

  /** What a mask provides without the columns that are null in the row; the same object for the same columns. */
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
  val Arrival         = "__merganser_arrival"
  val UnorderedDelete = "__merganser_unordered_delete"
  val Mask            = "__merganser_mask"
  val Origin          = "__merganser_origin"
  val Outcome         = "__merganser_outcome"

  /** The column that tagging adds: an index into the slices, or -1 where the key is not stored. */
  val SliceColumn: StructField = StructField("__merganser_slice", IntegerType, nullable = false)

  /** Instead of a mask's number. */
  final val FullRow = -1
}

/**
 * Columns that rows of a write provide; their other columns stay as they are stored.
 *
 * @param columns data columns, those of key and partition path among them
 * @param inserts whether such a row is inserted, with nulls in the other columns, where its key is not stored; otherwise it
 *                changes stored rows only
 */
final case class ColumnMask(columns: Set[String], inserts: Boolean)
