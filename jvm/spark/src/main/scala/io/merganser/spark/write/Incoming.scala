package io.merganser.spark.write

import io.merganser.merge.DeleteCheck
import io.merganser.table.base.MetaColumns
import io.merganser.table.config.{FrameCheck, TableConfig}
import io.merganser.table.slice.{SliceWriter, TableRule}
import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.functions.{coalesce, col, concat, concat_ws, lit, monotonically_increasing_id, when}
import org.apache.spark.sql.types._

/**
 * The columns of rows on their way through a write: the table's data columns, the meta columns that
 * [[SliceWriter.rowSchema]] names, control columns of this write, then arrival and unordered-delete.
 *
 * @param data    the table's data columns
 * @param control columns that only this write has, such as `_hoodie_is_deleted` where the table does not store it
 */
final case class IncomingSchema(data: StructType, control: StructType) {

  /** What the merge sees. */
  val layout: StructType = StructType(SliceWriter.rowSchema(data) ++ control)

  /** All of it. */
  val rows: StructType = StructType(
    layout ++ Seq(
      StructField(IncomingSchema.Arrival, LongType, nullable = false),
      StructField(IncomingSchema.UnorderedDelete, BooleanType, nullable = false)
    )
  )

  val keyOrdinal: Int             = data.length
  val partitionOrdinal: Int       = data.length + 1
  val arrivalOrdinal: Int         = layout.length
  val unorderedDeleteOrdinal: Int = layout.length + 1
}

object IncomingSchema {
  val Arrival         = "__merganser_arrival"
  val UnorderedDelete = "__merganser_unordered_delete"
}

/** First step of a write: a frame of the user's becomes rows with key, partition path and arrival. */
object Incoming {

  /** Columns of a frame whose rows say which stored row they change; null for a row that is new. */
  val GivenKey  = "__merganser_given_key"
  val GivenPath = "__merganser_given_path"

  /**
   * @param frame           what the user writes; meta columns in it are passed over
   * @param schema          the table's data columns
   * @param unorderedDelete tells rows that delete their key whatever its ordering value
   * @param allowMissing    true where absent columns are null, as in a delete by key
   */
  def rows(frame: DataFrame, config: TableConfig, schema: StructType, unorderedDelete: Column, allowMissing: Boolean, rejectNullOrdering: Boolean)
      : (DataFrame, IncomingSchema) = {
    val names    = frame.schema.fieldNames
    val control  = StructType(frame.schema.filter(f => f.name == DeleteCheck.FlagColumn && !schema.fieldNames.contains(f.name)))
    val incoming = IncomingSchema(schema, control)
    def value(field: StructField): Column = FrameCheck.find(frame.schema, field.name) match {
      case Some(found) if found.dataType == field.dataType => quoted(found.name)
      case Some(found)                                     => quoted(found.name).cast(field.dataType)
      case None if allowMissing                            => lit(null).cast(field.dataType)
      case None                                            => throw new IllegalStateException(s"column '${field.name}' was checked and is not there")
    }

    val isIdentified = names.contains(GivenKey)
    val identity     = if (isIdentified) Seq(quoted(GivenKey), quoted(GivenPath)) else Nil
    val aligned = frame.select(
      (schema.map(f => value(f).as(f.name)) ++ control.map(f => quoted(f.name)) ++ identity) :+ unorderedDelete.as(IncomingSchema.UnorderedDelete): _*
    )
    val computed = KeyColumns.recordKey(config, schema)
    val key      = if (isIdentified) identified(GivenKey, computed, config.recordKeyFields, config) else computed
    val path     = KeyColumns.partitionPath(config, schema)
    val columns =
      schema.map(f => quoted(f.name)) ++
        Seq(
          requireKey(key, config).as(MetaColumns.RecordKey),
          (if (isIdentified) identified(GivenPath, path, config.partitionFields, config) else path).as(MetaColumns.PartitionPath),
          lit(null).cast(StringType).as(MetaColumns.CommitTime),
          lit(null).cast(StringType).as(MetaColumns.CommitSeqno)
        ) ++ control.map(f => quoted(f.name)) ++
        Seq(monotonically_increasing_id().as(IncomingSchema.Arrival), quoted(IncomingSchema.UnorderedDelete))
    val checked =
      if (rejectNullOrdering) TableRule.orderingFields(config, schema).foldLeft(aligned) { (f, name) =>
        f.withColumn(name, requireOrdering(name, key, config))
      }
      else aligned
    (checked.select(columns: _*), incoming)
  }

  /** The stored row's identity where there is one; a change must not alter the columns it comes from. */
  private def identified(given: String, computed: Column, fields: Seq[String], config: TableConfig): Column = {
    val stays = quoted(IncomingSchema.UnorderedDelete) || computed === quoted(given)
    when(quoted(given).isNull, computed)
      .when(stays, quoted(given))
      .otherwise(RequiredValue.raise("KEY_COLUMN_CHANGED", config.name, fields.mkString(","), concat(quoted(given), lit(" to "), coalesce(computed, lit("null")))))
  }

  private def requireKey(key: Column, config: TableConfig): Column =
    coalesce(key, RequiredValue.raise("NULL_RECORD_KEY", config.name, config.recordKeyFields.mkString(","), keyText(config)))

  private def requireOrdering(name: String, key: Column, config: TableConfig): Column =
    coalesce(quoted(name), RequiredValue.raise("NULL_ORDERING_VALUE", config.name, name, key))

  private def keyText(config: TableConfig): Column =
    concat_ws(", ", config.recordKeyFields.map(f => coalesce(quoted(f).cast(StringType), lit("null"))): _*)

  private[write] def quoted(name: String): Column = col("`" + name.replace("`", "``") + "`")
}
