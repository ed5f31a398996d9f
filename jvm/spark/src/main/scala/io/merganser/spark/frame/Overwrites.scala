package io.merganser.spark.frame

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.Replaced
import io.merganser.spark.write.key.KeyColumns
import io.merganser.spark.write.prepare.WriteRow
import io.merganser.table.options.{Options, WriteOperation, WriteSource}
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.FrameCheck
import io.merganser.table.settings.{OverwriteMode, WriteConfig}
import org.apache.spark.sql.{DataFrame, SaveMode, SparkSession}

/**
 * Decides what a write replaces, for data frames, `insertInto`, `writeTo`, SQL and Python.
 *
 * What the write itself names comes first (PARTITION, a condition, `overwritePartitions`, an operation), then its
 * options, then the session's: see [[OverwriteMode]].
 */
private[spark] object Overwrites {

  /** What an overwrite that names no partitions replaces. */
  def unnamed(session: SparkSession, config: TableConfig, options: Map[String, String]): Replaced =
    if (OverwriteMode.isDynamic(options, FrameWrite.sessionConf(session))) written(config) else Replaced.All

  /**
   * What an INSERT OVERWRITE replaces; None: what its PARTITION names, which is everything without values. Where the
   * session or an option names an operation, that is more explicit than an overwrite mode.
   *
   * @param isOpen    whether its PARTITION has no value for some partition column
   * @param hasValues whether it has a value for one, or may have one
   * @throws MerganserException DELETE_NEEDS_APPEND; OPTION_CONFLICT where the operation replaces other rows
   */
  def ofInsert(
      session: SparkSession,
      config: TableConfig,
      options: Map[String, String],
      isOpen: Boolean,
      hasValues: Boolean
  ): Option[Replaced] = {
    val operation = WriteConfig.namedOperation(options, FrameWrite.sessionConf(session))
    def byMode    = if (isOpen) Some(unnamed(session, config, options)).filter(_ != Replaced.All) else None
    def refused(other: WriteOperation) =
      MerganserException("OPTION_CONFLICT", "key" -> Options.Operation.key, "value" -> other,
        "otherKey" -> "the statement", "otherValue" -> "INSERT OVERWRITE of some partitions")
    operation match {
      case Some(delete) if deletes(delete) => throw needsAppend(delete.name, "overwrite")
      case Some(other @ (WriteOperation.Upsert | WriteOperation.Insert)) if hasValues || byMode.isDefined =>
        throw refused(other)
      case Some(WriteOperation.InsertOverwriteTable) if hasValues => throw refused(WriteOperation.InsertOverwriteTable)
      case Some(other @ (WriteOperation.InsertOverwrite | WriteOperation.InsertOverwriteTable)) if isOpen =>
        Some(ofOperation(other, config, options)).filter(_ != Replaced.All)
      case _ => byMode
    }
  }

  /** The partitions of the written rows; a table without partitions counts as one. */
  def written(config: TableConfig): Replaced = if (config.partitionFields.isEmpty) Replaced.All else Replaced.Written

  /** What a write with mode append replaces. */
  def ofOperation(operation: WriteOperation, config: TableConfig, options: Map[String, String]): Replaced =
    operation match {
      case WriteOperation.InsertOverwrite =>
        OverwriteMode.requireNot(dynamic = false, options, operation.name)
        written(config)
      case WriteOperation.InsertOverwriteTable =>
        OverwriteMode.requireNot(dynamic = true, options, operation.name)
        Replaced.All
      case _ => Replaced.Nothing
    }

  /**
   * What an overwrite replaces.
   *
   * @param named what the write names; None where it names nothing
   * @throws MerganserException DELETE_NEEDS_APPEND, OPTION_CONFLICT where an operation and the write name different
   *                            rows
   */
  def apply(
      session: SparkSession,
      config: TableConfig,
      settings: WriteConfig,
      options: Map[String, String],
      named: Option[Replaced],
      source: WriteSource
  ): Replaced = {
    if (deletes(settings.operation)) throw needsAppend(settings.operation.name, "overwrite")
    val byOperation = ofOperation(settings.operation, config, options)
    named match {
      // A statement was compared with the operation when it was planned.
      case Some(replaced) if source == WriteSource.SqlInsert => replaced
      case Some(replaced) =>
        if (byOperation != Replaced.Nothing && byOperation != replaced)
          throw MerganserException("OPTION_CONFLICT", "key" -> Options.Operation.key, "value" -> settings.operation,
            "otherKey" -> "the write", "otherValue" -> "other partitions")
        replaced
      case None => if (byOperation != Replaced.Nothing) byOperation else unnamed(session, config, options)
    }
  }

  /**
   * Refuses deletes by any save mode but append: the others mean something else for the table.
   *
   * @throws MerganserException DELETE_NEEDS_APPEND
   */
  def requireAppend(session: SparkSession, mode: SaveMode, options: Map[String, String]): Unit =
    if (mode != SaveMode.Append) {
      val operation = WriteConfig.operation(options, FrameWrite.sessionConf(session))
      if (deletes(operation)) throw needsAppend(operation.name, mode.toString.toLowerCase(java.util.Locale.ROOT))
    }

  /**
   * Refuses deletes from a table that there is not yet.
   *
   * @throws MerganserException DELETE_FROM_NO_TABLE
   */
  def requireRows(operation: WriteOperation, path: String): Unit =
    if (deletes(operation)) throw MerganserException("DELETE_FROM_NO_TABLE", "path" -> path)

  private def deletes(operation: WriteOperation): Boolean =
    operation == WriteOperation.Delete || operation == WriteOperation.DeletePartition

  private def needsAppend(operation: String, mode: String) =
    MerganserException("DELETE_NEEDS_APPEND", "operation" -> operation, "mode" -> mode)

  /**
   * The partitions that `delete_partition` removes: those of its option, else those that the frame's rows name.
   *
   * @throws MerganserException TABLE_WITHOUT_PARTITIONS, COLUMN_MISSING
   */
  def dropped(table: OpenTable, settings: WriteConfig, frame: DataFrame): Replaced = {
    val config = settings.keyed(table.config)
    if (config.partitionFields.isEmpty) throw MerganserException("TABLE_WITHOUT_PARTITIONS", "table" -> config.name)
    settings.partitionsToDelete.map(Replaced.Dropped(_)).getOrElse {
      FrameCheck.requireColumns(frame.schema, config.name, "delete partitions of", Nil, config.partitionFields, Nil)
      val columns =
        table.schema.filter(f => config.partitionFields.exists(_.takeWhile(_ != '.').equalsIgnoreCase(f.name)))
      val values = frame.select(columns.map(f => WriteRow.quoted(f.name).cast(f.dataType).as(f.name)): _*)
      val paths =
        values.select(KeyColumns.partitionPath(config, table.schema)).distinct().collect().map(_.getString(0)).toSet
      Replaced.Dropped(paths)
    }
  }
}
