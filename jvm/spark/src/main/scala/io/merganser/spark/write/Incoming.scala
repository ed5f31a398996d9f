package io.merganser.spark.write

import io.merganser.merge.{DeleteCheck, OrderingField, RowLayout, Version}
import io.merganser.table.base.MetaColumns
import io.merganser.table.config.{FrameCheck, IndexType, StoredRule, TableConfig}
import io.merganser.table.slice.{SliceWriter, TableRule}
import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.functions.{
  coalesce,
  col,
  concat,
  lit,
  monotonically_increasing_id,
  struct,
  substring,
  to_json,
  transform,
  transform_values,
  when
}
import org.apache.spark.sql.types._

import scala.collection.mutable

/**
 * The columns of rows on their way through a write: the table's data columns, the meta columns that
 * [[SliceWriter.rowSchema]] names, control columns of this write, then arrival and unordered-delete.
 *
 * @param data    the table's data columns
 * @param control columns that only this write has, such as `_hoodie_is_deleted` where the table does not store it
 * @param masks   which columns rows provide that do not provide all; a row says the number of its mask, or
 *                [[IncomingSchema.FullRow]]
 * @param knowsOutcome rows have an outcome, one of [[io.merganser.merge.buffer.Outcome]]
 * @param nullsSayNothing a null of a frame's row stands for a value that was not sent; that of a statement's row is a value
 * @param hasOrigin rows say the partition path of the stored row that they change, null for one that is new, where another path
 *                  than their own may hold it
 * @param isTagged rows have [[Tag.SliceColumn]] behind all these columns already
 */
final case class IncomingSchema(
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
      StructField(IncomingSchema.Arrival, LongType, nullable = false),
      StructField(IncomingSchema.UnorderedDelete, BooleanType, nullable = false)
    ) ++ (if (masks.isEmpty) Nil else Seq(StructField(IncomingSchema.Mask, IntegerType, nullable = false))) ++
      (if (hasOrigin) Seq(StructField(IncomingSchema.Origin, StringType)) else Nil) ++
      (if (knowsOutcome) Seq(StructField(IncomingSchema.Outcome, IntegerType, nullable = false)) else Nil)
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
    val mask = if (maskOrdinal < 0) IncomingSchema.FullRow else row.getInt(maskOrdinal)
    if (row.getBoolean(unorderedDeleteOrdinal)) record.set(row, isDelete = true, isUnordered = true)
    else if (mask == IncomingSchema.FullRow) layout.fill(record, row)
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

object IncomingSchema {
  val Arrival         = "__merganser_arrival"
  val UnorderedDelete = "__merganser_unordered_delete"
  val Mask            = "__merganser_mask"
  val Origin          = "__merganser_origin"
  val Outcome         = "__merganser_outcome"

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

/**
 * First step of a write: a frame of the user's becomes rows with key, partition path and arrival.
 *
 * @param rows         the columns of [[IncomingSchema.rows]]
 * @param aligned      the frame's rows in the table's columns and types
 * @param requirements what every row must fulfil; `rows` stops at the first that does not
 */
final case class Incoming(rows: DataFrame, schema: IncomingSchema, aligned: DataFrame, requirements: Seq[Requirement]) {

  /** A failure of a write of these rows, with more of the rows that made it where it was rows. */
  def named(failure: Throwable): Throwable = RefusedRows.named(failure, aligned, requirements)
}

object Incoming {

  /** Columns of a frame whose rows say which stored row they change; null for a row that is new. */
  val GivenKey  = "__merganser_given_key"
  val GivenPath = "__merganser_given_path"

  /** Where such a row stood in its source; null where it comes from no source. */
  val GivenArrival = "__merganser_given_arrival"

  /**
   * @param frame           what the user writes; meta columns in it are passed over
   * @param schema          the table's data columns
   * @param unorderedDelete tells rows that delete their key whatever its ordering value
   * @param allowMissing    true where absent columns are null, as in a delete by key
   * @param masks           which columns rows provide; the frame's column [[IncomingSchema.Mask]] numbers each row's, and
   *                        without it all rows have the first
   * @param global          how keys are found in all partitions, if they are
   */
  def apply(frame: DataFrame, config: TableConfig, rule: StoredRule, schema: StructType, unorderedDelete: Column, allowMissing: Boolean,
      rejectNullOrdering: Boolean, masks: Seq[ColumnMask] = Nil, global: Option[IndexType.GlobalKeys] = None): Incoming = {
    val names        = frame.schema.fieldNames
    val control      = StructType(frame.schema.filter(f => f.name == DeleteCheck.FlagColumn && !schema.fieldNames.contains(f.name)))
    val isIdentified = names.contains(GivenKey)
    val identity     = if (isIdentified) Seq(GivenKey, GivenPath, GivenArrival).map(quoted) else Nil
    val mask =
      if (masks.isEmpty) Nil
      else Seq((if (names.contains(IncomingSchema.Mask)) quoted(IncomingSchema.Mask) else lit(0)).as(IncomingSchema.Mask))
    val hasOrigin = isIdentified && global.isDefined
    val moves     = hasOrigin && global.exists(_.move)
    val carried   = Seq(IncomingSchema.Outcome, Tag.SliceColumn.name).filter(names.contains)
    val aligned = frame.select(
      (schema.map(f => value(frame, f, allowMissing).as(f.name)) ++ control.map(f => quoted(f.name)) ++ identity) ++
        Seq(unorderedDelete.as(IncomingSchema.UnorderedDelete)) ++ mask ++ carried.map(quoted): _*
    )
    val computed = KeyColumns.recordKey(config, schema)
    val path     = KeyColumns.partitionPath(config, schema)
    val key      = if (isIdentified) coalesce(quoted(GivenKey), computed) else computed
    val keyGiven = Requirement("NULL_RECORD_KEY", config.name, config.recordKeyFields.mkString(","), key.isNull, rowText(schema))
    val ordered =
      if (!rejectNullOrdering) Nil
      else TableRule.orderingFields(rule, schema).map { f =>
        val field = OrderingField.find(schema, f).map(_.column.name).getOrElse(f)
        val isOwn = masks.indices.filterNot(masks(_).columns.contains(field)).foldLeft(!quoted(IncomingSchema.UnorderedDelete))((own, i) =>
          own && quoted(IncomingSchema.Mask) =!= i)
        Requirement("NULL_ORDERING_VALUE", config.name, f, valueOf(schema, f).isNull && isOwn, computed)
      }
    val stays =
      if (!isIdentified) Nil
      else unchanged(GivenKey, computed, config.recordKeyFields, config) +:
        (if (moves) Nil else Seq(unchanged(GivenPath, path, config.partitionFields, config)))
    val requirements = keyGiven +: (stays ++ ordered)
    val position     = monotonically_increasing_id()
    val itsPath =
      if (!isIdentified) path
      else if (moves) when(quoted(IncomingSchema.UnorderedDelete), coalesce(quoted(GivenPath), path)).otherwise(path)
      else coalesce(quoted(GivenPath), path)
    val origin = if (hasOrigin) Seq(quoted(GivenPath).as(IncomingSchema.Origin)) else Nil
    val columns = schema.map(f => quoted(f.name)) ++
      Seq(
        requirements.foldRight(key)(_ guard _).as(MetaColumns.RecordKey),
        itsPath.as(MetaColumns.PartitionPath),
        lit(null).cast(StringType).as(MetaColumns.CommitTime),
        lit(null).cast(StringType).as(MetaColumns.CommitSeqno)
      ) ++ control.map(f => quoted(f.name)) ++
      Seq((if (isIdentified) coalesce(quoted(GivenArrival), position) else position).as(IncomingSchema.Arrival),
        quoted(IncomingSchema.UnorderedDelete)) ++ (if (masks.isEmpty) Nil else Seq(quoted(IncomingSchema.Mask))) ++ origin ++ carried.map(
        quoted)
    val known = IncomingSchema(schema, control, masks, carried.contains(IncomingSchema.Outcome), carried.contains(Tag.SliceColumn.name),
      hasOrigin, rule.nullsSayNothing)
    Incoming(aligned.select(columns: _*), known, aligned, requirements)
  }

  /** A change of a stored row must not alter the columns its identity comes from. */
  private def unchanged(given: String, computed: Column, fields: Seq[String], config: TableConfig): Requirement = {
    val changes = quoted(given).isNotNull && !quoted(IncomingSchema.UnorderedDelete) && !(computed <=> quoted(given))
    Requirement("KEY_COLUMN_CHANGED", config.name, fields.mkString(","), changes,
      concat(quoted(given), lit(" to "), coalesce(computed, lit("null"))))
  }

  /** The frame's column in the table's type; columns and the fields of structs go by name. */
  private def value(frame: DataFrame, field: StructField, allowMissing: Boolean): Column = FrameCheck.find(frame.schema, field.name) match {
    case Some(given)          => converted(quoted(given.name), given.dataType, field.dataType)
    case None if allowMissing => lit(null).cast(field.dataType)
    case None                 => throw new IllegalStateException(s"column '${field.name}' is missing and was not refused")
  }

  /** A field that a struct lacks, where that was not refused, is null. */
  private def converted(value: Column, from: DataType, to: DataType): Column = (from, to) match {
    case (a, b) if a == b => value
    case (a: StructType, b: StructType) =>
      val fields = b.map { f =>
        val own = FrameCheck.find(a, f.name)
        own.fold(lit(null).cast(f.dataType))(o => converted(value.getField(o.name), o.dataType, f.dataType)).as(f.name)
      }
      when(value.isNotNull, struct(fields: _*))
    case (a: ArrayType, b: ArrayType) if a.elementType != b.elementType =>
      transform(value, (element: Column) => converted(element, a.elementType, b.elementType))
    case (a: MapType, b: MapType) if a.valueType != b.valueType =>
      transform_values(value, (_: Column, v: Column) => converted(v, a.valueType, b.valueType))
    case (_: ArrayType, _) | (_: MapType, _) => value
    case _                                   => value.cast(to)
  }

  /** Shows a row that has no key; nulls are left out. */
  private def rowText(schema: StructType): Column = substring(to_json(struct(schema.map(f => quoted(f.name)): _*)), 1, 200)

  /** A column's value, or that of a field inside a struct column. */
  private def valueOf(schema: StructType, name: String): Column = OrderingField.find(schema, name) match {
    case Some(field) =>
      field.path.foldLeft((quoted(field.column.name), field.column.dataType)) { case ((value, dataType), at) =>
        val inner = dataType.asInstanceOf[StructType](at)
        (value.getField(inner.name), inner.dataType)
      }._1
    case None => quoted(name)
  }

  private[write] def quoted(name: String): Column = col("`" + name.replace("`", "``") + "`")
}
