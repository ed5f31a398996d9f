package io.merganser.table.commit

import io.merganser.merge.MerganserException
import io.merganser.table.properties.{PropertiesFile, TableConfig}
import io.merganser.table.rule.StoredRule
import io.merganser.table.storage.{Storage, TableLock}
import io.merganser.table.timeline.Timeline
import org.slf4j.LoggerFactory

/**
 * Creation of tables. A table that a first write creates is there before its first commit, so a write that dies between the two
 * leaves a table nobody asked for: it has no commit and was not declared with columns. It counts as not created.
 */
object Creation {

  private val Log = LoggerFactory.getLogger(getClass)

  /**
   * Creates an empty table. The properties file comes last and appears at once: before it the path is no table.
   *
   * @param properties all of the table's properties; the checksum is added
   * @throws io.merganser.merge.MerganserException TABLE_EXISTS; FOLDER_NOT_EMPTY where files of others lie
   */
  def create(storage: Storage, properties: Map[String, String]): TableConfig = {
    val config = TableConfig.supported(storage, TableConfig.withChecksum(properties))
    if (TableConfig.exists(storage)) throw MerganserException("TABLE_EXISTS", "path" -> storage)
    TableFolder.requireEmpty(storage)
    storage.makeFolder(config.historyFolder)
    try storage.createNew(PropertiesFile.Name, PropertiesFile.write(config.properties))
    catch {
      case _: org.apache.hadoop.fs.FileAlreadyExistsException =>
        throw MerganserException("TABLE_EXISTS", "path" -> storage)
    }
    StoredRule.warning(config).foreach(Log.warn)
    config
  }

  /** Whether the path holds a table that a first write began, did not complete, and shows no sign of life of. */
  def isUnfinished(storage: Storage): Boolean = TableConfig.exists(storage) && {
    val config = TableConfig.load(storage)
    isUnfinished(storage, config, Timeline.load(storage, config))
  }

  /**
   * Makes an empty table for a first write, in the place of an unfinished one if there is one.
   *
   * @throws io.merganser.merge.MerganserException LOCK_TIMEOUT; TABLE_EXISTS if somebody else's table is there by now
   */
  def begin(
      storage: Storage,
      properties: Map[String, String],
      lock: TableLock.Settings = TableLock.Settings()
  ): TableConfig =
    if (!TableConfig.exists(storage)) create(storage, properties)
    else
      TableLock.hold(storage, lock) { _ =>
        val config   = TableConfig.load(storage)
        val timeline = Timeline.load(storage, config)
        if (!isUnfinished(storage, config, timeline)) throw MerganserException("TABLE_EXISTS", "path" -> storage)
        timeline.pendingWrites.foreach(Rollback.remove(storage, config, timeline, _))
        TableConfig.updateUnderLock(storage, _ => properties)
      }

  /** Takes a creation back whose first write failed, unless another write has begun or completed since. */
  def undo(storage: Storage, lock: TableLock.Settings = TableLock.Settings()): Unit = {
    val isUndone = TableLock.hold(storage, lock) { _ =>
      TableConfig.exists(storage) && Timeline.load(storage, TableConfig.load(storage)).instants.isEmpty && {
        TableConfig.remove(storage)
        // Whoever creates a table here by now cannot begin a write before we let go of the lock.
        storage.list(Folder).filter(_.isDirectory).foreach(f => storage.deleteFolder(s"$Folder/${f.getPath.getName}"))
        true
      }
    }
    if (isUndone && storage.list(Folder).isEmpty) storage.delete(Folder)
    ()
  }

  private val Folder = ".hoodie"

  private def isUnfinished(storage: Storage, config: TableConfig, timeline: Timeline): Boolean =
    timeline.completed.isEmpty && config.createSchema.isEmpty && timeline.pendingWrites.forall(i =>
      Heartbeat.hasExpired(storage, i.requested))
}
