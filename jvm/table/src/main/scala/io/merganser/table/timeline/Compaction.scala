package io.merganser.table.timeline

import io.merganser.merge.MerganserException
import io.merganser.table.{Storage, TableFeatures, TableLock}
import io.merganser.table.config.{Permits, TableConfig}

/**
 * Compactions on the timeline: scheduled once, run until a run succeeds. A scheduled compaction is not rolled back, for
 * writes after it count on its instant; what is removed of a failed run is its files.
 */
object Compaction {

  /**
   * Puts a compaction on the timeline.
   *
   * @param plan made from the timeline it is given, which nobody changes meanwhile: the table is locked. None: nothing to do
   * @return the instant to run
   * @throws io.merganser.merge.MerganserException COMPACTION_BLOCKED in version 6 while a write is running, whose log files
   *                                               would belong to the slice that is compacted; LOCK_TIMEOUT
   */
  def schedule(
      storage: Storage, config: TableConfig, lock: TableLock.Settings = TableLock.Settings(), permits: Permits = Permits()
  )(plan: Timeline => Option[CompactionPlan]): Option[Instant] =
    TableLock.hold(storage, lock) { held =>
      val timeline = Timeline.load(storage, config)
      TableFeatures.requireWritable(storage, TableConfig.load(storage), timeline, permits)
      if (config.version < 8) timeline.pendingWrites.headOption.foreach { running =>
        throw MerganserException("COMPACTION_BLOCKED", "path" -> storage, "instant" -> running.requested, "version" -> config.version)
      }
      val free = plan(timeline).map { p =>
        p.copy(operations = p.operations.filterNot { o =>
          val group = (o.partitionPath, o.fileId)
          timeline.groupsInCompaction.contains(group) || timeline.groupsInClustering.contains(group)
        })
      }
      free.filter(_.operations.nonEmpty).map { p =>
        val instant = Transaction.announce(storage, config, timeline, Action.Compaction, CompactionPlan.encode(p), held)
        Instant(instant, Action.Compaction, InstantState.Requested)
      }
    }

  /**
   * Starts a run of a scheduled compaction; what an earlier run left is removed first.
   *
   * @throws io.merganser.merge.MerganserException COMMIT_CONFLICT if it is no longer pending, or runs elsewhere
   */
  def begin(storage: Storage, config: TableConfig, instant: Instant, options: Transaction.Options = Transaction.Options()): Transaction = {
    def conflict(reason: String) =
      MerganserException("COMMIT_CONFLICT", "instant" -> instant.requested, "path" -> storage, "reason" -> reason)
    val timeline = TableLock.hold(storage, options.lock) { _ =>
      val timeline = Timeline.load(storage, config)
      TableFeatures.requireWritable(storage, TableConfig.load(storage), timeline, options.permits)
      timeline.find(instant.requested, Action.Compaction) match {
        case Some(found) if !found.isCompleted =>
          if (storage.exists(Heartbeat.file(instant.requested)) && !Heartbeat.hasExpired(storage, instant.requested))
            throw conflict("another process is running this compaction")
          if (found.state == InstantState.Inflight || new Markers(storage, instant.requested).exist)
            removeRun(storage, config, instant.requested)
        case Some(_) => throw conflict("another process completed this compaction")
        case None    => throw conflict("this compaction is not on the timeline any more")
      }
      timeline
    }
    Transaction.start(storage, config, instant.requested, Action.Compaction, timeline, options)
  }

  /** Removes the files of a run that failed, of any instant that is still pending; the compaction stays scheduled. */
  def clearFailedRun(storage: Storage, config: TableConfig, instant: Instant, lock: TableLock.Settings = TableLock.Settings()): Unit =
    TableLock.hold(storage, lock) { _ =>
      if (Timeline.load(storage, config).find(instant.requested, Action.Compaction).exists(!_.isCompleted))
        removeRun(storage, config, instant.requested)
    }

  /** To call under the lock, for a pending compaction. Base files only: nobody else writes those of its instant. */
  private[timeline] def removeRun(storage: Storage, config: TableConfig, instant: String): Unit = {
    Rollback.removeFiles(storage, config, instant, mayHaveFiles = true)
    storage.delete(s"${config.timelineFolder}/${InstantFile.inflight(instant, Action.Compaction)}")
    new Markers(storage, instant).deleteAll()
    storage.delete(Heartbeat.file(instant))
    ()
  }
}
