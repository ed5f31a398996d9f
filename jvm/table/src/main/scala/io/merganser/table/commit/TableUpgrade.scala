package io.merganser.table.commit

import io.merganser.merge.MerganserException
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.{TableAccess, UpgradedTable}
import io.merganser.table.slice.TableView
import io.merganser.table.storage.{Storage, TableLock}
import io.merganser.table.timeline.{Action, CommitMetadata, InstantFile, InstantState, InstantTime, Timeline}
import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.types.StructType

/**
 * Upgrades a table of version 6 or 8 to version 9. Base files are not changed.
 *
 * The timeline of a table of version 6 is first rewritten in the layout of later versions; readers ignore it until the
 * properties, which change atomically, refer to it. An upgrade that died before that is started from scratch. The files
 * that no reader uses, of the new layout before that step and of the old one after it, are removed by the next write.
 */
object TableUpgrade {

  /**
   * @param columns the table's data columns
   * @return the table's properties, unchanged if the version was 9 already
   * @throws MerganserException UPGRADE_REFUSED if an action is pending, logs are not compacted or the folder of the
   *                            later layout has instants of its own, and what [[UpgradedTable.properties]] and
   *                            [[TableFeatures.requireWritable]] throw
   */
  def run(
      storage: Storage,
      columns: StructType,
      access: TableAccess = TableAccess()
  ): TableConfig =
    TableLock.hold(storage, access.lock) { tableLock =>
      val config = TableConfig.repair(storage)
      if (config.version >= UpgradedTable.Version) config
      else {
        val timeline = Timeline.load(storage, config)
        TableFeatures.requireWritable(storage, config, timeline, access.permits)
        requireNothingPending(storage, config, timeline)
        val upgraded = TableConfig(UpgradedTable.properties(config, columns))
        val moves    = config.layoutVersion < upgraded.layoutVersion
        if (moves) requireNothingMoved(storage, config, timeline, upgraded)
        MetadataTable.drop(storage, access.permits)
        if (moves) rewriteTimeline(storage, timeline, upgraded)
        tableLock.requireHeld()
        val result = TableConfig.updateUnderLock(storage,
          now => upgraded.properties -- (config.properties.keySet -- now.keySet))
        if (moves) timeline.fileNames.foreach(name => storage.delete(config.timelineFile(name)))
        result
      }
    }

  /**
   * The properties that an upgrade would give the table; changes nothing.
   *
   * @throws MerganserException what [[UpgradedTable.properties]] throws
   */
  def preview(config: TableConfig, columns: StructType): TableConfig =
    if (config.version >= UpgradedTable.Version) config else TableConfig(UpgradedTable.properties(config, columns))

  /**
   * Files of the timeline in the layout that the table does not have, or no longer has: copies that an upgrade left
   * which died. Files of instants that are not on the timeline are not among them: another engine, whose upgrades move
   * the files, may have left those.
   */
  private[commit] def remains(storage: Storage, config: TableConfig, timeline: Timeline): Seq[String] =
    if (config.isCreatedInLayout2) Nil
    else {
      val folder    = config.otherTimelineFolder
      lazy val here = timeline.instants.map(_.requested).toSet
      storage.list(folder).filter(_.isFile).map(_.getPath.getName)
        .filter(name => name.matches("\\d{14,17}[._].*") && here(name.takeWhile(_.isDigit))).map(name =>
          s"$folder/$name")
    }

  private def requireNothingPending(storage: Storage, config: TableConfig, timeline: Timeline): Unit = {
    timeline.pending.headOption.foreach(i => throw refused(config, s"the ${i.action} of ${i.requested} is pending"))
    new TableView(storage, config, timeline).slices.find(_.logs.nonEmpty).foreach { slice =>
      throw refused(config, s"file group '${slice.fileId}' has log files that are not compacted")
    }
  }

  private def refused(config: TableConfig, reason: String): MerganserException =
    MerganserException("UPGRADE_REFUSED", "table" -> config.name, "version" -> config.version, "reason" -> reason)

  /**
   * The folder of the later layout is removed and written again. Other engines' upgrades move instants and the archive
   * there: of one that died, it may have the only copies.
   */
  private def requireNothingMoved(
      storage: Storage,
      config: TableConfig,
      timeline: Timeline,
      upgraded: TableConfig
  ): Unit = {
    def isCopy(name: String) =
      name.startsWith(".") || InstantFile.parse(name).exists(i => timeline.find(i.requested, i.action).isDefined)
    def path(file: FileStatus) = s"${file.getPath.getParent.getName}/${file.getPath.getName}"
    val (history, files) =
      storage.list(upgraded.timelineFolder).partition(f => f.isDirectory && upgraded.historyFolder.endsWith(path(f)))
    val archived = history.flatMap(_ => storage.list(upgraded.historyFolder)).filterNot(
      _.getPath.getName.startsWith("."))
    (files.filterNot(f => f.isFile && isCopy(f.getPath.getName)) ++ archived).map(path).sorted.headOption.foreach {
      file =>
        throw refused(config,
          s"folder ${storage.path(upgraded.timelineFolder)} has '$file', which is missing on this " +
            "version's timeline. An upgrade by another engine may have moved it there and died: let that engine " +
            "complete its upgrade. If there was none, move the folder away")
    }
  }

  /** Instants of version 6 have no completion time; the assigned ones preserve the order of requested times. */
  private def rewriteTimeline(storage: Storage, timeline: Timeline, upgraded: TableConfig): Unit = {
    storage.deleteFolder(upgraded.timelineFolder) // files of an upgrade that died
    storage.makeFolder(upgraded.timelineFolder)
    storage.makeFolder(upgraded.historyFolder)
    for (instant <- timeline.instants; (state, bytes) <- timeline.contents(instant)) {
      val isWrite = instant.action.isWrite
      val (name, content) = state match {
        case InstantState.Completed =>
          val completed =
            InstantFile.completed(instant.requested, Some(InstantTime.following(instant.requested)), instant.action)
          completed -> (if (isWrite)
                          CommitMetadata.encodeAvro(timeline.metadata(instant), instant.action == Action.ReplaceCommit)
                        else bytes)
        case InstantState.Inflight  => timeline.nameOf(instant, state) -> (if (isWrite) Array.emptyByteArray else bytes)
        case InstantState.Requested => timeline.nameOf(instant, state) -> bytes
      }
      storage.replace(upgraded.timelineFile(name), content)
    }
  }
}
