package io.merganser.spark.source

import io.merganser.table.Storage
import io.merganser.table.timeline.Timeline
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.merganser.SparkBridge

/** Rows that come from the table they are written to: they are read as of one instant, and the write knows which. */
private[source] object SelfReads {

  /**
   * The frame with all that it reads of the table as of the same instant, and the timeline of then; the frame itself if it reads
   * none of it.
   */
  def pinned(session: SparkSession, frame: DataFrame, target: Storage): (DataFrame, Option[Timeline]) = {
    val plan = frame.queryExecution.analyzed
    def own(relation: DataSourceV2Relation): Option[MerganserTable] = relation.table match {
      case table: MerganserTable if table.isCurrent && table.opened.storage.basePath == target.basePath => Some(table)
      case _                                                                                            => None
    }
    plan.collectWithSubqueries { case relation: DataSourceV2Relation => own(relation) }.flatten.headOption match {
      case None => (frame, None)
      case Some(first) =>
        val once = plan.transformWithSubqueries { case relation: DataSourceV2Relation =>
          own(relation).fold(relation)(table => relation.copy(table = table.pinnedTo(first.opened)))
        }
        (SparkBridge.ofRows(session, once), Some(first.opened.timeline))
    }
  }
}
