package io.merganser.spark.write.prepare

import io.merganser.merge.{DeleteCheck, OrderingField}
import io.merganser.spark.write.key.{AmbiguousKeys, KeyColumns}
import io.merganser.table.options.{IndexType, Names}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.{CompiledRule, StoredRule}
import io.merganser.table.schema.{FrameCheck, MetaColumns}
import org.apache.spark.sql.{Column, DataFrame}
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

/**
 * First step of a write: turns the user's frame into rows with key, partition path and arrival.
 *
 * @param rows         the columns of [[PreparedSchema.rows]]
 * @param aligned      the frame's rows in the table's columns and types
 * @param requirements checks of every row; `rows` fails at the first row that does not pass
 */
final case class PreparedRows(
    rows: DataFrame,
    schema: PreparedSchema,
    aligned: DataFrame,
    requirements: Seq[Requirement]
) {

  /** A failure of a write of these rows; if rows caused it, with more of those rows. */
  def named(failure: Throwable): Throwable = RefusedRows.named(failure, aligned, requirements)
}

/**
 * Which rows are refused besides those without a key.
 *
 * @param nullOrdering  those with a null ordering value
 * @param ambiguousKeys those whose key or path other values have too
 */
private[spark] final case class RowChecks(nullOrdering: Boolean = false, ambiguousKeys: Boolean = true)

object PreparedRows {

  /** Columns that identify the stored row that a frame's row changes; null for a new row. */
  val StatementKey  = "__merganser_given_key"
  val StatementPath = "__merganser_given_path"

  /** Position of such a row in its source; null if it has no source. */
  val StatementArrival = "__merganser_given_arrival"

  /** True for a delete with an ordering value, which may be that of a row of another partition. */
  val StatementDelete = "__merganser_given_delete"

  /**
   * @param frame           what the user writes; meta columns in it are ignored, those of a statement are not, nor
   *                        [[GeneratedKeys.Column]]
   * @param schema          the table's data columns
   * @param unconditionalDelete true for rows that delete their key whatever its ordering value
   * @param allowMissing    true if absent columns become null, as in a delete by key
   * @param ownMasks        which columns rows provide; the frame's column [[PreparedSchema.Mask]] has the index of each
   *                        row's mask, and without it all rows have the first
   * @param checks          what rows are refused
   * @param global          how keys are looked up in all partitions, if they are
   */
  def apply(
      frame: DataFrame,
      config: TableConfig,
      rule: StoredRule,
      schema: StructType,
      unconditionalDelete: Column,
      allowMissing: Boolean,
      checks: RowChecks,
      ownMasks: Seq[ColumnMask] = Nil,
      global: Option[IndexType.GlobalKeys] = None
  ): PreparedRows = {
    val names        = frame.schema.fieldNames
    val marks        = FrameCheck.deleteMarks(frame.schema, schema)
    val control      = StructType(marks.map(controlField))
    val isIdentified = names.contains(StatementKey)
    val isGenerated  = names.contains(GeneratedKeys.Column)
    val hasDeletes   = names.contains(StatementDelete)
    val identity = ((if (isIdentified) Seq(StatementKey, StatementPath, StatementArrival) else Nil) ++
      (if (hasDeletes) Seq(StatementDelete) else Nil) ++
      (if (isGenerated) Seq(GeneratedKeys.Column) else Nil)).map(quoted)
    val hasMask = names.contains(PreparedSchema.Mask)
    val mask =
      if (ownMasks.isEmpty) Nil
      else Seq((if (hasMask) quoted(PreparedSchema.Mask) else lit(0)).as(PreparedSchema.Mask))
    val retractions = Retractions.of(rule, config, schema, frame.schema, ownMasks)
    val masks       = retractions.fold(ownMasks)(_.masks)
    val hasOrigin   = isIdentified && global.isDefined
    val moves       = hasOrigin && global.exists(_.move)
    val carried     = Seq(PreparedSchema.Outcome, PreparedSchema.SliceColumn.name).filter(names.contains)
    val aligned = frame.select(
      (schema.map(f => value(frame, f, allowMissing).as(f.name)) ++ marks.map(mark) ++ identity) ++
        Seq(unconditionalDelete.as(PreparedSchema.UnconditionalDelete)) ++ mask ++ carried.map(quoted): _*
    )
    val computed = if (isGenerated) quoted(GeneratedKeys.Column) else KeyColumns.recordKey(config, schema)
    val path     = KeyColumns.partitionPath(config, schema)
    val key      = if (isIdentified) coalesce(quoted(StatementKey), computed) else computed
    val keyRequired =
      Requirement("NULL_RECORD_KEY", config.name, config.recordKeyFields.mkString(","), key.isNull, rowText(schema))
    val ordered =
      if (!checks.nullOrdering) Nil
      else CompiledRule.orderingFields(rule, schema).map { f =>
        val field = OrderingField.find(schema, f).map(_.column.name).getOrElse(f)
        val isRow = !quoted(PreparedSchema.UnconditionalDelete) && !retractions.fold(lit(false))(_.marker)
        val isOwn = ownMasks.indices.filterNot(ownMasks(_).columns.contains(field)).foldLeft(isRow)((own, i) =>
          own && quoted(PreparedSchema.Mask) =!= i)
        Requirement("NULL_ORDERING_VALUE", config.name, f, valueOf(schema, f).isNull && isOwn, key)
      }
    val isDelete =
      quoted(PreparedSchema.UnconditionalDelete) || (if (hasDeletes) quoted(StatementDelete) else lit(false))
    val stays =
      if (!isIdentified) Nil
      else
        (if (isGenerated) Nil else Seq(unchanged(StatementKey, computed, isDelete, config.recordKeyFields, config))) ++
          (if (moves) Nil else Seq(unchanged(StatementPath, path, isDelete, config.partitionFields, config)))
    // The key and path of a stored row are its own.
    def isNew(of: Column, stored: String) = if (isIdentified) !(of <=> quoted(stored)) else lit(true)
    def distinct(condition: String, fields: Seq[String], fails: Column) =
      Requirement(condition, config.name, fields.mkString(","), fails, rowText(schema))
    val distinctKey =
      if (isGenerated || !checks.ambiguousKeys) None
      else AmbiguousKeys.inKey(config, schema).map(fails =>
        distinct("KEY_AMBIGUOUS", config.recordKeyFields, fails && isNew(computed, StatementKey)))
    val distinctPath =
      if (!checks.ambiguousKeys) None
      else AmbiguousKeys.inPath(config, schema).map(fails =>
        distinct("PARTITION_AMBIGUOUS", config.partitionFields, fails && isNew(path, StatementPath)))
    val requirements = (if (isGenerated) Nil else Seq(keyRequired)) ++ stays ++ ordered ++ distinctKey ++
      distinctPath ++ FineTimes.refused(config, schema, key)
    val position = monotonically_increasing_id()
    val rowPath =
      if (!isIdentified) path
      else if (moves)
        when(isDelete, coalesce(quoted(StatementPath), path)).otherwise(path)
      else coalesce(quoted(StatementPath), path)
    val origin = if (hasOrigin) Seq(quoted(StatementPath).as(PreparedSchema.Origin)) else Nil
    val columns = schema.map(f => retractions.fold(quoted(f.name))(_.value(f)).as(f.name)) ++
      Seq(
        requirements.foldRight(key)(_ guard _).as(MetaColumns.RecordKey),
        rowPath.as(MetaColumns.PartitionPath),
        lit(null).cast(StringType).as(MetaColumns.CommitTime),
        lit(null).cast(StringType).as(MetaColumns.CommitSeqno)
      ) ++ control.map(f => retractions.fold(quoted(f.name))(_.value(f)).as(f.name)) ++
      Seq((if (isIdentified) coalesce(quoted(StatementArrival), position) else position).as(PreparedSchema.Arrival),
        quoted(PreparedSchema.UnconditionalDelete)) ++
      (if (masks.isEmpty) Nil else Seq(maskOf(ownMasks, retractions).as(PreparedSchema.Mask))) ++ origin ++
      carried.map(quoted)
    val known =
      PreparedSchema(schema, control, masks, carried.contains(PreparedSchema.Outcome),
        carried.contains(PreparedSchema.SliceColumn.name),
        hasOrigin, rule.nullsAreMissing)
    PreparedRows(aligned.select(columns: _*), known, aligned, requirements)
  }

  private def maskOf(ownMasks: Seq[ColumnMask], retractions: Option[Retractions]): Column = {
    val own = if (ownMasks.isEmpty) lit(PreparedSchema.FullRow) else quoted(PreparedSchema.Mask)
    retractions.fold(own)(_.mask(own))
  }

  /** A change of a stored row must not alter the columns that its key or path is computed from. */
  private def unchanged(
      stored: String,
      computed: Column,
      isDelete: Column,
      fields: Seq[String],
      config: TableConfig
  ): Requirement = {
    val changes = quoted(stored).isNotNull && !isDelete && !(computed <=> quoted(stored))
    Requirement("KEY_COLUMN_CHANGED", config.name, fields.mkString(","), changes,
      concat(quoted(stored), lit(" to "), coalesce(computed, lit("null"))))
  }

  private def controlField(mark: StructField): StructField =
    if (mark.name.equalsIgnoreCase(DeleteCheck.FlagColumn)) StructField(DeleteCheck.FlagColumn, BooleanType)
    else StructField(DeleteCheck.OperationColumn, StringType)

  /** A column that marks deletes and is not stored: null in other rows, since rules fill columns with values. */
  private def mark(field: StructField): Column = {
    val control = controlField(field)
    val value   = quoted(field.name).cast(control.dataType)
    val isSet   = if (control.dataType == BooleanType) value else value.isin(DeleteCheck.DeleteOperations: _*)
    when(isSet, value).as(control.name)
  }

  /** The frame's column in the table's type; columns and struct fields are matched by name. */
  private def value(frame: DataFrame, field: StructField, allowMissing: Boolean): Column =
    FrameCheck.find(frame.schema, field.name) match {
      case Some(found)          => converted(quoted(found.name), found.dataType, field.dataType)
      case None if allowMissing => lit(null).cast(field.dataType)
      case None => throw new IllegalStateException(s"column '${field.name}' is missing and was not rejected")
    }

  /** A field that a struct lacks becomes null; where that is not allowed, the write was rejected before. */
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
    case (a: MapType, b: MapType) if a.keyType == NullType => value.cast(b) // an empty one
    case (a: MapType, b: MapType) if a.valueType != b.valueType =>
      transform_values(value, (_: Column, v: Column) => converted(v, a.valueType, b.valueType))
    case (_: ArrayType, _) | (_: MapType, _) => value
    case _                                   => value.cast(to)
  }

  /** A row that has no key, as JSON; nulls are left out. */
  private def rowText(schema: StructType): Column =
    substring(to_json(struct(schema.map(f => quoted(f.name)): _*)), 1, 200)

  /** A column's value, or that of a field inside a struct column. */
  private def valueOf(schema: StructType, name: String): Column = OrderingField.find(schema, name) match {
    case Some(field) =>
      field.path.foldLeft((quoted(field.column.name), field.column.dataType)) { case ((value, dataType), at) =>
        val inner = dataType.asInstanceOf[StructType](at)
        (value.getField(inner.name), inner.dataType)
      }._1
    case None => quoted(name)
  }

  private[spark] def quoted(name: String): Column = col(Names.quoted(name))
}
