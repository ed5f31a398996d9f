package io.merganser.table.commit

import io.merganser.merge.MerganserException
import io.merganser.table.file.{BaseFile, FileNames, Marker, MarkerKind, Markers, PartitionMetadata}
import io.merganser.table.log.BlockInstants
import io.merganser.table.options.FailedWrites
import io.merganser.table.properties.TableConfig
import io.merganser.table.slice.{ChangeFiles, LostCommits}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{
  CommitMetadata,
  CommitState,
  HistoryFiles,
  Instant,
  InstantFile,
  InstantState,
  Timeline
}
import org.apache.hadoop.fs.FileStatus
import org.slf4j.LoggerFactory

import java.io.FileNotFoundException

/**
 * Removes the files of writes that did not complete.
 *
 * Such a write was never visible, so it is removed without a trace: first data files, then its inflight and requested
 * files, then its markers. An interrupted rollback can be repeated. No `rollback` instant is written: only readers of
 * the metadata table would need it, and our commits drop that table. Compactions and clusterings stay scheduled: any
 * process may run their plan. Only a clustering whose plan was made for a run that has died is removed.
 */
object Rollback {

  private val UnpublishedAgeMs = 3600000L

  private val Log = LoggerFactory.getLogger(getClass)

  /** Folder to which base files without a known instant are moved, in subfolders by partition path. */
  private[table] val OrphansFolder = ".hoodie/.orphans"

  /**
   * Rolls back failed writes by the settings of a write: under EAGER every write that has not completed, which is
   * correct with a single writer; under LAZY those whose heartbeat stopped, which is correct with several; and under
   * both the clusterings of processes that have died, see [[ClusteringSchedule.Expiry]]. A table that
   * the write may not write is not changed; if nothing has failed, the write itself checks that, under its lock.
   *
   * @return the instants rolled back
   * @throws io.merganser.merge.MerganserException LOCK_TIMEOUT, ROLLBACK_UNSUPPORTED, COMMIT_LOST, and what
   *                                               [[TableFeatures.requireWritable]] throws
   */
  def failed(storage: Storage, config: TableConfig, options: Transaction.Options): Seq[Instant] = {
    val temporary = storage.list(Markers.Folder)
    def remains(timeline: Timeline): Seq[String] =
      Markers.instantsOf(temporary).filter(instant => !timeline.pending.exists(_.requested == instant))
    def abandoned(timeline: Timeline): Seq[Instant] =
      ClusteringSchedule.abandoned(storage, config, timeline, options.clusteringExpiry)
    def toRollBack(timeline: Timeline): Seq[Instant] =
      timeline.runningWrites.filter(hasFailed(storage, options, _))

    val unpublished = temporary.filter(f =>
      f.isFile && f.getPath.getName.startsWith("unpublished-") &&
        System.currentTimeMillis() - f.getModificationTime > UnpublishedAgeMs)
    val seen = options.opened.getOrElse(Timeline.load(storage, config))
    val isNeeded =
      toRollBack(seen).nonEmpty || remains(seen).nonEmpty || TableUpgrade.remains(storage, config, seen).nonEmpty ||
        abandoned(seen).nonEmpty
    if (isNeeded || unpublished.nonEmpty)
      TableFeatures.requireWritable(storage, config, seen, options.access.permits)
    unpublished.foreach(f => storage.delete(s"${Markers.Folder}/${f.getPath.getName}"))
    if (!isNeeded) Nil
    else
      // Loaded after the listing: a running write is on the timeline before its markers are open.
      LockedTable.unchecked(storage, options.access)((config, Timeline.load(storage, config))) { table =>
        import table.timeline
        val writes      = toRollBack(timeline)
        val clusterings = abandoned(timeline)
        writes.foreach(LostCommits.requireFailed(storage, config, timeline, _))
        writes.foreach(remove(table, _))
        clusterings.foreach { instant =>
          Log.warn(s"clustering ${instant.requested} of $storage is rolled back: the process that ran it has died")
          ClusteringSchedule.remove(table, instant)
        }
        remains(timeline).foreach(removeRemains(table, _))
        // An upgrade holds the lock as well.
        if (TableConfig.load(storage).layoutVersion == config.layoutVersion)
          TableUpgrade.remains(storage, config, timeline).foreach(storage.delete)
        writes ++ clusterings
      }
  }

  /** What [[failed]] would roll back by a timeline; changes nothing. */
  def preview(storage: Storage, config: TableConfig, options: Transaction.Options, timeline: Timeline): Seq[Instant] =
    timeline.runningWrites.filter(hasFailed(storage, options, _)) ++
      ClusteringSchedule.abandoned(storage, config, timeline, options.clusteringExpiry)

  /** Whether a pending write counts as failed under the settings. */
  private[table] def hasFailed(storage: Storage, options: Transaction.Options, pending: Instant): Boolean =
    options.failedWrites match {
      case FailedWrites.Eager         => true
      case FailedWrites.Lazy(afterMs) => Heartbeat.hasExpired(storage, pending.requested, afterMs)
    }

  /**
   * Removes what is left of an instant that a restore takes back, once its completed file and its data files are gone.
   *
   * @param files its inflight and requested file, in this order
   */
  private[table] def removeTakenBack(storage: Storage, instant: String, files: Seq[String]): Unit = {
    removeMetadata(storage, instant)
    files.foreach(file => storage.delete(file))
    val markers = new Markers(storage, instant)
    markers.close()
    markers.deleteAll()
    storage.delete(Heartbeat.file(instant))
    ()
  }

  /**
   * Moves base files without an instant on the timeline into [[OrphansFolder]]; see `TableView.orphans`. The timeline
   * is loaded again for this, as the listing may be outdated. Files older than the timeline stay: their instants may
   * have been archived in a history that was lost. Nothing is deleted, because the timeline may be incomplete. Another
   * writer may move them, or roll their write back, at the same time.
   *
   * @return the files moved
   */
  def moveOrphans(storage: Storage, config: TableConfig, files: Seq[BaseFile]): Seq[BaseFile] =
    if (files.isEmpty) Nil
    else {
      val timeline = Timeline.load(storage, config)
      val pending  = timeline.pending.map(_.requested).toSet
      files
        .filter(f => timeline.start.exists(_ <= f.instant) && !timeline.isCompleted(f.instant) && !pending(f.instant))
        .filter { f =>
          val aside = s"$OrphansFolder/${f.path}"
          storage.makeFolder(aside.take(aside.lastIndexOf('/')))
          val isMoved =
            try storage.fs.rename(storage.path(f.path), storage.path(aside))
            catch { case _: FileNotFoundException => false }
          if (isMoved) Log.warn(s"moved '${f.path}' of $storage to '$aside': no instant on the timeline wrote it")
          else if (storage.exists(f.path))
            Log.warn(s"cannot move '${f.path}' of $storage to '$aside', though no instant on the timeline wrote it")
          isMoved
        }
    }

  private[table] def remove(table: LockedTable, instant: Instant): Unit = {
    import table.{config, storage, timeline}
    if (instant.isCompleted) throw new IllegalStateException(s"$instant of $storage has completed")
    val absent =
      removeFiles(storage, config, instant.requested, mayHaveFiles = timeline.hasFile(instant, InstantState.Inflight))
    removeMetadata(storage, instant.requested)
    storage.delete(config.timelineFile(InstantFile.inflight(instant.requested, instant.action)))
    storage.delete(config.timelineFile(InstantFile.requested(instant.requested, instant.action)))
    new Markers(storage, instant.requested).deleteAll()
    removeAnnounced(storage, config, instant.requested, absent)
    storage.delete(Heartbeat.file(instant.requested))
    ()
  }

  /**
   * Cleans up an instant that is not pending: markers of a committed write, a rollback, or a task that outlived it. If
   * the history does not show which of these it is, nothing is deleted.
   */
  private[table] def removeRemains(table: LockedTable, instant: String): Unit = {
    import table.{config, storage}
    val state = table.timeline.commitState(instant)
    val absent = state match {
      case CommitState.Committed(metadata) => removeUnnamed(storage, config, instant, metadata)
      case CommitState.NotCommitted =>
        val files = removeFiles(storage, config, instant, mayHaveFiles = false)
        removeMetadata(storage, instant)
        files
      case CommitState.Unknown => Nil
    }
    if (state != CommitState.Unknown) {
      storage.delete(Heartbeat.file(instant))
      new Markers(storage, instant).deleteAll()
      removeAnnounced(storage, config, instant, absent)
    }
  }

  /** Removes what a write stored of the table's columns and buckets before its commit. */
  private def removeMetadata(storage: Storage, instant: String): Unit = {
    HashRings.remove(storage, instant)
    HistoryFiles.remove(storage, instant)
  }

  /**
   * Removes files that have a marker of a write but are not named by its commit: those of superseded task attempts,
   * written before or after the commit.
   *
   * @return those that were not there, see [[removeAnnounced]]
   */
  private[table] def removeUnnamed(
      storage: Storage,
      config: TableConfig,
      instant: String,
      metadata: CommitMetadata
  ): Seq[Marker] = {
    val named   = metadata.allStats.flatMap(stat => stat.path +: stat.cdcStats.keys.toSeq).toSet
    val markers = new Markers(storage, instant)
    markers.close()
    removeAnnounced(storage, config, instant, markers.all.filterNot(m => named(m.path)))
  }

  /**
   * Removes announced files, but no log with blocks of others.
   *
   * @return those that were not there: an attempt of a task may be about to create them. To be removed again once the
   *         markers are gone; an attempt that ends later finds no marker, and removes them itself
   */
  private[table] def removeAnnounced(
      storage: Storage,
      config: TableConfig,
      instant: String,
      markers: Seq[Marker]
  ): Seq[Marker] = markers.filterNot { marker =>
    if (config.version < 8 && FileNames.isLog(marker.fileName)) {
      val found = storage.status(marker.path)
      found.filter(file => (blockInstants(storage, marker.partitionPath, file) - instant).isEmpty)
        .foreach(_ => storage.delete(marker.path))
      found.isDefined
    } else !FileNames.instant(marker.fileName).contains(instant) || storage.delete(marker.path)
  }

  /**
   * Removes the data files of an instant: by its markers or, if it has none, by the instant in names or blocks.
   *
   * @return the announced ones that were not there, see [[removeAnnounced]]
   */
  private[table] def removeFiles(
      storage: Storage,
      config: TableConfig,
      instant: String,
      mayHaveFiles: Boolean
  ): Seq[Marker] = {
    val markers = new Markers(storage, instant)
    val wasOpen = markers.close()
    if (wasOpen || markers.exist)
      markers.all.filterNot { marker =>
        val isOwn = FileNames.instant(marker.fileName).contains(instant)
        if (config.version >= 8) !isOwn || storage.delete(marker.path)
        else if (isOwn && marker.kind != MarkerKind.Append) storage.delete(marker.path)
        else removeLog(storage, marker.path, instant)
      }
    else {
      if (mayHaveFiles) removeUnmarked(storage, config, instant, "")
      Nil
    }
  }

  private def removeUnmarked(storage: Storage, config: TableConfig, instant: String, folder: String): Unit =
    storage.list(folder).foreach { found =>
      val name = found.getPath.getName
      val file = FileNames.path(folder, name)
      if (found.isDirectory) {
        if (PartitionMetadata.mayContainPartitions(name)) removeUnmarked(storage, config, instant, file)
      } else if (config.version < 8 && FileNames.isLog(name) && !ChangeFiles.is(name)) {
        if (blockInstants(storage, folder, found).contains(instant)) { removeLog(storage, file, instant); () }
      } else if (FileNames.instant(name).contains(instant)) { storage.delete(file); () }
    }

  /**
   * Version 6: readers ignore blocks of an instant that did not complete, but only until the timeline is archived.
   *
   * @return false if there was no such file
   */
  private def removeLog(storage: Storage, file: String, instant: String): Boolean =
    storage.status(file).exists { found =>
      val at = file.lastIndexOf('/')
      if ((blockInstants(storage, file.take(math.max(at, 0)), found) - instant).nonEmpty)
        throw MerganserException("ROLLBACK_UNSUPPORTED", "path" -> storage, "instant" -> instant, "file" -> file)
      storage.delete(file)
    }

  /** Instants of the intact blocks of a log file. */
  private[table] def blockInstants(storage: Storage, partition: String, file: FileStatus): Set[String] =
    FileNames.parseLog(partition, file.getPath.getName, file.getLen).map(BlockInstants.of(storage, _)).getOrElse(
      Set.empty)
}
