package io.merganser.table.service

import io.merganser.table.settings.ClusteringConfig
import io.merganser.table.timeline.{Action, Instant, OperationType, Timeline}

/** Whether the commits of a timeline make a clustering due. */
object ClusteringDue {

  /** Commits after the last clustering count, whether that has been run or only scheduled; archived ones, too. */
  def isDue(config: ClusteringConfig, timeline: Timeline): Boolean = {
    val writes = timeline.completed
    val last   = (timeline.plannedClusterings.map(_._1) ++ lastCompleted(timeline)).map(_.requested).sorted.lastOption
    val since  = writes.count(i => last.forall(i.requested > _))
    since >= config.commits || (last.isEmpty && archived(timeline, config.commits - since) >= config.commits - since)
  }

  /** The newest first, so that older commits are not read. */
  private def lastCompleted(timeline: Timeline): Option[Instant] =
    timeline.completed.reverseIterator.find(i =>
      i.action == Action.ReplaceCommit && timeline.metadata(i).operationType == OperationType.Cluster)

  /** Number of writes archived since the last clustering, counted up to a limit. */
  private def archived(timeline: Timeline, limit: Int): Int = {
    // A savepoint keeps an instant on the timeline when those around it are archived.
    val here = timeline.completed.map(_.requested).toSet
    timeline.archivedWrites.filterNot { case (instant, _) => here(instant.requested) }.takeWhile {
      case (instant, metadata) =>
        instant.action != Action.ReplaceCommit || !metadata().exists(_.operationType == OperationType.Cluster)
    }.take(limit).size
  }
}
