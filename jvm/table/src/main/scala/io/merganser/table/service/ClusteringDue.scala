package io.merganser.table.service

import io.merganser.table.settings.ClusteringConfig
import io.merganser.table.timeline.{Action, Instant, OperationType, Timeline}

/** Whether the commits of a timeline make a clustering due. */
object ClusteringDue {

  /** Commits after the last clustering count, whether that has been run or only scheduled. */
  def isDue(config: ClusteringConfig, timeline: Timeline): Boolean = {
    val writes = timeline.completed
    writes.size >= config.commits && {
      val last = (timeline.plannedClusterings.map(_._1) ++ lastCompleted(timeline)).map(_.requested).sorted.lastOption
      writes.count(i => last.forall(i.requested > _)) >= config.commits
    }
  }

  /** The newest first, so that older commits are not read. */
  private def lastCompleted(timeline: Timeline): Option[Instant] =
    timeline.completed.reverseIterator.find(i =>
      i.action == Action.ReplaceCommit && timeline.metadata(i).operationType == OperationType.Cluster)
}
