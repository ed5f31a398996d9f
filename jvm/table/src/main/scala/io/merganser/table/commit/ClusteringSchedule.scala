package io.merganser.table.commit

import io.merganser.merge.MerganserException
import io.merganser.table.file.FileGroupId
import io.merganser.table.options.Heartbeats
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.TableAccess
import io.merganser.table.slice.FileSlice
import io.merganser.table.storage.Storage
import io.merganser.table.timeline._

/**
 * Clusterings on the timeline: scheduled once, run until a run succeeds, as [[CompactionSchedule]] does with
 * compactions. No write depends on a clustering's instant, so that one can be rolled back.
 */
object ClusteringSchedule {

  /**
   * Puts a clustering on the timeline.
   *
   * @param opened timeline with which the table was opened: what was read of it is not read again
   * @param plan   makes the plan from a timeline, None if there is nothing to do; called again if the table changes
   *               meanwhile, finally under the lock
   * @return the instant to run
   * @throws MerganserException CLUSTERING_BLOCKED in version 6 while a write is running: its log files could belong to
   *                            the slices that are clustered; LOCK_TIMEOUT
   */
  def schedule(
      storage: Storage,
      config: TableConfig,
      access: TableAccess = TableAccess(),
      opened: Option[Timeline] = None
  )(plan: Timeline => Option[ClusteringPlan]): Option[Instant] = {
    def requireFree(timeline: Timeline): Unit =
      if (config.version < 8) timeline.runningWrites.headOption.foreach { running =>
        throw MerganserException("CLUSTERING_BLOCKED", "path" -> storage, "instant" -> running.requested,
          "version" -> config.version)
      }
    def publish(chosen: ClusteringPlan, table: LockedTable): Option[Instant] = {
      val content = RequestedReplace.clustering(chosen, path => storage.path(path).toString)
      val action  = actionOf(config)
      Some(Instant(table.announce(action, content), action, InstantState.Requested))
    }
    CompactionSchedule.planned(storage, config, access, opened)(requireFree)(plan)(publish)
  }

  /** In the names of pending files. */
  private def actionOf(config: TableConfig): Action =
    if (config.layoutVersion >= 2) Action.Clustering else Action.ReplaceCommit

  /** Starts a run of a scheduled clustering, see [[CompactionSchedule.claim]]. */
  def claim(
      storage: Storage,
      config: TableConfig,
      instant: Instant,
      options: Transaction.Options = Transaction.Options(),
      expiredAfterMs: Long = Heartbeats.ExpiredAfterMs
  ): Either[String, Transaction] = CompactionSchedule.claim(storage, config, instant, options, expiredAfterMs)

  /**
   * Why a plan can no longer be run, if so: another write has changed its file groups since.
   *
   * @param slices the newest slices of the plan's partitions
   */
  def outdated(plan: ClusteringPlan, slices: Seq[FileSlice]): Option[String] = {
    val newest = slices.map(s => s.group -> s).toMap
    plan.slices.flatMap { planned =>
      newest.get(planned.group) match {
        case None => Some(s"${planned.group} was replaced since it was planned")
        case Some(now) =>
          val added = now.logs.map(_.name).filterNot(planned.logFiles.toSet)
          if (now.base.map(_.name) != planned.baseFile || added.nonEmpty)
            Some(s"${planned.group} was written to since it was planned")
          else None
      }
    }.headOption
  }

  /**
   * Rolls a pending clustering back: removes the files of its runs, then its plan.
   *
   * @return the reason why it was not, if it was not: a run is alive, or it has been completed
   * @throws MerganserException LOCK_TIMEOUT, and what [[TableFeatures.requireWritable]] throws
   */
  def rollback(
      storage: Storage,
      config: TableConfig,
      instant: Instant,
      options: Transaction.Options = Transaction.Options(),
      expiredAfterMs: Long = Heartbeats.ExpiredAfterMs
  ): Option[String] =
    LockedTable.of(storage, config, options.access, options.opened) { table =>
      import table.timeline
      timeline.find(instant.requested, instant.action) match {
        case Some(found) if !found.isCompleted =>
          val alive = CompactionSchedule.runner(storage, config, found, expiredAfterMs)
          if (alive.isEmpty) {
            table.lock.requireHeld()
            remove(table, found)
          }
          alive
        case Some(_) => Some("it has been completed")
        case None    => None
      }
    }

  /**
   * Which clusterings a write rolls back, as failed writes.
   *
   * @param afterMs     milliseconds without a sign of life after which the run that a plan was made for counts as dead
   * @param allAfterMs  milliseconds after which each pending clustering that no process runs counts as failed, also one
   *                    that was only scheduled, and those of other engines; None: those stay
   */
  final case class Expiry(afterMs: Long = Heartbeats.ExpiredAfterMs, allAfterMs: Option[Long] = None)

  /** Pending clusterings that will not be run: their process has died, see [[Expiry]]. */
  private[commit] def abandoned(
      storage: Storage,
      config: TableConfig,
      timeline: Timeline,
      expiry: Expiry
  ): Seq[Instant] = {
    def ageMs(file: String) = storage.status(file).map(System.currentTimeMillis() - _.getModificationTime)
    def requestedMs(instant: Instant) =
      ageMs(config.timelineFile(InstantFile.requested(instant.requested, instant.action)))
    def silent(instant: Instant) = CompactionSchedule.runner(storage, config, instant, expiry.afterMs).isEmpty
    // Between a plan and the claim of its run there is no heartbeat.
    def afterMs(plan: ClusteringPlan) = (if (plan.runsAtOnce) Some(expiry.afterMs) else None) ++ expiry.allAfterMs
    timeline.plannedClusterings.collect {
      case (instant, plan)
          if afterMs(plan).nonEmpty && requestedMs(instant).exists(_ > afterMs(plan).min) &&
            silent(instant) => instant
    }
  }

  /**
   * Rolls back the pending clusterings of file groups that a write is about to commit to; a run that is alive finds no
   * plan at its commit.
   *
   * @param chosen by their instants
   */
  private[commit] def rollbackTouched(
      table: LockedTable,
      touched: Set[FileGroupId]
  )(chosen: String => Boolean): Unit =
    table.timeline.plannedClusterings.foreach { case (instant, plan) =>
      if (chosen(instant.requested) && plan.fileGroups.exists(touched)) remove(table, instant)
    }

  /**
   * Our claim first, whose files have markers: if this stops in between, a run that waits for the lock must not commit
   * files of which some are gone.
   */
  private[commit] def remove(table: LockedTable, instant: Instant): Unit = {
    import table.{config, storage}
    Claim.of(storage, config, instant.requested, instant.action).foreach(_ =>
      storage.delete(Claim.file(config, instant.requested, instant.action)))
    Rollback.remove(table, instant)
  }
}
