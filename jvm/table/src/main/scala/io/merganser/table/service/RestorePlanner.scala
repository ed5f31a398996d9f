package io.merganser.table.service

import io.merganser.merge.MerganserException
import io.merganser.table.commit.{CompactionSchedule, Rollback, Transaction}
import io.merganser.table.file.{FileGroupId, FileNames, Markers}
import io.merganser.table.log.BlockInstants
import io.merganser.table.properties.TableConfig
import io.merganser.table.slice.{ChangeFiles, DataFile, TableView, TimeTravel}
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline._

/**
 * A write or a planned service that is taken back.
 *
 * @param operation of a completed one
 * @param inserted  rows of new keys that it wrote, as its files count them; 0 for services, which change no row
 * @param updated   rows of stored keys that it wrote
 * @param deleted   rows that it deleted
 */
final case class LostWrite(
    instant: String,
    action: String,
    state: String,
    operation: Option[String],
    inserted: Long,
    updated: Long,
    deleted: Long
)

/** A data file that is deleted, by its path relative to the table's. */
final case class RestoredFile(path: String, sizeBytes: Long)

/**
 * What a restore or a rollback does.
 *
 * @param newest the newest write that stays, if one does
 * @param lost   the newest first
 * @param groups file groups that overwrites had replaced and that become visible again
 */
private[service] final case class PlannedRestore(
    plan: RestorePlan,
    newest: Option[String],
    lost: Seq[LostWrite],
    files: Seq[RestoredFile],
    groups: Seq[FileGroupId]
)

/**
 * Decides what a restore removes, and refuses one that would lose more than it shows.
 *
 * What stays is what time travel to the target reads: the writes up to its requested time.
 *
 * @param now   without the instants that unfinished restores take back
 * @param whole with them, of the same time
 */
private[service] final class RestorePlanner(
    storage: Storage,
    config: TableConfig,
    now: Timeline,
    whole: Timeline,
    options: Transaction.Options
) {

  private lazy val archive = new ArchivedTimeline(storage, config)

  /** @param time that of a write, see [[TimeTravel.writeAt]] */
  def restore(time: String): PlannedRestore = {
    val restoredTo = whole.unfinished.filter(_.isEffective).flatMap(_.plan).flatMap(_.target).toSet
    val target = new TimeTravel(storage, config, now).writeAt(time, restoredTo).fold(
      reason => throw unknown(time, reason), _.requested)
    plan(Some(target), now.completed.filter(_.requested <= target), _.requested > target)
  }

  /** @param instant requested time of the newest completed write; None for that one, whichever it is */
  def rollback(instant: Option[String]): PlannedRestore = {
    // A rollback that stopped is finished by its own call.
    val unfinished = now.unfinished.filter(u => u.isEffective && u.plan.exists(_.target.isEmpty)).flatMap(_.takenBack)
    val last = instant.filter(unfinished.contains).orElse(
      if (instant.isEmpty) unfinished.sorted.headOption else None).orElse(now.completed.lastOption.map(_.requested))
    val newest = last.getOrElse(throw noWrite(instant.getOrElse("newest")))
    instant.filter(i => i != newest && !now.completed.exists(_.requested == i)).foreach(i => throw noWrite(i))
    // Another engine may have written since a rollback stopped.
    val named = instant.getOrElse(newest)
    now.completed.lastOption.map(_.requested).filter(_ > named).foreach { later =>
      val before = now.completed.map(_.requested).filter(_ < named).lastOption
      throw MerganserException("ROLLBACK_NOT_NEWEST", "path" -> storage, "instant" -> named, "newest" -> later,
        "before" -> before.getOrElse("none"))
    }
    plan(None, now.completed.filter(_.requested < newest), _.requested >= newest)
  }

  private def plan(target: Option[String], staying: Seq[Instant], isAfter: Instant => Boolean): PlannedRestore = {
    val taken =
      whole.instants.filter(i => i.action.whenCompleted.isWrite && isAfter(i)).reverse.filterNot(isFailed)
    requireOwnRule(taken)
    requireFinished(taken)
    requireUnsaved(taken)
    requireNoneRunning(taken)
    requireNoneArchived(staying)
    val view          = new TableView(storage, config, pastOf(staying))
    val live          = view.slices
    val files         = removed(view, taken)
    val instants      = taken.map(i => RolledBack(i.requested, i.action.name))
    val (own, shared) = (files.filter(_.revoked.isEmpty), files.filter(_.revoked.nonEmpty))
    val planned = RestorePlan(target, instants,
      own.groupBy(_.file.group.partitionPath).map { case (p, some) => p -> some.map(_.file.name).sorted },
      shared.map(s => s.path -> s.revoked).toMap)
    val replaced = taken.filter(i => i.isCompleted && i.action == Action.ReplaceCommit)
      .flatMap(whole.metadata(_).replaced).toSet
    PlannedRestore(
      whole.unfinished.filter(_.isEffective).flatMap(_.plan).foldLeft(planned)(_ and _),
      staying.lastOption.map(_.requested),
      taken.map(lost),
      own.map(f => RestoredFile(f.path, f.file.sizeBytes)).sortBy(_.path),
      live.map(_.group).filter(replaced).sortBy(g => (g.partitionPath, g.fileId))
    )
  }

  /** A write that never completed: it is rolled back first. Unfinished restores have some of those that did. */
  private def isFailed(instant: Instant): Boolean =
    !instant.isCompleted && instant.action.isWrite && !whole.pendingClusterings(instant.requested) && !unfinishedTaken(
      instant.requested)

  private lazy val unfinishedTaken: Set[String] = whole.unfinished.filter(_.isEffective).flatMap(_.takenBack).toSet

  private def lost(instant: Instant): LostWrite = {
    val metadata = if (instant.isCompleted) Some(whole.metadata(instant)) else None
    val stats    = metadata.filterNot(_.operationType.isService).toSeq.flatMap(_.allStats)
    LostWrite(instant.requested, instant.action.name, instant.state.shown, metadata.map(_.operationType.name),
      stats.map(_.numInserts).sum, stats.map(_.numUpdateWrites).sum, stats.map(_.numDeletes).sum)
  }

  // --- what refuses it -----------------------------------------------------------------------------------------------

  /** Versions that were merged under the rule before would be merged by that of now. */
  private def requireOwnRule(taken: Seq[Instant]): Unit =
    for (since <- config.ruleSince; instant <- taken.map(_.requested).find(_ <= since))
      throw MerganserException("RESTORE_BEFORE_RULE", "path" -> storage, "instant" -> instant, "since" -> since)

  private def noWrite(instant: String): MerganserException =
    unknown(instant, s"'$instant' is not a completed write on its timeline")

  private def unknown(instant: String, reason: String): MerganserException =
    MerganserException("RESTORE_INSTANT_UNKNOWN", "path" -> storage, "instant" -> instant, "reason" -> reason,
      "instants" -> Savepoints.shown(now.completed))

  /** What an unfinished restore is removing can only be removed altogether. */
  private def requireFinished(taken: Seq[Instant]): Unit = {
    val here = taken.map(_.requested).toSet
    val left = whole.instants.filter(_.action.whenCompleted.isWrite).map(_.requested).toSet
    whole.unfinished.filter(_.isEffective).find(_.takenBack.exists(i => left(i) && !here(i))).foreach { found =>
      throw MerganserException("RESTORE_UNFINISHED", "path" -> storage, "action" -> found.instant.action,
        "instant" -> found.instant.requested, "remedy" -> found.remedy)
    }
  }

  private def requireUnsaved(taken: Seq[Instant]): Unit = {
    val times = taken.map(_.requested).toSet
    val saved = now.savepoints.filter(s => times(s.requested))
    if (saved.nonEmpty) throw MerganserException("RESTORE_OF_SAVEPOINT", "path" -> storage,
      "savepoints" -> saved.map(_.requested).mkString(", "))
  }

  private def requireNoneRunning(taken: Seq[Instant]): Unit = {
    def refuse(instant: Instant, reason: String) =
      throw MerganserException("RESTORE_WHILE_WRITING", "path" -> storage, "action" -> instant.action,
        "instant" -> instant.requested, "reason" -> reason)
    now.pendingWrites.filterNot(i => now.pendingClusterings(i.requested)).filterNot(
      Rollback.hasFailed(storage, options, _)).foreach(refuse(_, "its heartbeat is alive"))
    // Compactions, log compactions and clusterings: a run would write files that nothing announces any more.
    taken.filter(i => !i.isCompleted && !unfinishedTaken(i.requested)).foreach { i =>
      CompactionSchedule.runner(storage, config, i, options.clusteringExpiry.afterMs).foreach(refuse(i, _))
    }
  }

  /** Later writes that are only in the history would stay; and so would the timeline begin before them. */
  private def requireNoneArchived(staying: Seq[Instant]): Unit = if (!now.isWhole) {
    val saved = now.savepoints.map(_.requested).toSet
    // If all that stays has a savepoint, the timeline begins with the oldest.
    val from = if (staying.forall(i => saved(i.requested))) staying.headOption else staying.lastOption
    val later = archive.newestFirst(from.map(_.requested), None).map(_._1.requested).filter(i =>
      from.forall(_.requested < i)).take(1).toList
    later.foreach { instant =>
      throw MerganserException("RESTORE_ARCHIVED", "path" -> storage,
        "instant" -> staying.lastOption.fold("none")(_.requested), "archived" -> instant,
        "oldest" -> now.start.getOrElse("none"))
    }
  }

  private def pastOf(staying: Seq[Instant]): Timeline = staying.lastOption match {
    case None => now.asOf("")
    case Some(newest) =>
      try new TimeTravel(storage, config, now).to(newest.requested)
      catch {
        case e: MerganserException if e.condition == "AS_OF_TOO_EARLY" =>
          throw MerganserException("RESTORE_TOO_EARLY", "path" -> storage, "instant" -> newest.requested,
            "reason" -> e.parameters("reason"), "oldest" -> e.parameters("oldest")).causedBy(e)
      }
  }

  // --- files ---------------------------------------------------------------------------------------------------------

  private def removed(view: TableView, taken: Seq[Instant]): Seq[RemovedFile] = {
    val instants = taken.map(_.requested).toSet
    val named =
      Parallel.map(taken.filter(_.isCompleted), "read commits")(whole.metadata(_)).flatMap(_.allStats.map(_.path)).toSet
    // Of runs that stopped; their logs have the instant of the slice in version 6.
    val announced = taken.filterNot(_.isCompleted).flatMap(i => new Markers(storage, i.requested).all).map(_.path).toSet
    // Where they are shared, a log that another attempt has left may have blocks of the write, too.
    val logged = named.flatMap(FileNames.anyAttempt)
    Parallel.map(view.partitions, "list partitions") { partition =>
      view.dataFiles(partition).flatMap { file =>
        val path = FileNames.path(partition, file.name)
        if (isShared(file.name)) {
          if (instants(file.instant) || announced(path) || FileNames.anyAttempt(path).exists(logged))
            ofBlocks(file, path, instants)
          else None
        } else if (instants(file.instant) || named(path)) Some(RemovedFile(file, Nil))
        else None
      }
    }.flatten
  }

  /**
   * Whether several writes may have blocks in a file: a log of version 6, also of a table that was upgraded. Change
   * files are of one write.
   */
  private def isShared(name: String): Boolean =
    config.isMergeOnRead && FileNames.isLog(name) && !ChangeFiles.is(name) &&
      (config.version < 8 || !config.isCreatedInLayout2)

  private def ofBlocks(file: DataFile, path: String, instants: Set[String]): Option[RemovedFile] =
    storage.status(path).flatMap { status =>
      val blocks = Rollback.blockInstants(storage, file.group.partitionPath, status)
      // Those of earlier restores are not completed either.
      val (gone, others) = blocks.partition(i => instants(i) || !now.isCompleted(i))
      // A block of a rollback acts on other files of the slice, whose blocks would count again without it.
      def revokes = FileNames.parseLog(file.group.partitionPath, file.name, status.getLen).exists(
        BlockInstants.hasCommands(storage, _))
      if (others.isEmpty && (instants(file.instant) || !revokes)) Some(RemovedFile(file, Nil))
      else if (gone.isEmpty) None
      else Some(RemovedFile(file, gone.toSeq.sorted))
    }
}

/** @param revoked instants whose blocks are revoked, where others have blocks in the file too: it stays then */
private[service] final case class RemovedFile(file: DataFile, revoked: Seq[String]) {
  def path: String = FileNames.path(file.group.partitionPath, file.name)
}
