package io.merganser.table.service

import java.time.Clock

import io.merganser.table.file.FileGroupId
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.CleaningPolicy
import io.merganser.table.slice.FileSlice
import io.merganser.table.timeline.{Action, Instant, InstantTime, Timeline}

/**
 * Which file slices of a table are retained, by its timeline alone.
 *
 * A slice is superseded when the next base file of its group has completed: reads that began before need it. By commits
 * and hours, what was superseded before the first retained write completed is not retained. Requested times alone would
 * not do: a compaction that ran long completes as an old instant, while reads of the newest commit still use what it
 * supersedes.
 *
 * @param earliest the oldest write that is retained, with all later ones; None if nothing is due, or by file versions
 */
private[service] final class CleaningRetention(
    timeline: Timeline,
    policy: CleaningPolicy,
    val earliest: Option[Instant]
) {

  private val byInstant: Map[String, Instant] = timeline.completed.map(i => i.requested -> i).toMap

  /** When the first one of the retained writes completed. */
  private val earliestCompletion: Option[String] = earliest.flatMap(e =>
    timeline.completed.filter(_.requested >= e.requested).flatMap(timeline.completionOf)
      .sorted.headOption)

  /** Whether what a write superseded is not retained: it is older than `earliest` by its start and its completion. */
  def isPast(write: Instant): Boolean =
    earliest.exists(_.requested > write.requested) && timeline.completionOf(write).forall(at =>
      earliestCompletion.forall(at < _))

  private def isPast(requested: String): Boolean = byInstant.get(requested) match {
    case Some(write) => isPast(write)
    case None        => earliest.exists(_.requested > requested) && timeline.isCompleted(requested)
  }

  private val pending: Seq[Instant] = timeline.pending.filter(_.action.whenCompleted.isWrite)

  /** Whether writes or plans that are not done may retain slices that a later clean deletes. */
  def hasPending: Boolean = pending.nonEmpty

  /** Groups in plans that are not done, with the instant of the base file of the slice that the plan begins with. */
  private lazy val planned: Map[FileGroupId, String] =
    pending.filter(i => i.action == Action.Compaction || i.action == Action.LogCompaction)
      .flatMap(timeline.compactionPlan(_).operations).groupBy(_.group).map { case (group, operations) =>
        group -> operations.map(_.baseInstant).min
      }

  /**
   * The slices of one group that are not retained.
   *
   * @param slices all of the group, the oldest first
   * @param saved  names of files that savepoints retain
   */
  def superseded(slices: Seq[FileSlice], saved: Set[String]): Seq[FileSlice] = if (slices.size < 2) Nil
  else {
    val plan = planned.get(slices.head.group)
    val old = policy match {
      case CleaningPolicy.Versions(count) =>
        // The slices of a plan are one version together.
        val (before, since) = slices.partition(s => plan.forall(s.baseInstant < _))
        before.dropRight(if (since.isEmpty) count else count - 1)
      case _ =>
        slices.reverseIterator.map(_.baseInstant).find(isPast(_)).toSeq.flatMap(read =>
          slices.takeWhile(_.baseInstant < read))
    }
    val needed = neededLater(slices)
    old.filterNot { slice =>
      needed(slice.baseInstant) || plan.exists(_ <= slice.baseInstant) ||
      saved.nonEmpty && (slice.base.map(_.name) ++ slice.logs.map(_.name)).exists(saved)
    }
  }

  /** The newest slice of a group, and those that a plan needs. */
  def live(slices: Seq[FileSlice]): Seq[FileSlice] = {
    val plan = slices.headOption.flatMap(s => planned.get(s.group))
    slices.takeRight(1) ++ slices.filter(s => plan.exists(_ <= s.baseInstant))
  }

  /** Base instants of the slices that savepoints, writes and plans read that are not done. */
  private def neededLater(slices: Seq[FileSlice]): Set[String] = {
    val instants = slices.map(_.baseInstant)
    val saved    = timeline.savepoints.flatMap(s => instants.filter(_ <= s.requested).lastOption)
    val read = pending.flatMap { reader =>
      val begun = instants.filter(_ < reader.requested)
      def isDone(instant: String) =
        byInstant.get(instant).flatMap(timeline.completionOf).fold(timeline.isCompleted(instant))(_ <= reader.requested)
      begun.reverseIterator.find(isDone).fold(begun)(from => begun.filter(_ >= from))
    }
    (saved ++ read).toSet
  }

  /**
   * The file groups that completed writes replaced and of which nothing is retained, with the time up to which files
   * are theirs: the completion of the first write that replaced them. Later files are of a group that got the same id.
   * Modification times, which stand for completion times in layout 1, come from another clock than instants.
   */
  lazy val replaced: Map[FileGroupId, String] = {
    val replaces = timeline.completed.filter(_.action == Action.ReplaceCommit)
    replaces.reverse.flatMap(i => timeline.metadata(i).replaced.map(_ -> i)).toMap.collect {
      case (group, by) if isReplacedForGood(by) => group -> by.completed.getOrElse(by.requested)
    }
  }

  private def isReplacedForGood(by: Instant): Boolean =
    (policy.isInstanceOf[CleaningPolicy.Versions] || isPast(by)) &&
      timeline.savepoints.forall(by.requested <= _.requested) &&
      pending.forall(reader => timeline.completionOf(by).getOrElse(by.requested) <= reader.requested)
}

private[service] object CleaningRetention {

  private val HourMs = 3600000L

  def of(timeline: Timeline, config: TableConfig, policy: CleaningPolicy, clock: Clock): CleaningRetention =
    new CleaningRetention(timeline, policy, earliest(timeline, config, policy, clock))

  /** As an instant of the table's timeline. */
  def hoursAgo(hours: Int, config: TableConfig, clock: Clock): String =
    InstantTime.format(clock.millis - hours * HourMs, config.timelineZone)

  /**
   * The oldest write that is retained; never later than the last one before a pending write or plan, which reads what
   * was the newest when it began.
   */
  private def earliest(
      timeline: Timeline,
      config: TableConfig,
      policy: CleaningPolicy,
      clock: Clock
  ): Option[Instant] = {
    val completed = timeline.completed
    val wanted = policy match {
      case CleaningPolicy.Commits(count) =>
        if (completed.size > count) Some(completed(completed.size - count)) else None
      case CleaningPolicy.Hours(count) =>
        val from = hoursAgo(count, config, clock)
        // If all are older, the reads of these hours read the newest.
        if (completed.headOption.forall(_.requested >= from)) None
        else completed.find(_.requested >= from).orElse(completed.lastOption)
      case CleaningPolicy.Versions(_) => None
    }
    val pending = timeline.pending.find(_.action.whenCompleted.isWrite).map(_.requested)
    wanted.flatMap { write =>
      pending.filter(_ < write.requested).fold(Option(write)) { p =>
        // What such a write replaced is retained for the pending one, so it is not past.
        val during = completed.find(timeline.completionOf(_).exists(_ > p))
        completed.takeWhile(_.requested < p).lastOption.map(before =>
          during.filter(_.requested < before.requested).getOrElse(before))
      }
    }
  }
}
