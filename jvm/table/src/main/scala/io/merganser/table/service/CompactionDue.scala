package io.merganser.table.service

import java.time.LocalDateTime
import java.time.temporal.ChronoUnit

import io.merganser.table.options.CompactionTrigger
import io.merganser.table.settings.CompactionConfig
import io.merganser.table.timeline.{Action, Instant, InstantTime, OperationType, Timeline}

/** Whether the delta commits of a timeline, or the time since the last compaction, make a compaction due. */
object CompactionDue {

  /** @param now in the timeline's zone */
  def isDue(config: CompactionConfig, timeline: Timeline, now: LocalDateTime): Boolean = {
    val deltas = timeline.completed.filter(_.action == Action.DeltaCommit)
    // Commits are read only where the number of delta commits, or their age, would suffice without a compaction.
    lazy val last                       = lastCompaction(timeline)
    def since(of: Option[Instant])      = deltas.filter(i => of.forall(i.requested > _.requested))
    def areMany(of: => Option[Instant]) = deltas.size >= config.deltaCommits && since(of).size >= config.deltaCommits
    def isOld(instant: Instant) =
      InstantTime.parse(instant.requested).exists(ChronoUnit.SECONDS.between(_, now) >= config.deltaSeconds)
    def isLate = deltas.headOption.exists(isOld) && since(last).nonEmpty && last.forall(isOld)
    config.trigger match {
      case CompactionTrigger.NumCommits => areMany(last)
      case CompactionTrigger.NumCommitsAfterLastRequest =>
        areMany((timeline.pendingCompactions ++ last).sortBy(_.requested).lastOption)
      case CompactionTrigger.TimeElapsed => isLate
      case CompactionTrigger.NumAndTime  => areMany(last) && isLate
      case CompactionTrigger.NumOrTime   => areMany(last) || isLate
    }
  }

  /** The newest first, so that commits before the last compaction are not read. */
  private def lastCompaction(timeline: Timeline): Option[Instant] =
    timeline.completed.reverseIterator.find(i =>
      i.action == Action.Commit && timeline.metadata(i).operationType == OperationType.Compact)
}
