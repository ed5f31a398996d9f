package io.merganser.table.service

import io.merganser.table.commit.{LockedTable, MetadataTable, Rollback, TableFeatures, Transaction}
import io.merganser.table.file.{FileGroupId, FileNames}
import io.merganser.table.log.{LogNames, LogWriter}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline._
import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

/**
 * What a restore or a rollback did, or would do.
 *
 * @param instant   its requested time; None where nothing was done
 * @param newest    requested time of the newest write that stays, if one does
 * @param takenBack the newest first
 * @param files     that were deleted
 * @param groups    file groups that overwrites had replaced and that are visible again
 */
final case class RestoreReport(
    instant: Option[String],
    newest: Option[String],
    elapsedMs: Long,
    takenBack: Seq[LostWrite],
    files: Seq[RestoredFile],
    groups: Seq[FileGroupId]
) {

  def bytes: Long = files.map(_.sizeBytes).sum

  def groupPaths: Seq[String] = groups.map(g => FileNames.path(g.partitionPath, g.fileId))
}

/**
 * Takes completed writes back: all after one that is restored, or the newest one.
 *
 * The plan is put on the timeline under the table lock, which is held until all is done. From the inflight file of the
 * restore on, readers do not see the writes. Their completed files are removed first, the newest first, so that readers
 * of other engines, too, see the table as of one of the writes; then their data files, then the rest. If the process
 * ends in between, writes are refused until the next restore or rollback has finished it.
 */
final class Restoring(storage: Storage, opened: TableConfig, options: Transaction.Options = Transaction.Options()) {
  import Restoring._

  /**
   * Restores the table to a completed write: all later ones, and what was planned since, are taken back.
   *
   * @param time that of the write, see [[io.merganser.table.slice.TimeTravel.writeAt]]
   * @throws io.merganser.merge.MerganserException RESTORE_INSTANT_UNKNOWN, RESTORE_TOO_EARLY, RESTORE_ARCHIVED,
   *                                               RESTORE_OF_SAVEPOINT, RESTORE_WHILE_WRITING, RESTORE_UNFINISHED,
   *                                               SLICE_FILE_MISSING, LOCK_TIMEOUT, and what
   *                                               [[TableFeatures.requireWritable]] throws
   */
  def restore(time: String): RestoreReport = run(_.restore(time))

  /**
   * Takes back the newest completed write.
   *
   * @param instant its requested time; None: whichever it is
   * @throws io.merganser.merge.MerganserException ROLLBACK_NOT_NEWEST, and what [[restore]] throws
   */
  def rollback(instant: Option[String]): RestoreReport = run(_.rollback(instant))

  /** What [[restore]] would do; changes nothing. */
  def previewRestore(time: String): RestoreReport = preview(_.restore(time))

  /** What [[rollback]] would do; changes nothing. */
  def previewRollback(instant: Option[String]): RestoreReport = preview(_.rollback(instant))

  private def preview(plan: RestorePlanner => PlannedRestore): RestoreReport = {
    val config = TableConfig.load(storage)
    val now    = Timeline.load(storage, config)
    TableFeatures.requireWritable(storage, config, now, options.access.permits, finishesRestore = true)
    report(None, plan(planner(config, now)), 0L)
  }

  private def planner(config: TableConfig, now: Timeline) =
    new RestorePlanner(storage, config, now, Timeline.loadWhole(storage, config), options)

  private def run(plan: RestorePlanner => PlannedRestore): RestoreReport = {
    val started = System.nanoTime()
    LockedTable.unchecked(storage, options.access) {
      // An upgrade since the table was opened has changed its layout.
      val config = TableConfig.load(storage)
      (config, Timeline.load(storage, config, options.opened.filter(_ => config == opened)))
    } { table =>
      import table.{config, timeline}
      TableFeatures.requireWritable(storage, config, timeline, options.access.permits, finishesRestore = true)
      val planned = plan(planner(config, timeline))
      if (planned.plan.instants.isEmpty) {
        // One that stopped before it had an effect is given up.
        timeline.unfinished.foreach(removePending(timeline, _))
        report(None, planned, elapsed(started))
      } else {
        MetadataTable.drop(storage, options.access.permits)
        val instant = new Running(withoutFailed(table), planned.plan).execute(started)
        report(Some(instant), planned, elapsed(started))
      }
    }
  }

  /** Writes that failed are rolled back: none may complete onto what is removed. */
  private def withoutFailed(table: LockedTable): LockedTable = {
    val failed = table.timeline.pendingWrites.filterNot(i => table.timeline.pendingClusterings(i.requested))
    failed.foreach(Rollback.remove(table, _))
    if (failed.isEmpty) table else table.refreshed
  }

  private def removePending(now: Timeline, unfinished: UnfinishedRestore): Unit =
    now.filesIn(unfinished.instant, InstantState.Inflight, InstantState.Requested).foreach(storage.delete(_))

  private def report(instant: Option[String], planned: PlannedRestore, elapsedMs: Long) =
    RestoreReport(instant, planned.newest, elapsedMs, planned.lost, planned.files, planned.groups)

  /** One execution of a plan, under the lock. */
  private final class Running(table: LockedTable, plan: RestorePlan) {
    import table.{config, timeline => now}

    private val action = if (plan.target.isDefined) Action.Restore else Action.Rollback

    def execute(started: Long): String = {
      val instant = publish()
      Log.info(s"$action $instant of $storage takes back ${plan.instants.map(_.instant).mkString(", ")}")
      // They are part of this plan.
      now.unfinished.foreach(removePending(now, _))
      removeInstants(InstantState.Completed)
      table.lock.requireHeld()
      Parallel.map(plan.paths, "delete files")(path => storage.delete(path))
      revokeBlocks()
      removeInstants(InstantState.Inflight, InstantState.Requested)
      complete(instant, elapsed(started))
      instant
    }

    private def publish(): String = {
      val sizes   = plan.blocks.keys.map(path => path -> storage.status(path).fold(0L)(_.getLen)).toMap
      val content = RestorePlan.encode(plan, storage.path(_).toString, sizes)
      val instant = table.whole.announce(action, content)
      table.lock.requireHeld()
      table.begin(instant, action)
      instant
    }

    /** The newest first; the states in their order. */
    private def removeInstants(states: InstantState*): Unit = {
      val whole = Timeline.loadWhole(storage, config)
      val taken = plan.instants.map(_.instant).toSet
      val found = whole.instants.filter(i => i.action.whenCompleted.isWrite && taken(i.requested)).reverse
      table.lock.requireHeld()
      if (states == Seq(InstantState.Completed))
        found.foreach(i => whole.filesIn(i, states: _*).foreach(storage.delete(_)))
      else taken.toSeq.sorted.reverse.foreach { time =>
        Rollback.removeTakenBack(storage, time, found.filter(_.requested == time).flatMap(whole.filesIn(_, states: _*)))
      }
    }

    /** In a new file of the slice, which readers of both engines apply to those before it. */
    private def revokeBlocks(): Unit = plan.blocks.foreach { case (path, instants) =>
      val at        = path.lastIndexOf('/')
      val partition = path.take(math.max(at, 0))
      FileNames.parseLog(partition, path.drop(at + 1), 0L).foreach { log =>
        val last = storage.list(partition).flatMap(f => FileNames.parseLog(partition, f.getPath.getName, 0L))
          .filter(f => f.fileId == log.fileId && f.instant == log.instant).map(_.version).max
        // The instant of the slice: the block counts as long as the slice does.
        val writer = new LogWriter(storage, config.name,
          LogNames(partition, log.fileId, log.instant, last + 1, "0-0-0"), log.instant, new StructType())
        try { instants.foreach(writer.rollbackBlock); writer.close() }
        catch { case e: Throwable => writer.abort(); throw e }
      }
    }

    private def complete(instant: String, elapsedMs: Long): Unit = {
      val content = plan.target match {
        case Some(_) =>
          RestoreMetadata.encode(RestoreMetadata(instant, elapsedMs, plan.instants,
              plan.instants.map(i => i.instant -> metadata(instant, elapsedMs, Seq(i))).toMap))
        case None => RollbackMetadata.encode(metadata(instant, elapsedMs, plan.instants))
      }
      table.whole.complete(instant, action, content)
    }

    private def metadata(instant: String, elapsedMs: Long, of: Seq[RolledBack]): RollbackMetadata = {
      val times = of.map(_.instant).toSet
      def isOf(name: String) = FileNames.instant(name).filter(i => plan.instants.exists(_.instant == i)).fold(
        plan.instants.headOption.exists(i => times(i.instant)))(times)
      val deleted = plan.files.map { case (partition, names) =>
        partition -> names.filter(isOf).map(name => storage.path(FileNames.path(partition, name)).toString)
      }.filter(_._2.nonEmpty)
      RollbackMetadata(instant, elapsedMs, of, deleted)
    }
  }
}

private object Restoring {

  private val Log = LoggerFactory.getLogger(classOf[Restoring])

  private def elapsed(started: Long): Long = (System.nanoTime() - started) / 1000000L
}
