package io.merganser.spark.frame

import io.merganser.merge.MerganserException
import io.merganser.spark.read.SnapshotPinning
import io.merganser.spark.service.{AfterCommit, ServiceScope, UpgradeService}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.{ObservedRows, Replaced, TableWrite, WriteResult}
import io.merganser.spark.write.place.{IndexResolver, StoredKeyForm}
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.commit.{AppTransactions, Creation}
import io.merganser.table.options._
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.{ColumnOrder, DroppedColumns, FrameCheck, MetaColumns, SchemaEvolution}
import io.merganser.table.settings.{NewTable, WriteConfig}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Timeline
import org.apache.spark.sql.{DataFrame, SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.functions.lit
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types.StructType

/** Writes whole frames, whether from a data frame, INSERT or Python. */
object FrameWrite {

  /**
   * Writes a frame to a path, creating the table if the save mode allows it.
   *
   * @return None if the mode is Ignore and the table exists
   */
  def save(
      session: SparkSession,
      path: String,
      mode: SaveMode,
      options: Map[String, String],
      frame: DataFrame
  ): Option[WriteResult] = {
    val storage = OpenTable.storage(session, path)
    Overwrites.requireAppend(session, mode, options)
    mode match {
      // It need not be a table that we can read.
      case SaveMode.Ignore | SaveMode.ErrorIfExists =>
        val exists = TableConfig.exists(storage)
        if (!exists || Creation.isUnfinished(storage)) Some(create(session, storage, options, frame))
        else if (mode == SaveMode.Ignore) None
        else if (isRepetition(session, storage, options))
          Some(append(session, OpenTable.load(storage), options, frame))
        else throw MerganserException("TABLE_EXISTS", "path" -> path)
      case SaveMode.Append | SaveMode.Overwrite =>
        val found = OpenTable.find(storage).filterNot(_.isUnfinished)
        Some(found.fold(create(session, storage, options, frame)) { table =>
          if (mode == SaveMode.Overwrite) overwrite(session, table, options, frame)
          else append(session, table, options, frame)
        })
    }
  }

  /** Whether the transaction of a write is committed in a table that exists: the write may have created it. */
  private def isRepetition(session: SparkSession, storage: Storage, options: Map[String, String]): Boolean =
    WriteConfig.transaction(options, sessionConf(session)).exists { transaction =>
      AppTransactions.find(OpenTable.load(storage).timeline, transaction).isDefined
    }

  /**
   * Writes a frame to an existing table, by the operation in its options.
   *
   * @param readAt timeline as of which the frame reads the table itself; None takes it from the frame's plan
   */
  def append(
      session: SparkSession,
      opened: OpenTable,
      options: Map[String, String],
      frame: DataFrame,
      source: WriteSource = WriteSource.DataFrameWrite,
      readAt: Option[Timeline] = None
  ): WriteResult = {
    val table    = upgradedOnRequest(session, opened, options)
    val named    = KeylessFrames.options(options, sessionConf(session), table.config, frame, source)
    val parsed   = WriteConfig.parse(named, sessionConf(session), table.config, source)
    val replaced = Overwrites.ofOperation(parsed.operation, table.config, options)
    val settings = settled(parsed, table, replaced)
    val seen     = readAt.orElse(SnapshotPinning.readAt(frame, table.storage))
    if (settings.operation == WriteOperation.DeletePartition) {
      val none = SparkBridge.internalCreateDataFrame(session, session.sparkContext.emptyRDD[InternalRow], table.schema)
      run(session, table, settings, none, table.schema, Overwrites.dropped(table, settings, frame), seen)
    } else
      run(session, table, settings, frame, columns(table, settings, frame), replaced, seen)
  }

  /**
   * Replaces rows in one commit; settings other than the table's are refused.
   *
   * @param replaced    what the write names; None: by options and session, by default all rows
   * @param readAt      timeline as of which the frame reads the table itself: what it read must still be stored; None
   *                    takes it from the frame's plan
   * @param withColumns true where the table's columns become exactly the frame's, those of partitions last
   */
  def overwrite(
      session: SparkSession,
      opened: OpenTable,
      options: Map[String, String],
      frame: DataFrame,
      source: WriteSource = WriteSource.DataFrameWrite,
      replaced: Option[Replaced] = None,
      readAt: Option[Timeline] = None,
      withColumns: Boolean = false
  ): WriteResult = {
    val table = upgradedOnRequest(session, opened, options)
    val parsed =
      try WriteConfig.parse(options, sessionConf(session), table.config, source)
      catch {
        case e: MerganserException if e.condition == "CONFIG_CONFLICT" =>
          throw MerganserException("OVERWRITE_WITH_OTHER_SETTINGS", "table" -> table.config.name,
            "conflict" -> e.getMessage).causedBy(e)
      }
    val gone     = Overwrites(session, table.config, parsed, options, replaced, source)
    val settings = settled(parsed, table, gone)
    val data =
      if (withColumns) ColumnOrder.ofNew(storedSchema(table.config, frame), table.config.partitionFields)
      else columns(table, settings, frame)
    run(session, table, settings, frame, data, gone, readAt.orElse(SnapshotPinning.readAt(frame, table.storage)))
  }

  private def settled(parsed: WriteConfig, table: OpenTable, replaced: Replaced): WriteConfig =
    if (replaced == Replaced.All) StoredKeyForm.settledUnlessSet(parsed, table)
    else StoredKeyForm.settled(parsed, table)

  private def upgradedOnRequest(session: SparkSession, table: OpenTable, options: Map[String, String]): OpenTable =
    if (
      table.config.version < 9 && WriteConfig.requestsUpgrade(options, sessionConf(session)) &&
      !WriteConfig.isDryRun(options, sessionConf(session))
    ) {
      UpgradeService.run(session, table.storage.basePath.toString, options)
      table.refreshed()
    } else table

  /** The table's columns after this write: the frame may add some and widen some. */
  private def columns(table: OpenTable, settings: WriteConfig, frame: DataFrame): StructType =
    if (table.schema.isEmpty) storedSchema(table.config, frame)
    else if (settings.operation == WriteOperation.Delete) table.schema
    else if (!settings.evolvesSchema) FrameCheck.withNullsOf(frame.schema, table.schema)
    else {
      val columns = FrameColumns.withoutFlag(frame.schema, table.schema)
      val evolved = SchemaEvolution.ofWrite(table.config, table.schema, columns, settings.widensToString)
      FrameCheck.withNullsOf(frame.schema, evolved)
    }

  private def create(
      session: SparkSession,
      storage: Storage,
      options: Map[String, String],
      frame: DataFrame
  ): WriteResult = {
    val stored = AvroSchemas.stored(FrameCheck.ofNewTable(MetaColumns.ofUser(frame.schema)))
    val properties =
      NewTable.properties(options, stored, storage.basePath.getName, sessionConf = sessionConf(session))
    val config = TableConfig(properties)
    val schema = newSchema(config, stored)
    val parsed = WriteConfig.parse(options, sessionConf(session), config, creating = true)
    Overwrites.requireRows(parsed.operation, storage.basePath.toString)
    FrameColumns.check(frame, schema, config, parsed)
    val replaced = Overwrites.ofOperation(parsed.operation, config, options)
    if (parsed.dryRun.isDefined)
      run(session, new OpenTable(storage, config, Timeline.load(storage, config)), parsed, frame, schema, replaced)
    else {
      Creation.begin(storage, properties, parsed.access.lock)
      // A table without a commit counts as not created.
      try run(session, OpenTable.load(storage), parsed.copy(allowEmptyCommit = true), frame, schema, replaced)
      catch {
        case e: Throwable =>
          // Undo what this call began, so that the path is not a table.
          try Creation.undo(storage, parsed.access.lock)
          catch { case second: Throwable => e.addSuppressed(second) }
          throw e
      }
    }
  }

  private def run(
      session: SparkSession,
      table: OpenTable,
      settings: WriteConfig,
      frame: DataFrame,
      data: StructType,
      replaced: Replaced,
      readAt: Option[Timeline] = None
  ): WriteResult = {
    val missing = addedAndMissing(table, settings, frame, data)
    FrameColumns.check(frame, data, table.config, settings, missing, table.logsPartialRows)
    val isDelete = settings.operation == WriteOperation.Delete
    val masks    = if (isDelete) Nil else FrameColumns.provided(frame, data, settings)
    val observed = new ObservedRows(frame)
    def rows     = KeylessFrames.identified(table.config, settings.operation, observed.forAttempt())
    val result = observed.reporting(
      new TableWrite(session, table, settings).run(rows, data, lit(isDelete), replaced, masks, readAt))
    AfterCommit.run(ServiceScope(session, table, settings), result)
  }

  /**
   * Columns that the frame lacks and may omit: its job may be older than they are. An insert that may be merged with a
   * stored row must provide them all, since its nulls would replace stored values.
   */
  private def addedAndMissing(
      table: OpenTable,
      settings: WriteConfig,
      frame: DataFrame,
      data: StructType
  ): Set[String] = {
    def merges =
      settings.operation == WriteOperation.Insert && settings.storedKeys == StoredKeyPolicy.MergeInFileGroup ||
        IndexResolver.resolve(settings.index, table).isInstanceOf[IndexType.Bucket]
    val missing = data.fieldNames.filter(FrameCheck.find(frame.schema, _).isEmpty).toSet
    if (settings.missingColumns != MissingColumns.Added || missing.isEmpty) Set.empty
    else if (settings.operation != WriteOperation.Upsert && merges) Set.empty
    else missing.intersect(table.timeline.addedColumns)
  }

  /** The columns of a frame as a new table stores them. */
  private def storedSchema(config: TableConfig, frame: DataFrame): StructType =
    newSchema(config, AvroSchemas.stored(MetaColumns.ofUser(frame.schema)))

  /** The columns of a table whose commits will have these. */
  private def newSchema(config: TableConfig, columns: StructType): StructType =
    DroppedColumns.added(config, DroppedColumns.removed(config, columns))

  private[spark] def sessionConf(session: SparkSession): Map[String, String] = session.conf.getAll
}
