package io.merganser.spark.source

import io.merganser.merge.{DeleteCheck, MerganserException}
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.service.{Registration, ServiceScope}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.TableCommit
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.commit.{CommitRequest, Transaction, Work}
import io.merganser.table.options.WriteSource
import io.merganser.table.schema.{FrameCheck, InternalSchema, InternalSchemaJson, SchemaEvolution}
import io.merganser.table.settings.WriteConfig
import io.merganser.table.timeline.{Action, CommitMetadata, OperationType}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.connector.catalog.TableChange
import org.apache.spark.sql.connector.catalog.TableChange._
import org.apache.spark.sql.merganser.{CatalogBridge, SparkBridge}
import org.apache.spark.sql.types._

/**
 * ALTER TABLE on columns. The change is a separate commit without rows: files stay as they are. They are read by column
 * name, with nulls for columns they lack and narrower types widened; by ids in a table with [[ColumnVersions]].
 */
object AlterColumns {

  /**
   * Changes the columns of a table and of its entry in the session catalog.
   *
   * @param changes those of anything but columns are ignored
   * @return as of [[run]]
   */
  def ofCatalog(session: SparkSession, entry: CatalogTable, changes: Seq[TableChange]): () => Unit = {
    val path     = CatalogTables.path(entry)
    val declared = CatalogBridge.columns(entry)
    val table    = OpenTable.load(session, path)
    val seen     = DeclaredColumns.over(table.schema, declared)
    val register = run(session, path, changes)
    // An entry without columns takes them from the table's folder.
    if (declared.nonEmpty) {
      val columns =
        new ColumnChanges(entry.identifier.unquotedString, table.config.partitionFields).applied(seen, changes)
      // Spark refuses columns without one that the entry has.
      if (changes.exists(c => c.isInstanceOf[RenameColumn] || c.isInstanceOf[DeleteColumn]))
        CatalogBridge.replaceColumns(session, entry.identifier, columns)
      else CatalogBridge.alterColumns(session, entry.identifier, columns)
    }
    SparkBridge.refreshCached(session, entry.identifier)
    register
  }

  /**
   * Changes the columns of the table at a path, in one commit.
   *
   * @param changes those of anything but columns are ignored
   * @return registers the table in a Hive metastore, if that is configured: to be called last, since its failure, which
   *         is WRITE_COMMITTED_SYNC_FAILED, leaves the change committed
   * @throws MerganserException COLUMN_CHANGE_UNSUPPORTED, SCHEMA_CONFLICT, UNSUPPORTED_TYPE, UNSUPPORTED_COLUMN_NAME,
   *                            DELETE_FLAG_NOT_BOOLEAN, COMMIT_CONFLICT; nothing is changed then
   */
  def run(session: SparkSession, path: String, changes: Seq[TableChange]): () => Unit = {
    val table       = OpenTable.load(session, path)
    val hasVersions = ColumnVersions.areKept(table, FrameWrite.sessionConf(session), changes)
    val edit        = new ColumnChanges(table.config.name, table.config.partitionFields, hasVersions)
    val changed     = AvroSchemas.stored(edit.applied(table.schema, changes))
    AvroSchemas.checkColumns(changed)
    FrameCheck.requireDeleteFlag(changed, table.schema, table.config.name, "alter")
    SchemaEvolution.requireStable(table.config, table.schema, changed)
    val version = if (hasVersions) ColumnVersions.after(table, changes) else None
    if (changed == table.schema && version.isEmpty) () => ()
    else {
      val settings = WriteConfig.parse(Map.empty, FrameWrite.sessionConf(session), table.config, WriteSource.SqlChange)
      val instant  = commit(table, settings, changed, version)
      () => Registration.after(ServiceScope(session, table, settings), instant)
    }
  }

  /** Names a new column that marks deletes as readers look for it, in whichever case it was written. */
  private[source] def withFlagSpelled(change: TableChange): TableChange = change match {
    case add: AddColumn if add.fieldNames.length == 1 && isFlag(add.fieldNames.head) =>
      TableChange.addColumn(Array(DeleteCheck.FlagColumn), add.dataType, add.isNullable, add.comment, add.position,
        add.defaultValue)
    case rename: RenameColumn if rename.fieldNames.length == 1 && isFlag(rename.newName) =>
      TableChange.renameColumn(rename.fieldNames, DeleteCheck.FlagColumn)
    case other => other
  }

  private def isFlag(column: String): Boolean = column.equalsIgnoreCase(DeleteCheck.FlagColumn)

  private def commit(
      table: OpenTable,
      settings: WriteConfig,
      columns: StructType,
      version: Option[InternalSchema]
  ): String = {
    val (storage, config) = (table.storage, table.config)
    val options           = Transaction.Options.of(settings)
    val action            = if (config.isMergeOnRead) Action.DeltaCommit else Action.Commit
    Transaction.run(storage, config, action, options) { transaction =>
      if (transaction.timeline.tableSchemaJson != table.timeline.tableSchemaJson)
        throw MerganserException("COMMIT_CONFLICT", "instant" -> transaction.instant, "path" -> storage,
          "reason" -> "another writer changed the table's columns at the same time")
      val versions = version.map { v =>
        CommitMetadata.LatestSchemaKey -> InternalSchemaJson.of(ColumnVersions.numbered(v, transaction.instant))
      }
      val metadata = TableCommit.metadata(OperationType.AlterSchema, table, columns, Nil, None,
        extra = transaction.timeline.listAdded(table.forCommit(columns)) ++ versions)
      Work(transaction.instant, Some(CommitRequest(metadata, touched = Set.empty)))
    }
  }
}
