package io.merganser.table.commit

import io.merganser.merge.MerganserException
import io.merganser.table.properties.{PropertiesFile, TableConfig}
import io.merganser.table.rule.StoredRule
import io.merganser.table.settings.TableAccess
import io.merganser.table.storage.{Storage, StorageFailure, TableLock}
import io.merganser.table.timeline.Timeline
import org.slf4j.LoggerFactory

/**
 * Creation of tables. A table created by a first write exists before its first commit. If the write dies in between,
 * the table is unfinished: it has no commit and was not declared with columns. It counts as not created.
 */
object Creation {

  private val Log = LoggerFactory.getLogger(getClass)

  /**
   * Creates an empty table. The properties file is written last, atomically: before it the path is not a table.
   *
   * @param properties all of the table's properties; the checksum is added
   * @throws io.merganser.merge.MerganserException TABLE_EXISTS; FOLDER_NOT_EMPTY if there are foreign files
   */
  def create(storage: Storage, properties: Map[String, String]): TableConfig = StorageFailure.explained(storage) {
    val config = TableConfig.supported(storage, TableConfig.withChecksum(properties))
    if (TableConfig.exists(storage)) throw MerganserException("TABLE_EXISTS", "path" -> storage)
    TableFolder.requireEmpty(storage)
    storage.makeFolder(config.historyFolder)
    BucketMetadata.create(storage, config)
    try storage.createNew(PropertiesFile.Name, PropertiesFile.write(config.properties))
    catch {
      case _: org.apache.hadoop.fs.FileAlreadyExistsException =>
        throw MerganserException("TABLE_EXISTS", "path" -> storage)
    }
    StoredRule.warning(config).foreach(Log.warn)
    config
  }

  def isUnfinished(storage: Storage): Boolean = {
    val config = TableConfig.load(storage)
    isUnfinished(storage, config, Timeline.load(storage, config))
  }

  /** Whether it is a table whose first write neither completed nor shows a sign of life: it counts as not created. */
  def isUnfinished(storage: Storage, config: TableConfig, timeline: Timeline): Boolean =
    timeline.completed.isEmpty && config.createSchema.isEmpty && timeline.unfinished.isEmpty &&
      timeline.pendingWrites.forall(i => Heartbeat.hasExpired(storage, i.requested))

  /**
   * Creates an empty table for a first write, replacing an unfinished one if there is one.
   *
   * @throws io.merganser.merge.MerganserException LOCK_TIMEOUT; TABLE_EXISTS if another writer has created the table
   */
  def begin(
      storage: Storage,
      properties: Map[String, String],
      lock: TableLock.Settings = TableLock.Settings()
  ): TableConfig =
    if (!TableConfig.exists(storage)) create(storage, properties)
    else
      LockedTable.unchecked(storage, TableAccess(lock)) {
        val config = TableConfig.load(storage)
        (config, Timeline.load(storage, config))
      } { table =>
        import table.timeline
        if (!isUnfinished(storage, table.config, timeline)) throw MerganserException("TABLE_EXISTS", "path" -> storage)
        timeline.pendingWrites.foreach(Rollback.remove(table, _))
        BucketMetadata.create(storage, TableConfig(properties))
        TableConfig.updateUnderLock(storage, _ => properties)
      }

  /**
   * Changes the properties of a table that nothing has been written to.
   *
   * @return the properties that it has then; as they were if something has been written
   */
  def redeclare(
      storage: Storage,
      properties: TableConfig => Map[String, String],
      lock: TableLock.Settings = TableLock.Settings()
  ): TableConfig =
    TableLock.hold(storage, lock) { _ =>
      val config = TableConfig.repair(storage)
      if (Timeline.load(storage, config).instants.nonEmpty) config
      else TableConfig.updateUnderLock(storage, _ => properties(config))
    }

  /** Undoes a creation whose first write failed, unless another write has begun or completed since. */
  def undo(storage: Storage, lock: TableLock.Settings = TableLock.Settings()): Unit = {
    val isUndone = TableLock.hold(storage, lock) { _ =>
      TableConfig.exists(storage) && Timeline.load(storage, TableConfig.load(storage)).instants.isEmpty && {
        TableConfig.remove(storage)
        // A writer that creates a table here now cannot begin a write before we release the lock.
        storage.list(Folder).filter(_.isDirectory).foreach(f => storage.deleteFolder(s"$Folder/${f.getPath.getName}"))
        true
      }
    }
    if (isUndone && storage.list(Folder).isEmpty) storage.delete(Folder)
    ()
  }

  private val Folder = ".hoodie"
}
