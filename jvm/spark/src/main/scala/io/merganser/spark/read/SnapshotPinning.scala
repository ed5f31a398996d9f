package io.merganser.spark.read

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Timeline
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.merganser.SparkBridge

/** Pins reads of the table that is written, however it is named, to one instant, which the write knows. */
private[spark] object SnapshotPinning {

  /**
   * The frame with all its reads of the table pinned to the same instant, and the timeline of that instant; the frame
   * itself if it does not read the table.
   */
  def pinned(session: SparkSession, frame: DataFrame, target: Storage): (DataFrame, Option[Timeline]) = {
    val plan = frame.queryExecution.analyzed
    reads(plan).find(table => table.isCurrent && isSame(target, table)) match {
      case None        => (frame, None)
      case Some(first) => (SparkBridge.ofRows(session, pinnedTo(first.opened, plan)), Some(first.opened.timeline))
    }
  }

  /**
   * The timeline at which a frame reads the table; the oldest if there are several. None if it does not read the table,
   * or only as of an explicit instant. The origin of rows that Spark has copied, as in a checkpoint, is not visible.
   */
  def readAt(frame: DataFrame, target: Storage): Option[Timeline] = {
    def time(timeline: Timeline) = timeline.newestCompleted.map(i => i.completed.getOrElse(i.requested)).getOrElse("")
    val timelines = reads(frame.queryExecution.analyzed).filter(table => table.isCurrent && isSame(target, table)).map(
      _.opened.timeline)
    if (timelines.isEmpty) None else Some(timelines.minBy(time))
  }

  /** The plan with all reads of the table pinned to that timeline, except a statement's own scan of its target. */
  def pinnedTo(opened: OpenTable, plan: LogicalPlan): LogicalPlan =
    plan.transformWithSubqueries { case relation: DataSourceV2Relation =>
      relation.table match {
        case table: SnapshotTable if table.scanCounts.isEmpty && table.isCurrent && isSame(opened.storage, table) =>
          relation.copy(table = table.pinnedTo(opened))
        case _ => relation
      }
    }

  /** True if a plan reads the table. */
  def isRead(opened: OpenTable, plan: LogicalPlan): Boolean = reads(plan).exists(isSame(opened.storage, _))

  private def reads(plan: LogicalPlan): Seq[SnapshotTable] =
    plan.collectWithSubqueries { case relation: DataSourceV2Relation => relation.table }.collect {
      case table: SnapshotTable => table
    }

  private def isSame(storage: Storage, table: SnapshotTable): Boolean =
    table.opened.storage.identity == storage.identity
}
