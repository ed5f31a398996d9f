package io.merganser.table.commit

import java.util.concurrent.atomic.AtomicBoolean

import io.merganser.merge.{Causes, MerganserException}
import io.merganser.table.file.{FileGroupId, Marker, MarkerKind, Markers, PartitionMetadata}
import io.merganser.table.options.{AppTransaction, ClusteringUpdates, FailedWrites}
import io.merganser.table.properties.{BucketProperties, PropertiesFile, TableConfig}
import io.merganser.table.rule.RecordedRule
import io.merganser.table.settings.{TableAccess, WriteConfig}
import io.merganser.table.storage.{Interrupts, Parallel, Storage, StorageFailure}
import io.merganser.table.timeline._
import org.slf4j.LoggerFactory

import scala.util.control.NonFatal

/**
 * One write, from its requested file on the timeline to the single step that makes it visible.
 *
 * Until `commit` has created the completed file, readers see nothing of the write; from then on they see all of it.
 * [[Rollback]] removes the files of a write that stopped before.
 *
 * @param instant  requested time of the write
 * @param action   commit, deltacommit, replacecommit, compaction
 * @param timeline as of the start of the write; the slices that it writes to come from this timeline, so that nothing
 *                 that completes later is missed
 * @param isDryRun true if it is not on the timeline, and may create no file
 */
final class Transaction private[table] (
    storage: Storage,
    config: TableConfig,
    val instant: String,
    val action: Action,
    val timeline: Timeline,
    options: Transaction.Options,
    run: Option[CompactionRun] = None,
    val isDryRun: Boolean = false
) {

  import Transaction.Log

  /** Creates markers of data files; sent to tasks. */
  val markers: Markers = new Markers(storage, instant)

  /** Second part of the write tokens of a compaction's files, different for each run; 0 for other writes. */
  val runNumber: Int = run.fold(0)(_.claim.number)

  private val ended     = new AtomicBoolean
  private val heartbeat = options.heartbeatMs.map(new Heartbeat(storage, instant, _))

  /**
   * Makes the write visible.
   *
   * First writes partition metadata, deletes files of superseded task attempts, and checks commits that other writers
   * completed since the start for conflicting file groups; columns that they added and types that they widened are
   * added to the schema of this commit. A conflict rolls the write back. Any other failure leaves it pending, for the
   * caller or the next write to roll back. In both cases the write is not visible.
   *
   * @param touched file groups that the write depends on, besides those in its metadata
   * @param basis   other stored state that the write depends on
   * @throws io.merganser.merge.MerganserException COMMIT_CONFLICT, LOCK_TIMEOUT, METADATA_INDEX_PRESENT
   */
  def commit(metadata: CommitMetadata, touched: Set[FileGroupId], basis: WriteBasis = WriteBasis()): Instant = {
    if (ended.get || isDryRun) throw new IllegalStateException(s"write $instant of $storage has ended")
    // A partition has its metadata if a file group was found in it that the write replaces or appends to: whatever
    // removes the partition replaces that group first, which is a conflict.
    val known      = metadata.touched.filter(basis.listed.groups).map(_.partitionPath)
    val partitions = metadata.stats.collect { case (partition, files) if files.nonEmpty => partition }.toSeq
    Parallel.map(partitions.filterNot(known))(PartitionMetadata.write(storage, _, instant))
    val ofOtherAttempts  = if (run.isEmpty) Rollback.removeUnnamed(storage, config, instant, metadata) else Nil
    val filesOfOtherRuns = run.toSeq.flatMap(_.unnamed(metadata))
    val seen             = options.readAt.getOrElse(this.timeline)
    val keys             = new NewKeys(storage, config, instant, basis.newKeys, metadata)
    val transactions     = new AppTransactions.Before(this.timeline)
    val (completed, absent) =
      try {
        run.flatMap(_.missing(metadata)).foreach(file =>
          throw conflict(s"its file '$file' is gone, another engine has removed it"))
        // With several writers, most of the comparison is done before the lock, so that others wait less.
        val ahead = if (options.heartbeatMs.isDefined) reloaded(this.timeline) else this.timeline
        if (options.heartbeatMs.isDefined) {
          Conflicts.readAhead(options.opened.toSeq :+ seen, ahead, instant, basis.listed)
          keys.addedByOthers(seen, ahead).foreach(reason => throw conflict(reason))
        }
        LockedTable.unchecked(storage, options.access)((config, reloaded(ahead))) { table =>
          val now = table.timeline
          now.readAhead(Conflicts.completedSince(ahead, now, instant))
          requireRunning(now)
          options.transaction.filter(AppTransactions.find(now, _, options.opened).isDefined).foreach(t =>
            throw conflict(s"$t was committed meanwhile"))
          val absent = filesOfOtherRuns.filterNot(file => storage.delete(file))
          // One whose process has died since the write began was not rolled back then.
          val abandoned =
            if (run.isDefined || now.groupsInClustering.isEmpty) Set.empty[String]
            else ClusteringSchedule.abandoned(storage, config, now, options.clusteringExpiry).map(_.requested).toSet
          requireNoConflict(seen, now, metadata, touched, basis, keys, abandoned)
          val joined =
            CommitSchema.merged(config, this.timeline, now, metadata).fold(reason => throw conflict(reason), identity)
          if (run.isEmpty)
            ClusteringSchedule.rollbackTouched(table, touched ++ metadata.touched)(i =>
              options.rollsBackClustering || abandoned(i))
          MetadataTable.drop(storage, options.access.permits)
          BucketProperties.complete(storage, config)
          if (joined.latestSchema.isDefined && now.history != this.timeline.history)
            throw conflict("another writer changed the versions of the table's columns since the change began")
          val named = recorded(joined,
            AppTransactions.extend(now, options.transaction, instant, Some(transactions),
              options.transactionHours))
          (complete(table, HistoryCommit.prepare(storage, now, instant, named)), absent)
        }
      } catch {
        case e: MerganserException if Transaction.ConflictConditions(e.condition) =>
          try Interrupts.deferred { removeOwn(metadata); rollback() }
          catch { case NonFatal(second) => e.addSuppressed(second) }
          throw e
      }
    end()
    removeTraces(metadata, ofOtherAttempts, absent)
    completed
  }

  /**
   * @param announced markers of files of other attempts, which were removed
   * @param absent    files of other runs that were not there
   */
  private def removeTraces(metadata: CommitMetadata, announced: Seq[Marker], absent: Seq[String]): Unit =
    // Markers last: if they are left, the next write removes the rest.
    quietly("remove its heartbeat and its markers") {
      if (heartbeat.isDefined) storage.delete(Heartbeat.file(instant))
      if (run.isDefined) markers.close()
      // Attempts of a run may announce files until it is closed.
      val meanwhile = run.toSeq.flatMap(_.unnamed(metadata)).filterNot(file => storage.delete(file))
      markers.deleteAll()
      // What attempts have created since; those that end later find no marker.
      Rollback.removeAnnounced(storage, config, instant, announced)
      (absent ++ meanwhile).foreach(file => storage.delete(file))
    }

  /** With its writer, the table's rule and the transactions. */
  private def recorded(metadata: CommitMetadata, transactions: Map[String, String]): CommitMetadata =
    metadata.copy(extra = WriterIdentity.now ++ RecordedRule.of(config) ++ metadata.extra ++ transactions)

  /**
   * @param known     the timeline as of which the write read the table
   * @param abandoned clusterings whose process has died
   */
  private def requireNoConflict(
      known: Timeline,
      now: Timeline,
      metadata: CommitMetadata,
      touched: Set[FileGroupId],
      basis: WriteBasis,
      keys: NewKeys,
      abandoned: Set[String]
  ): Unit = {
    // Commits that others archived meanwhile may be conflicts too.
    val seen = now.withArchivedSince(known)
    Conflicts.find(known, seen, instant, action, metadata, touched, basis.nonBlocking,
      refusesClustered = !abandoned(_) && (options.clusteringUpdates == ClusteringUpdates.Reject || run.isDefined))
      .orElse(Conflicts.addedTo(basis.replaces, known, seen, instant))
      .orElse(Conflicts.rangesChanged(basis.ranges, metadata.stats.keySet, known, seen, instant))
      .orElse(Conflicts.cleaned(basis.listed, timeline, now))
      .orElse(keys.addedByOthers(known, seen))
      .foreach(reason => throw conflict(reason + readAgain))
  }

  /**
   * Runs the body of the write and commits its result; if either fails, the write is rolled back.
   *
   * @throws io.merganser.merge.MerganserException what [[commit]] throws, or the user's error behind a failed task
   */
  def run[T](body: Transaction => Work[T]): T =
    try {
      val work = body(this)
      work.commit match {
        case Some(request) => commit(request.metadata, request.touched, request.basis)
        case None          => rollback()
      }
      work.result
    } catch {
      case failure: Throwable => throw abandon(Transaction.userError(failure, storage))
    }

  /**
   * Removes all files of the write unless it has completed. A compaction stays scheduled. May be called repeatedly,
   * also after a failed commit.
   *
   * @return false if the write had completed; it is not removed then
   */
  def rollback(): Boolean = removeFiles().forall(identity)

  /**
   * Ends a failed write: rolls it back as far as possible now; the next write does the rest.
   *
   * @return what to throw: COMMIT_CONFLICT if the write failed because another writer rolled it back, else the failure
   */
  def abandon(failure: Throwable): Throwable = Interrupts.deferred {
    try
      if (removeFiles().isEmpty && !failure.isInstanceOf[MerganserException])
        conflict(Transaction.RolledBack).causedBy(failure)
      else failure
    catch {
      case NonFatal(second) =>
        failure.addSuppressed(second)
        failure
      case second: InterruptedException =>
        Thread.currentThread.interrupt()
        failure.addSuppressed(second)
        failure
    }
  }

  /** True if a pending write was removed, false if it had completed, None if it was no longer on the timeline. */
  private def removeFiles(): Option[Boolean] = {
    end()
    LockedTable.unchecked(storage, options.access)((config, Timeline.load(storage, config))) { table =>
      val found = table.timeline.find(instant, action)
      found match {
        case _ if run.isDefined                   => run.foreach(_.remove(table.timeline))
        case Some(pending) if pending.isCompleted => ()
        case Some(pending)                        => Rollback.remove(table, pending)
        case None                                 => Rollback.removeRemains(table, instant)
      }
      found.map(!_.isCompleted)
    }
  }

  /** The timeline now; what was read of an earlier one is not read again. */
  private def reloaded(earlier: Timeline): Timeline = Timeline.load(storage, config, Some(earlier))

  private def end(): Unit = if (ended.compareAndSet(false, true)) {
    heartbeat.foreach(_.stop())
    run.foreach(r => Claim.end(r.claim))
  }

  /** Interrupts are deferred; otherwise a committed write could be reported as failed. */
  private def complete(table: LockedTable, metadata: CommitMetadata): Instant = Interrupts.deferred {
    val completion = table.timeline.nextCompletion
    val isReplace  = action.whenCompleted == Action.ReplaceCommit
    val content =
      if (config.layoutVersion >= 2) CommitMetadata.encodeAvro(metadata, isReplace)
      else CommitMetadataJson.encode(metadata, isReplace)
    table.lock.requireHeld()
    val file = config.timelineFile(InstantFile.completed(instant, completion, action))
    try storage.createNewBesideOthers(file, content)
    catch {
      // The write is committed if the file exists in spite of the failure.
      case NonFatal(e) => if (!appeared(file, e)) throw e
    }
    Instant(instant, action.whenCompleted, InstantState.Completed, completion)
  }

  /** @throws MerganserException COMMIT_UNCERTAIN if the file's existence cannot be determined */
  private def appeared(file: String, failure: Throwable): Boolean = {
    def look(times: Int): Boolean =
      try storage.exists(file)
      catch {
        case NonFatal(second) if times > 1 => failure.addSuppressed(second); Thread.sleep(100); look(times - 1)
        case NonFatal(second) =>
          failure.addSuppressed(second)
          throw MerganserException("COMMIT_UNCERTAIN", "path" -> storage, "instant" -> instant,
            "file" -> storage.path(file),
            "reason" -> failure).causedBy(failure)
      }
    look(3)
  }

  private def requireRunning(now: Timeline): Unit =
    now.find(instant, action) match {
      case Some(found)
          if !found.isCompleted && now.hasFile(found, InstantState.Requested) && now.hasFile(found,
            InstantState.Inflight) =>
        run.flatMap(_.lost).foreach(reason => throw conflict(reason))
      case Some(found) if found.isCompleted => throw conflict("another process completed it")
      case _                                => throw conflict(Transaction.RolledBack)
    }

  /** Removes the write's files after another writer rolled it back: files written since then have no markers there. */
  private def removeOwn(metadata: CommitMetadata): Unit = {
    val now = Timeline.load(storage, config)
    val committed =
      now.find(instant, action).filter(_.isCompleted).toSeq.flatMap(i => now.metadata(i).allStats).map(_.path).toSet
    val created = markers.own.filter(m => m.kind != MarkerKind.Append && run.forall(_.claim.made(m.fileName)))
    (metadata.allStats.flatMap(stat => stat.path +: stat.cdcStats.keys.toSeq) ++ created.map(_.path))
      .distinct.filterNot(path => path.isEmpty || committed(path)).foreach(path => storage.delete(path))
  }

  private def conflict(reason: String): MerganserException =
    if (run.isDefined) CompactionSchedule.conflict(storage, instant, reason, action)
    else MerganserException("COMMIT_CONFLICT", "instant" -> instant, "path" -> storage, "reason" -> reason)

  /** Hint for writes of rows read from the table before: retrying without reading again would write the same rows. */
  private def readAgain: String =
    if (options.readAt.isDefined) "; rows that were read from the table before must be read again" else ""

  private def quietly(what: String)(work: => Any): Unit =
    try { work; () }
    catch { case NonFatal(e) => Log.warn(s"write $instant of $storage is committed, but cannot $what", e) }
}

/**
 * The commit that the body of a write requests.
 *
 * @param touched file groups that the write depends on, besides those in its metadata
 * @param basis   other stored state that the write depends on
 */
final case class CommitRequest(metadata: CommitMetadata, touched: Set[FileGroupId], basis: WriteBasis = WriteBasis())

/**
 * The result of the body of a write.
 *
 * @param commit None if there is nothing to commit: the write is then rolled back
 */
final case class Work[T](result: T, commit: Option[CommitRequest])

object Transaction {

  private val Log = LoggerFactory.getLogger(classOf[Transaction])

  private val ConflictConditions = Set("COMMIT_CONFLICT", "COMPACTION_CONFLICT", "CLUSTERING_CONFLICT")

  private val RolledBack =
    "another writer rolled it back, as one configured for a single writer does; several writers need " +
      "hoodie.write.concurrency.mode=OPTIMISTIC_CONCURRENCY_CONTROL"

  /**
   * @param heartbeatMs milliseconds between heartbeats, by which other writers recognize a running write; None for none
   * @param failedWrites which pending writes [[run]] rolls back first
   * @param opened      timeline with which the table was opened, if it was: what was read of it is not read again
   * @param transaction of the application that writes, if it numbers its writes
   * @param transactionHours for which the version of an application that has stopped writing is listed; 0: for good
   * @param readAt      timeline as of the read of the table, if it was read before the write began: changes of others
   *                    since then are conflicts
   * @param clusteringUpdates what happens if the write touches file groups in a pending clustering
   * @param rollsBackClustering whether that clustering is rolled back then, if the write may be committed
   * @param clusteringExpiry which pending clusterings count as failed
   */
  final case class Options(
      access: TableAccess = TableAccess(),
      heartbeatMs: Option[Long] = None,
      readAt: Option[Timeline] = None,
      failedWrites: FailedWrites = FailedWrites.Eager,
      opened: Option[Timeline] = None,
      transaction: Option[AppTransaction] = None,
      transactionHours: Long = 0L,
      clusteringUpdates: ClusteringUpdates = ClusteringUpdates.Reject,
      rollsBackClustering: Boolean = false,
      clusteringExpiry: ClusteringSchedule.Expiry = ClusteringSchedule.Expiry()
  )

  object Options {

    def of(settings: WriteConfig): Options =
      Options(settings.access, settings.heartbeatMs, failedWrites = settings.failedWrites,
        transaction = settings.transaction, transactionHours = settings.transactionHours,
        clusteringUpdates = settings.clustering.updates,
        rollsBackClustering = settings.clustering.updates == ClusteringUpdates.Allow,
        clusteringExpiry = ClusteringSchedule.Expiry(settings.heartbeatExpiryMs, settings.clustering.expiresAfterMs))
  }

  /**
   * A complete write: rolls back failed writes, puts this one on the timeline, runs its body and commits.
   *
   * @param action commit, deltacommit or replacecommit
   * @throws io.merganser.merge.MerganserException what [[Rollback.failed]], [[begin]] and [[Transaction.commit]] throw
   */
  def run[T](
      storage: Storage,
      config: TableConfig,
      action: Action,
      options: Options
  )(body: Transaction => Work[T]): T = {
    val begun = StorageFailure.explained(storage) {
      Rollback.failed(storage, config, options)
      begin(storage, config, action, options = options)
    }
    begun.run(body)
  }

  /**
   * Runs the body of a write that is not committed: it is not put on the timeline, takes no lock, and creates no file.
   * What would be refused before a write begins is refused here too; what other writers may do until a commit is not
   * known.
   *
   * @throws io.merganser.merge.MerganserException what [[begin]] throws, and the body
   */
  def dryRun[T](
      storage: Storage,
      config: TableConfig,
      action: Action,
      options: Options
  )(body: Transaction => Work[T]): T = {
    val timeline = Timeline.load(storage, config, options.opened)
    TableFeatures.requireWritable(storage, config, timeline, options.access.permits)
    val instant = InstantTime.next(storage.identity, config.timelineZone, timeline.times)
    val none    = options.copy(heartbeatMs = None)
    try body(new Transaction(storage, config, instant, action, timeline, none, isDryRun = true)).result
    catch { case failure: Throwable => throw userError(failure, storage) }
  }

  /** The user's error, which may be that of the table's storage. */
  private def userError(failure: Throwable, storage: Storage): Throwable = userError(failure) match {
    case known: MerganserException => known
    case other                     => StorageFailure.of(storage, other).getOrElse(other)
  }

  /** The user's error among the causes of Spark's failure of a task; the failure itself if there is none. */
  private[merganser] def userError(failure: Throwable): Throwable =
    Causes.of(failure).collectFirst { case e: MerganserException => e }.getOrElse(failure)

  /**
   * Puts a write on the timeline. Does not roll back failed writes: call [[Rollback]] first.
   *
   * @param action           commit, deltacommit or replacecommit
   * @param requestedContent content of the requested file; by default the minimum for the action
   * @throws io.merganser.merge.MerganserException LOCK_TIMEOUT, what [[TableFeatures.requireWritable]] throws, or
   *                                               COMMIT_CONFLICT if the table's properties differ from the given ones
   */
  def begin(
      storage: Storage,
      config: TableConfig,
      action: Action,
      requestedContent: Array[Byte] = Array.emptyByteArray,
      options: Options = Options()
  ): Transaction = {
    if (!action.isWrite) throw new IllegalArgumentException(s"action '$action' is not begun here")
    val content =
      if (action == Action.ReplaceCommit && requestedContent.isEmpty) RequestedReplace.empty else requestedContent
    def load(): Timeline = Timeline.load(storage, config, options.opened)
    val transaction = LockedTable.unchecked(storage, options.access)((config, load())) { table =>
      val (names, read) = Parallel.both(TableFolder.names(storage), TableConfig.load(storage))
      // There is a backup where an update of the properties was cut short.
      val now = if (names(PropertiesFile.BackupName)) TableConfig.repair(storage) else read
      requireSame(storage, config, now)
      TableFeatures.requireWritable(storage, now, table.timeline, options.access.permits, listed = Some(names))
      val instant = table.announce(action, content)
      // Begins its heartbeat under the lock: others consider a pending write without one dead.
      new Transaction(storage, config, instant, action, table.timeline, options)
    }
    // The markers are open before there is an inflight file: a write without either belongs to another engine.
    try {
      transaction.markers.open()
      storage.createNewBesideOthers(config.timelineFile(InstantFile.inflight(transaction.instant, action)),
        Array.emptyByteArray)
      transaction
    } catch {
      case NonFatal(e) => throw transaction.abandon(e)
    }
  }

  private def requireSame(storage: Storage, config: TableConfig, now: TableConfig): Unit = {
    def conflict(reason: String) =
      throw MerganserException("COMMIT_CONFLICT", "instant" -> "the write", "path" -> storage, "reason" -> reason)
    if (now.version != config.version)
      conflict(s"the table was upgraded from version ${config.version} to ${now.version} meanwhile")
    Seq("hoodie.table.name", "hoodie.table.type", "hoodie.table.recordkey.fields", "hoodie.table.partition.fields",
      "hoodie.record.merge.mode", io.merganser.table.options.Options.RuleText.key)
      .find(key => now.properties.get(key) != config.properties.get(key))
      .foreach(key => conflict(s"the table got another '$key' meanwhile"))
  }
}
