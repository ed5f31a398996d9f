package io.merganser.table.service

import io.merganser.table.settings.ArchiveConfig
import io.merganser.table.timeline.{Action, Instant, Timeline}

/**
 * Which instants may be archived, as far as the names on the timeline tell. An instant before the first write on the
 * timeline counts as completed: what is archived is therefore a prefix of the writes, but for those with a savepoint.
 */
private[service] object ArchivingPlan {

  /** Completed writes that may be archived, oldest first; none while the timeline has few writes. */
  def writes(timeline: Timeline, config: ArchiveConfig, isMergeOnRead: Boolean): Seq[Instant] = {
    val saved = timeline.instants.filter(_.action == Action.Savepoint).map(_.requested).toSet
    val all   = timeline.completed.filterNot(i => config.beyondSavepoint && saved(i.requested))
    if (all.size <= config.maxCommits) Nil
    else {
      val oldestPending = timeline.pending.filter(isBound).map(_.requested).sorted.headOption
      val bounds = oldestPending.map(keptBefore(timeline, _)).toSeq ++
        saved.filterNot(_ => config.beyondSavepoint) ++
        (if (isMergeOnRead) uncompacted(timeline, config) else None)
      // A write that is pending has yet to be compared with those that completed since it began.
      all.dropRight(config.minCommits).takeWhile(i =>
        bounds.forall(i.requested < _) && i.completed.forall(c => oldestPending.forall(c < _)))
    }
  }

  /**
   * Completed services that are older than the last write to archive. The newest clean stays: it has what the next one
   * continues with.
   */
  def services(timeline: Timeline, writes: Seq[Instant], hasLayout2: Boolean): Seq[Instant] =
    writes.lastOption.toSeq.flatMap { last =>
      val oldestPending = timeline.pending.map(_.requested).sorted.headOption
      val old           = timeline.instants.filter(i => i.isCompleted && i.requested < last.requested)
      old.filter(i =>
        isService(i.action, hasLayout2) && !timeline.lastClean.contains(i) &&
          (hasLayout2 || i.action != Action.Rollback || !timeline.isOfCompleted(i)) &&
          oldestPending.forall(i.completed.getOrElse(i.requested) < _))
    }

  /** Pending cleans and indexings read nothing of older writes; pending rollbacks are compared by their instants. */
  private def isBound(instant: Instant): Boolean =
    instant.action.whenCompleted.isWrite || instant.action == Action.Restore

  /** The archive of layout 1 has no records of restores and indexings, and not the plans of rollbacks. */
  private def isService(action: Action, hasLayout2: Boolean): Boolean =
    action == Action.Clean || action == Action.Rollback ||
      (hasLayout2 && (action == Action.Restore || action == Action.Indexing))

  /** The last completed write before an instant, so that the timeline does not begin with a pending one. */
  private def keptBefore(timeline: Timeline, instant: String): String =
    timeline.completed.map(_.requested).filter(_ < instant).lastOption.getOrElse(instant)

  /**
   * The first of the delta commits that are counted for the next compaction, or the last compaction, from which the
   * time to the next one may be counted.
   */
  private def uncompacted(timeline: Timeline, config: ArchiveConfig): Option[String] = {
    val counted = config.deltaCommits
    val last    = timeline.completed.filter(_.action == Action.Commit).lastOption.map(_.requested)
    val deltas  = timeline.completed.filter(i => i.action == Action.DeltaCommit && last.forall(_ < i.requested))
    if (deltas.size > counted && !config.compactsByTime) deltas.takeRight(counted).headOption.map(_.requested)
    else last.orElse(deltas.headOption.map(_.requested))
  }
}
