package io.merganser.table.service

import java.time.Clock

import io.merganser.table.commit.{LockedTable, MetadataTable, PlanAttempt}
import io.merganser.table.file.{FileNames, PartitionMetadata}
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.{CleaningConfig, CleaningPolicy, TableAccess}
import io.merganser.table.slice.{ChangeFiles, TableView}
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline._

/**
 * What one clean did.
 *
 * @param bytesDeleted      as listed before
 * @param partitionsRemoved paths of the partitions whose folders were removed
 */
final case class CleanReport(
    instant: String,
    elapsedMs: Long,
    filesDeleted: Int,
    bytesDeleted: Long,
    earliest: Option[String],
    partitionsRemoved: Seq[String]
)

/** What a clean would do now: files of pending ones, too. */
final case class CleanPreview(files: Seq[CleanFile], partitions: Seq[String], earliest: Option[String])

/**
 * Deletes files that no read inside the retention needs.
 *
 * A clean is planned without the table lock and put on the timeline under it, if nothing has happened meanwhile that
 * may need the files; then they are deleted, and the clean completes under the lock. One that stops in between, of any
 * engine, is run again by the next one: files that are gone are no error.
 *
 * @param opened timeline with which the table was opened: what was read of it is not read again
 */
final class Cleaning(
    storage: Storage,
    config: TableConfig,
    cleaning: CleaningConfig,
    access: TableAccess = TableAccess(),
    opened: Option[Timeline] = None,
    clock: Clock = Clock.systemUTC
) {

  /**
   * After a commit.
   *
   * @return what was done, also the pending cleans of others
   * @throws io.merganser.merge.MerganserException what [[LockedTable.of]] throws
   */
  def automatic(): Seq[CleanReport] =
    if (opened.exists(isFarFromDue)) Nil
    else {
      val now = Timeline.load(storage, config, opened)
      finish(now) ++ begin(Some(now), onRequest = false)
    }

  /**
   * Runs the pending cleans, and a new one.
   *
   * @param schedules    false: only the pending ones
   * @param ifTriggered  only if enough commits have completed since the last clean
   */
  def onRequest(schedules: Boolean = true, ifTriggered: Boolean = false): Seq[CleanReport] =
    finish(Timeline.load(storage, config, opened)) ++
      (if (schedules) begin(None, onRequest = !ifTriggered) else None)

  /** Whether nothing can be due one commit after a timeline: it is not listed again then. */
  private def isFarFromDue(before: Timeline): Boolean = before.pendingCleans.isEmpty && (cleaning.policy match {
    case CleaningPolicy.Commits(count) => before.completed.size < count
    case CleaningPolicy.Hours(count) =>
      before.completed.headOption.forall(_.requested >= CleaningRetention.hoursAgo(count, config, clock))
    case CleaningPolicy.Versions(_) => before.completed.isEmpty
  })

  /** Changes nothing. */
  def preview(): CleanPreview = {
    val now     = Timeline.load(storage, config, opened)
    val pending = now.pendingCleans.flatMap(now.cleanPlan)
    val planned = new CleanPlanner(storage, config, now, cleaning, clock).plan(onRequest = true)
    val files   = pending.flatMap(filesOf(_, now)._1) ++ planned.toSeq.flatMap(_.files)
    CleanPreview(files.groupBy(_.path).values.map(_.head).toSeq.sortBy(_.path),
      (pending ++ planned.map(_.plan)).flatMap(_.partitions).distinct.sorted,
      planned.flatMap(_.plan.earliest).map(_.requested))
  }

  // --- planning ------------------------------------------------------------------------------------------------------

  private def begin(loaded: Option[Timeline], onRequest: Boolean): Option[CleanReport] = {
    val started = System.nanoTime()
    PlanAttempt.decided((number, mayRepeat) => schedule(loaded.filter(_ => number == 0), onRequest, mayRepeat))
      .map { case (instant, planned) => run(instant, planned.plan, planned.files, Map.empty, started) }
  }

  private def schedule(
      loaded: Option[Timeline],
      onRequest: Boolean,
      mayRepeat: Boolean
  ): PlanAttempt[(String, PlannedClean)] = {
    def plan(timeline: Timeline) = new CleanPlanner(storage, config, timeline, cleaning, clock).plan(onRequest)
    val seen                     = loaded.getOrElse(Timeline.load(storage, config, opened))
    plan(seen) match {
      case None => PlanAttempt.Decided(None)
      case Some(planned) =>
        prepared(seen) { table =>
          val now = table.timeline
          def publish(chosen: PlannedClean) = {
            val instant = table.announce(Action.Clean, CleanPlan.encode(chosen.plan, wholePath))
            table.begin(instant, Action.Clean)
            instant -> chosen
          }
          if (isUnaffected(seen, now)) PlanAttempt.Decided(Some(publish(planned)))
          else if (mayRepeat) PlanAttempt.Outdated
          else PlanAttempt.Decided(plan(now).map(publish))
        }
    }
  }

  /** Locks the table, which then has no list of files that would be outdated. */
  private def prepared[T](known: Timeline)(work: LockedTable => T): T =
    LockedTable.of(storage, config, access, Some(known)) { table =>
      MetadataTable.drop(storage, access.permits)
      work(table)
    }

  private def wholePath(partition: String, name: String): String =
    storage.path(FileNames.path(partition, name)).toString

  /**
   * Whether a plan of an earlier timeline is still right: later writes and their plans read newer slices. A savepoint,
   * another clean, or the removal of a completed write would change it.
   */
  private def isUnaffected(seen: Timeline, now: Timeline): Boolean = {
    val others = Set[Action](Action.Savepoint, Action.Clean, Action.Restore)
    val isSame = cleaning.policy match {
      // The next clean by versions looks at the writes that complete after the plan's instant.
      case CleaningPolicy.Versions(_) => seen.completed == now.completed
      case _                          => seen.completed.toSet.subsetOf(now.completed.toSet)
    }
    isSame && seen.instants.filter(i => others(i.action)) == now.instants.filter(i => others(i.action))
  }

  // --- running -------------------------------------------------------------------------------------------------------

  /** Runs the cleans that are pending. */
  private def finish(timeline: Timeline): Seq[CleanReport] =
    timeline.pendingCleans.map(_.requested).flatMap { instant =>
      val started = System.nanoTime()
      val (now, found) = prepared(timeline) { table =>
        val now = table.timeline
        val plan = now.find(instant, Action.Clean).filterNot(_.isCompleted).flatMap { clean =>
          val plan = now.cleanPlan(clean)
          if (plan.isEmpty) discard(now, clean)
          else if (!now.hasFile(clean, InstantState.Inflight)) table.begin(instant, Action.Clean)
          plan
        }
        (now, plan)
      }
      found.map { plan =>
        val (files, retained) = filesOf(plan, now)
        run(instant, plan, files, retained, started)
      }
    }

  /** A clean whose process ended before it wrote a plan has deleted nothing. */
  private def discard(now: Timeline, clean: Instant): Unit =
    now.filesIn(clean, InstantState.Inflight, InstantState.Requested).foreach(file => storage.delete(file))

  /**
   * The files of a plan of any engine that are there, and by partition the names of those that are retained all the
   * same: savepoints or the newest slices have them now.
   */
  private def filesOf(plan: CleanPlan, now: Timeline): (Seq[CleanFile], Map[String, Set[String]]) = {
    val view      = new TableView(storage, config, now)
    val retention = CleaningRetention.of(now, config, cleaning.policy, clock)
    val found = Parallel.map(plan.files.toSeq, "list partitions") { case (partition, names) =>
      val changes = new ChangeFiles(view.dataFiles(partition))
      val live = view.allSlices(partition).groupBy(_.fileId).values.flatMap { group =>
        val slices = retention.live(group)
        slices.flatMap(s => s.base.map(_.name) ++ s.logs.map(_.name)) ++ changes.of(group, slices).map(_.name)
      }.toSet ++ now.savedFiles.getOrElse(partition, Set.empty)
      val sizes = view.dataFiles(partition).map(f => f.name -> f.sizeBytes).toMap
      val files = names.distinct.filterNot(live).flatMap(name => sizes.get(name).map(CleanFile(partition, name, _)))
      (files, partition -> names.toSet.intersect(live))
    }
    (found.flatMap(_._1), found.map(_._2).toMap)
  }

  private def run(
      instant: String,
      plan: CleanPlan,
      files: Seq[CleanFile],
      retained: Map[String, Set[String]],
      started: Long
  ): CleanReport = {
    // A failure leaves the clean pending, for the next one.
    Parallel.map(files, "delete files")(file => storage.delete(file.path))
    def elapsed = (System.nanoTime() - started) / 1000000L
    val removed = LockedTable.unchecked(storage, access)((config, Timeline.load(storage, config, opened))) { table =>
      val now = table.timeline
      // Another process may have run it as well.
      now.find(instant, Action.Clean).filterNot(_.isCompleted).toSeq.flatMap { _ =>
        val removed = plan.partitions.filter(remove(_, now))
        table.complete(instant, Action.Clean,
          CleanMetadata.encode(metadata(instant, plan, files, retained, removed, elapsed)))
        removed
      }
    }
    CleanReport(instant, elapsed, files.size, files.map(_.sizeBytes).sum, plan.earliest.map(_.requested), removed)
  }

  /** Files of the plan that are gone count as deleted, whichever run has deleted them. */
  private def metadata(
      instant: String,
      plan: CleanPlan,
      files: Seq[CleanFile],
      retained: Map[String, Set[String]],
      removed: Seq[String],
      elapsedMs: Long
  ): CleanMetadata = {
    val partitions = (plan.files.keySet ++ plan.partitions).map { path =>
      val (failed, deleted) = plan.files.getOrElse(path, Nil).partition(retained.getOrElse(path, Set.empty))
      path -> CleanedPartition(plan.policy, deleted, failed, removed.contains(path))
    }.toMap
    val extra = WriterIdentity.now + (CleanMetadata.BytesKey -> files.map(_.sizeBytes).sum.toString)
    CleanMetadata(instant, elapsedMs, partitions.values.map(_.deleted.size).sum, plan.earliest.map(_.requested),
      plan.lastCompleted, partitions, extra ++ plan.extra)
  }

  /**
   * Removes a partition's folder, under the lock, if it holds no file. Not while a write is running, which may be about
   * to create one there.
   */
  private def remove(partition: String, now: Timeline): Boolean =
    partition.nonEmpty && !now.pending.exists(_.action.whenCompleted.isWrite) && {
      val found = storage.list(partition)
      found.forall(f => f.isFile && PartitionMetadata.isMetadata(f.getPath.getName)) && {
        found.foreach(f => storage.delete(FileNames.path(partition, f.getPath.getName)))
        storage.deleteFolder(partition)
      }
    }
}
