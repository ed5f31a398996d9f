package io.merganser.spark.read

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Timeline
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.merganser.SparkBridge

/** Rows that come from the table they are written to, however it is named: they are read as of one instant, and the write knows which. */
private[spark] object SnapshotPinning {

  /**
   * The frame with all that it reads of the table as of the same instant, and the timeline of then; the frame itself if it reads
   * none of it.
   */
  def pinned(session: SparkSession, frame: DataFrame, target: Storage): (DataFrame, Option[Timeline]) = {
    val plan = frame.queryExecution.analyzed
    reads(plan).find(table => table.isCurrent && isSame(target, table)) match {
      case None        => (frame, None)
      case Some(first) => (SparkBridge.ofRows(session, pinnedTo(first.opened, plan)), Some(first.opened.timeline))
    }
  }

  /**
   * The timeline of when a frame read the table: of several the oldest. None if it reads none of it, or as of an instant that
   * its user named. Rows that Spark has copied meanwhile, as a checkpoint does, come from nowhere that could be seen.
   */
  def readAt(frame: DataFrame, target: Storage): Option[Timeline] = {
    def time(timeline: Timeline) = timeline.newestCompleted.map(i => i.completed.getOrElse(i.requested)).getOrElse("")
    val timelines = reads(frame.queryExecution.analyzed).filter(table => table.isCurrent && isSame(target, table)).map(
      _.opened.timeline)
    if (timelines.isEmpty) None else Some(timelines.minBy(time))
  }

  /** The plan with all that it reads of the table as of that timeline; but for what a statement's own scan of its target reads. */
  def pinnedTo(opened: OpenTable, plan: LogicalPlan): LogicalPlan =
    plan.transformWithSubqueries { case relation: DataSourceV2Relation =>
      relation.table match {
        case table: SnapshotTable if table.watched.isEmpty && table.isCurrent && isSame(opened.storage, table) =>
          relation.copy(table = table.pinnedTo(opened))
        case _ => relation
      }
    }

  /** Does a plan read the table? */
  def isRead(opened: OpenTable, plan: LogicalPlan): Boolean = reads(plan).exists(isSame(opened.storage, _))

  private def reads(plan: LogicalPlan): Seq[SnapshotTable] =
    plan.collectWithSubqueries { case relation: DataSourceV2Relation => relation.table }.collect {
      case table: SnapshotTable => table
    }

  private def isSame(storage: Storage, table: SnapshotTable): Boolean =
    table.opened.storage.identity == storage.identity
}
