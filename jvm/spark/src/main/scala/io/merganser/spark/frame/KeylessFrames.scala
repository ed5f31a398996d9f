package io.merganser.spark.frame

import io.merganser.merge.MerganserException
import io.merganser.spark.write.prepare.WriteRow
import io.merganser.table.options.{Options, WriteOperation, WriteSource}
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.MetaColumns
import io.merganser.table.settings.{KeylessTable, WriteConfig}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.lit
import org.apache.spark.sql.types.{LongType, StringType, StructType}

/**
 * Frames written to a table without record key columns. Rows that were read from the table have their generated keys in
 * the meta columns, by which an upsert or delete finds them.
 */
private[frame] object KeylessFrames {

  /** The options of a write, with an upsert where they name no operation and the frame has keys. */
  def options(
      options: Map[String, String],
      sessionConf: Map[String, String],
      table: TableConfig,
      frame: DataFrame,
      source: WriteSource
  ): Map[String, String] =
    if (
      KeylessTable.is(table) && source == WriteSource.DataFrameWrite && lacking(table, frame.schema).isEmpty &&
      !WriteConfig.namesOperation(options, sessionConf, table)
    )
      options + (Options.Operation.key -> WriteOperation.Upsert.name)
    else options

  /**
   * The frame as the write takes it: with columns that name the stored rows, if it changes such.
   *
   * @throws MerganserException FRAME_WITHOUT_KEYS
   */
  def identified(table: TableConfig, operation: WriteOperation, frame: DataFrame): DataFrame =
    if (!changesStored(table, operation)) frame
    else {
      val missing = lacking(table, frame.schema)
      if (missing.nonEmpty)
        throw MerganserException("FRAME_WITHOUT_KEYS", "operation" -> operation, "table" -> table.name,
          "columns" -> missing.mkString(", "))
      def stored(name: String) =
        if (frame.schema.fieldNames.contains(name)) WriteRow.quoted(name).cast(StringType)
        else lit(null).cast(StringType)
      frame.withColumn(WriteRow.StoredKey.name, stored(MetaColumns.RecordKey))
        .withColumn(WriteRow.StoredPath.name, stored(MetaColumns.PartitionPath))
        .withColumn(WriteRow.SourceArrival.name, lit(null).cast(LongType))
    }

  /** Whether rows name their stored rows by the meta columns, and need no columns of key and partition. */
  def changesStored(table: TableConfig, operation: WriteOperation): Boolean =
    KeylessTable.is(table) && (operation == WriteOperation.Upsert || operation == WriteOperation.Delete)

  private def lacking(table: TableConfig, frame: StructType): Seq[String] =
    (MetaColumns.RecordKey +: (if (table.partitionFields.isEmpty) Nil else Seq(MetaColumns.PartitionPath)))
      .filterNot(frame.fieldNames.contains)
}
