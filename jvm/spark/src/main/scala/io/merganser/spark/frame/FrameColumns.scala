package io.merganser.spark.frame

import io.merganser.merge.MerganserException
import io.merganser.spark.write.prepare.ColumnMask
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.options.{MissingColumns, NullOrdering, Options, WriteOperation}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.{CompiledRule, StoredRule}
import io.merganser.table.schema.FrameCheck
import io.merganser.table.settings.{KeylessTable, WriteConfig}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.types.StructType

/** The columns of a frame beside those of the table whose rows it changes. */
private[frame] object FrameColumns {

  /** Drops the delete flag column from the frame's schema unless the table stores it. */
  def withoutFlag(frame: StructType, data: StructType): StructType = {
    val flag = FrameCheck.deleteFlag(frame, data)
    StructType(frame.filterNot(flag.contains))
  }

  /**
   * Checks that the frame has what the operation needs, before anything is written.
   *
   * @param missing columns that it may omit; it must have the table's others
   * @param logsPartialRows whether the logs of an existing table may have rows with some of the columns
   * @param areStored whether the rows are stored, and not only merged with each other
   */
  def check(
      frame: DataFrame,
      data: StructType,
      config: TableConfig,
      settings: WriteConfig,
      missing: Set[String] = Set.empty,
      logsPartialRows: Boolean = true,
      areStored: Boolean = true
  ): Unit = {
    AvroSchemas.checkColumns(data)
    val isDelete = settings.operation == WriteOperation.Delete
    val ordering = if (isDelete || !needsOrdering(settings)) Nil else CompiledRule.orderingFields(settings.rule, data)
    // Deletes by the meta columns name their partition there.
    val partitions = if (isDelete && KeylessTable.is(config)) Nil else config.partitionFields
    FrameCheck.requireColumns(frame.schema, config.name, s"${settings.operation} into", config.recordKeyFields,
      partitions, ordering)
    if (!isDelete) FrameCheck.requireDeleteFlag(frame.schema, data, config.name, s"${settings.operation} into")
    val compared =
      if (isDelete) StructType(frame.schema.filter(f => data.fieldNames.contains(f.name)))
      else withoutFlag(frame.schema, data)
    val isStrict = settings.missingColumns == MissingColumns.Reject || settings.missingColumns == MissingColumns.Added
    FrameCheck.requireSchema(compared, StructType(data.filterNot(f => missing(f.name))), config.name,
      nullForMissing = isDelete || !isStrict)
    if (!isDelete && settings.missingColumns == MissingColumns.Keep)
      FrameCheck.requireWholeStructs(compared, data, config.name)
    if (
      settings.missingColumns == MissingColumns.Keep && !isDelete && settings.operation != WriteOperation.Upsert &&
      provided(frame, data, settings).nonEmpty
    )
      throw MerganserException("KEEP_NEEDS_UPSERT", "operation" -> settings.operation, "table" -> config.name,
        "columns" -> data.fieldNames.filter(FrameCheck.find(frame.schema, _).isEmpty).mkString(", "),
        "key" -> Options.MissingColumnsOption.key)
    // Logs with full rows: the rule would be applied both when they are written and when they are read.
    val mergesTwice = config.isMergeOnRead && (config.version < 8 || !logsPartialRows) &&
      (settings.rule.isInstanceOf[StoredRule.UserMerger] || settings.rule.addsValues)
    val isPartial = provided(frame, data, settings).nonEmpty
    if (!isDelete && mergesTwice && !isPartial) retractions(frame.schema, settings).foreach { column =>
      throw MerganserException("RETRACTIONS_NEED_PARTIAL_ROWS", "operation" -> settings.operation,
        "table" -> config.name, "column" -> column)
    }
    if (!isDelete && mergesTwice && isPartial)
      throw MerganserException("KEEP_NEEDS_VERSION", "operation" -> settings.operation, "table" -> config.name,
        "columns" -> data.fieldNames.filter(FrameCheck.find(frame.schema, _).isEmpty).mkString(", "),
        "logs" -> (if (config.version < 8) s"table version ${config.version}"
                   else "a table with versions of its columns"),
        "key" -> Options.MissingColumnsOption.key)
    if (!isDelete) provided(frame, data, settings).foreach(mask => requireRead(mask.columns, data, config, settings))
    if (areStored) requireStoredFlag(frame.schema, data, config, settings)
  }

  /** Where deletes do more than to remove a row, logs have them as rows, with the columns that mark them. */
  private def requireStoredFlag(
      frame: StructType,
      data: StructType,
      config: TableConfig,
      settings: WriteConfig
  ): Unit = {
    if (settings.rule.decidesDeletes) FrameCheck.deleteMarks(frame, data).headOption.foreach { mark =>
      throw MerganserException("RULE_DELETES_NOT_STORED", "operation" -> settings.operation, "table" -> config.name,
        "column" -> mark.name)
    }
  }

  /** Rows that have a column which is merged by an expression have the columns that it reads of them. */
  private def requireRead(has: Set[String], data: StructType, config: TableConfig, settings: WriteConfig): Unit =
    settings.rule match {
      case declared: StoredRule.Declared =>
        for (column <- data.fieldNames.filter(has); reads <- declared.rule.reads(column, data)) {
          val lacks = reads.newer.filterNot(has)
          if (lacks.nonEmpty)
            throw MerganserException("RULE_COLUMNS_MISSING", "operation" -> settings.operation,
              "table" -> config.name, "column" -> column, "function" -> declared.of(column),
              "columns" -> lacks.mkString(", "))
        }
      case _ =>
    }

  /** The column that marks rows which take back what others added, if the frame has it: these are partial rows. */
  private def retractions(frame: StructType, settings: WriteConfig): Option[String] = settings.rule match {
    case declared: StoredRule.Declared =>
      declared.rule.retract.map(_.column).filter(FrameCheck.find(frame, _).isDefined)
    case _ => None
  }

  /** Whether the frame must have the ordering fields: without them, new keys get null ordering values. */
  private def needsOrdering(settings: WriteConfig): Boolean = settings.missingColumns match {
    case MissingColumns.Reject | MissingColumns.Added => true
    case MissingColumns.Null                          => false
    case MissingColumns.Keep                          => settings.nullOrdering == NullOrdering.Reject
  }

  /** The columns that all rows of the frame provide, where columns that it lacks keep their stored values. */
  def provided(frame: DataFrame, data: StructType, settings: WriteConfig): Seq[ColumnMask] = {
    val columns = data.fieldNames.filter(FrameCheck.find(frame.schema, _).isDefined).toSet
    val keeps = settings.missingColumns == MissingColumns.Keep ||
      settings.missingColumns == MissingColumns.Added && settings.operation == WriteOperation.Upsert
    if (!keeps || columns.size == data.length) Nil else Seq(ColumnMask(columns, inserts = true))
  }
}
