package io.merganser.table.commit

import io.merganser.merge.MerganserException
import io.merganser.table.file.{FileGroupId, FileNames, Markers}
import io.merganser.table.log.BlockInstants
import io.merganser.table.options.Heartbeats
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.TableAccess
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline.{Action, CommitMetadata, CompactionPlan, Instant, InstantState, Timeline}

/**
 * Compactions and log compactions on the timeline: scheduled once, run until a run succeeds. A scheduled compaction is
 * not rolled back, because later writes depend on its instant; of a failed run only the files are removed. A log
 * compaction on which nothing depends is cancelled where its plan has become useless.
 */
object CompactionSchedule {

  /**
   * Puts a compaction on the timeline.
   *
   * @param opened timeline with which the table was opened: what was read of it is not read again
   * @param action compaction or logcompaction
   * @param plan makes the plan from a timeline, None if there is nothing to do; called again if the table changes
   *             meanwhile, finally under the lock
   * @return the instant to run
   * @throws io.merganser.merge.MerganserException COMPACTION_BLOCKED in version 6 while a write is running, whose log
   *                                               files would belong to the slice that is compacted; LOCK_TIMEOUT
   */
  def schedule(
      storage: Storage,
      config: TableConfig,
      access: TableAccess = TableAccess(),
      opened: Option[Timeline] = None,
      action: Action = Action.Compaction
  )(plan: Timeline => Option[CompactionPlan]): Option[Instant] = {
    def requireFree(timeline: Timeline): Unit =
      if (config.version < 8) timeline.runningWrites.headOption.foreach { running =>
        throw MerganserException("COMPACTION_BLOCKED", "path" -> storage, "instant" -> running.requested,
          "version" -> config.version)
      }
    def publish(chosen: CompactionPlan, table: LockedTable): Option[Instant] = {
      val free = chosen.operations.filterNot(o => isPlanned(table.timeline, o.group, action))
      if (free.isEmpty) None
      else {
        val extra   = if (free.size < chosen.operations.size) chosen.extra - LoggedPartitions.WholeKey else chosen.extra
        val content = CompactionPlan.encode(chosen.copy(operations = free, extra = extra))
        Some(Instant(table.announce(action, content), action, InstantState.Requested))
      }
    }

    planned(storage, config, access, opened)(requireFree)(plan)(publish)
  }

  /**
   * Makes a plan and publishes it; under the lock only if the table does not change while it is listed.
   *
   * @param require what must hold of the timeline
   * @param plan    None if there is nothing to do
   * @param publish called under the lock
   */
  private[commit] def planned[P](
      storage: Storage,
      config: TableConfig,
      access: TableAccess,
      opened: Option[Timeline]
  )(require: Timeline => Unit)(plan: Timeline => Option[P])(publish: (P, LockedTable) => Option[Instant])
      : Option[Instant] = {

    def attempt(mayRepeat: Boolean): PlanAttempt[Instant] = {
      val seen = Timeline.load(storage, config, opened)
      require(seen)
      val chosen = plan(seen)
      LockedTable.of(storage, config, access, Some(seen)) { table =>
        val now = table.timeline
        require(now)
        if (now.instants == seen.instants) PlanAttempt.Decided(chosen.flatMap(publish(_, table)))
        else if (mayRepeat) PlanAttempt.Outdated
        else PlanAttempt.Decided(plan(now).flatMap(publish(_, table)))
      }
    }
    PlanAttempt.decided((_, mayRepeat) => attempt(mayRepeat))
  }

  private def isPlanned(timeline: Timeline, group: FileGroupId, action: Action): Boolean =
    timeline.groupsInCompaction.contains(group) || timeline.groupsInClustering.contains(group) ||
      (action == Action.LogCompaction && timeline.groupsInLogCompaction.contains(group))

  /**
   * Removes a log compaction from the timeline, with the files of runs that failed. Nothing depends on it: it would
   * only have added log files with the same rows.
   *
   * @return false if a run of it is alive, or it is no longer pending
   * @throws io.merganser.merge.MerganserException LOCK_TIMEOUT, and what [[TableFeatures.requireWritable]] throws
   */
  def cancel(
      storage: Storage,
      config: TableConfig,
      instant: Instant,
      options: Transaction.Options = Transaction.Options(),
      expiredAfterMs: Long = Heartbeats.ExpiredAfterMs
  ): Boolean =
    LockedTable.of(storage, config, options.access, options.opened) { table =>
      import table.timeline
      timeline.find(instant.requested, Action.LogCompaction)
        .filter(found => !found.isCompleted && runner(storage, config, found, expiredAfterMs).isEmpty)
        .map(Rollback.remove(table, _)).isDefined
    }

  /**
   * Starts a run of a scheduled compaction or clustering, taking over from a run that died, unless another one is
   * running. Files of other runs are not touched before this one commits.
   *
   * @param instant        with the action of its pending files
   * @param expiredAfterMs milliseconds without a heartbeat after which a run counts as dead
   * @return the run, or the reason why it was not started
   * @throws io.merganser.merge.MerganserException LOCK_TIMEOUT, and what [[TableFeatures.requireWritable]] throws
   */
  def claim(
      storage: Storage,
      config: TableConfig,
      instant: Instant,
      options: Transaction.Options = Transaction.Options(),
      expiredAfterMs: Long = Heartbeats.ExpiredAfterMs
  ): Either[String, Transaction] = {
    val withHeartbeat = options.copy(heartbeatMs = Some(options.heartbeatMs.getOrElse(Heartbeats.IntervalMs)))
    LockedTable.of(storage, config, options.access, options.opened) { table =>
      import table.timeline
      timeline.find(instant.requested, instant.action) match {
        case Some(found) if !found.isCompleted =>
          runner(storage, config, found, expiredAfterMs).toLeft {
            table.lock.requireHeld()
            startRun(table, found, withHeartbeat)
          }
        case Some(_) => Left("it has been completed meanwhile")
        case None    => Left("it is no longer on the timeline")
      }
    }
  }

  private def startRun(table: LockedTable, found: Instant, options: Transaction.Options): Transaction = {
    import table.{config, storage, timeline}
    val claim = Claim.begin(options.heartbeatMs.getOrElse(Heartbeats.IntervalMs))
    try {
      new Markers(storage, found.requested).open()
      val file = Claim.file(config, found.requested, found.action)
      if (found.state == InstantState.Inflight) storage.delete(file)
      // Before the transaction, which starts the heartbeat: a heartbeat without a claim belongs to another engine.
      storage.createNew(file, claim.content)
      val takenOver =
        if (found.state == InstantState.Inflight) partitions(timeline, found) else Nil
      val run = new CompactionRun(storage, config, found, claim, takenOver)
      new Transaction(storage, config, found.requested, found.action, timeline, options, Some(run))
    } catch { case e: Throwable => Claim.end(claim); throw e }
  }

  private def partitions(timeline: Timeline, found: Instant): Seq[String] =
    if (found.action == Action.Compaction || found.action == Action.LogCompaction)
      timeline.compactionPlan(found).operations.map(_.partitionPath).distinct
    else timeline.clusteringPlan(found).toSeq.flatMap(_.partitions)

  /** Describes the live run of a pending compaction or clustering, if there is one. */
  private[table] def runner(
      storage: Storage,
      config: TableConfig,
      found: Instant,
      expiredAfterMs: Long
  ): Option[String] = {
    val claim =
      if (found.state == InstantState.Inflight) Claim.of(storage, config, found.requested, found.action) else None
    val lastBeat = storage.status(Heartbeat.file(found.requested)).map(_.getModificationTime)
    def alive(who: String, last: Option[Long], forMs: Long): Option[String] =
      last.map(System.currentTimeMillis() - _).filter(_ <= forMs).map { ageMs =>
        s"$who runs it; its last sign of life was ${math.max(0L, ageMs)} ms ago, and $forMs ms after that it may be " +
          "taken over"
      }
    claim match {
      case Some(c) if c.isOfThisProcess => if (c.isRunningHere) Some("this process runs it already") else None
      case Some(c) =>
        alive(s"process ${c.pid} on ${c.host}", lastBeat, math.max(expiredAfterMs, Heartbeats.expiryMs(c.heartbeatMs)))
      case None
          if found.state == InstantState.Inflight && found.action == Action.LogCompaction && config.version < 8 =>
        Some("another engine has begun it, and may have appended to log files that it shares with other writes; that " +
          "engine completes it or rolls it back")
      case None if lastBeat.isDefined => alive("another engine", lastBeat, expiredAfterMs)
      // Other engines write heartbeats only if they are configured for several writers.
      case None if found.state == InstantState.Inflight =>
        val inflight = storage.status(Claim.file(config, found.requested, found.action)).map(_.getModificationTime)
        val newest   = (inflight.toSeq ++ new Markers(storage, found.requested).newestMs).reduceOption(math.max(_, _))
        alive("another engine, without a heartbeat,", newest, SilentAfterMs)
      case None => None
    }
  }

  private[table] def conflict(
      storage: Storage,
      instant: String,
      reason: String,
      action: Action = Action.Compaction
  ): MerganserException = {
    val isCompaction = action == Action.Compaction || action == Action.LogCompaction
    MerganserException(if (isCompaction) "COMPACTION_CONFLICT" else "CLUSTERING_CONFLICT",
      "instant" -> instant, "path" -> storage, "reason" -> reason)
  }

  /** Milliseconds without a new file after which another engine's run without a heartbeat counts as dead. */
  private[table] val SilentAfterMs = 3600000L
}

/**
 * A run of a compaction or clustering in a transaction.
 *
 * @param pending   with the action of its pending files
 * @param claim     identifies its inflight file and its data files
 * @param takenOver partitions of the plan in which an earlier run may have left files without markers
 */
private[table] final class CompactionRun(
    storage: Storage,
    config: TableConfig,
    pending: Instant,
    val claim: Claim,
    takenOver: Seq[String]
) {
  private val instant = pending.requested
  private val markers = new Markers(storage, instant)

  /** The reason why the run no longer owns its plan, if so. Call under the lock. */
  def lost: Option[String] =
    if (Claim.of(storage, config, instant, pending.action).contains(claim)) None
    else Some("another run has taken it over, because this one showed no sign of life")

  /** A file that the commit names but that no longer exists, if any: an engine that ignores claims removed it. */
  def missing(metadata: CommitMetadata): Option[String] = {
    val there = Parallel.map(metadata.stats.keys.toSeq)(listing).flatten.toSet
    metadata.allStats.map(_.path).find(path => path.nonEmpty && !there(path))
  }

  /** Files of the instant that the commit does not name: of superseded task attempts and of earlier runs. */
  def unnamed(metadata: CommitMetadata): Seq[String] = {
    val marked = markers.all.map(_.path).toSet
    val found  = Parallel.map(takenOver)(listing).flatten
    (marked ++ found).toSeq.filter(path => isOfInstant(path, marked(path)))
      .filterNot(metadata.allStats.map(_.path).toSet)
  }

  /**
   * Removes the files of this run, and its claim if it still holds it; files of other runs are not removed. Call under
   * the lock.
   *
   * @param now the current timeline
   */
  def remove(now: Timeline): Unit = {
    val found     = now.find(instant, pending.action)
    val committed = found.filter(_.isCompleted).toSeq.flatMap(now.metadata(_).allStats).map(_.path).toSet
    markers.all.filter(marker => claim.made(marker.fileName)).foreach { marker =>
      if (!committed(marker.path)) storage.delete(marker.path)
      markers.delete(marker)
    }
    val isOurs = lost.isEmpty
    // The tasks of a run that has taken the plan over begin no file once the write is closed.
    if (isOurs || !found.exists(!_.isCompleted)) markers.deleteIfEmpty()
    if (isOurs || !found.exists(!_.isCompleted)) storage.delete(Heartbeat.file(instant))
    if (isOurs && found.exists(!_.isCompleted)) storage.delete(Claim.file(config, instant, pending.action))
    ()
  }

  private def listing(partition: String): Seq[String] =
    storage.list(partition).map(f => FileNames.path(partition, f.getPath.getName))

  /**
   * In version 6 the name of a log file does not show its write. One with a marker may have no block yet: its run has
   * died.
   */
  private def hasOwnBlocks(path: String, name: String, isMarked: Boolean): Boolean =
    storage.status(path).flatMap(found => FileNames.parseLog(path.dropRight(name.length + 1), name, found.getLen))
      .map(BlockInstants.of(storage, _)).exists(blocks => blocks == Set(instant) || (isMarked && blocks.isEmpty))

  private def isOfInstant(path: String, isMarked: Boolean): Boolean = {
    val name = path.drop(path.lastIndexOf('/') + 1)
    if (pending.action != Action.LogCompaction) FileNames.parseBase("", name, 0).exists(_.instant == instant)
    else if (config.version >= 8) FileNames.isLog(name) && FileNames.instant(name).contains(instant)
    else FileNames.isLog(name) && hasOwnBlocks(path, name, isMarked)
  }
}
