package io.merganser.spark.sql.procedures

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.timeline.{ArchivedTimeline, CommitMetadata, Instant}
import org.apache.spark.sql.types._

/**
 * CALL show_archived_commits(table => … | path => …): completed writes that were moved from the timeline to its
 * history, newest first, with what they wrote and our counts of each.
 */
object ShowArchivedCommits extends LazyTableProcedure[(Instant, CommitMetadata)] {
  override val name = "show_archived_commits"

  override val parameters = Seq(
    Parameter.table,
    Parameter.limit(10),
    Parameter("start_ts", StringType, "first instant to show"),
    Parameter("end_ts", StringType, "last instant to show"),
    Parameter.path,
    Parameter.filter
  )

  override val columns = ResultColumns[(Instant, CommitMetadata)](
    string("commit_time", _._1.requested),
    string("state_transition_time", _._1.completed.orNull),
    Commits.totals.of(_._2),
    string("action", _._1.action.name),
    string("operation", _._2.operationType.name),
    CommitColumns.counts.of(c => CommitColumns.countsOf(c._2))
  )

  override protected def values(table: OpenTable, arguments: Arguments): Iterator[(Instant, CommitMetadata)] =
    new ArchivedTimeline(table.storage, table.config)
      .newestFirst(arguments.string("start_ts"), arguments.string("end_ts"))
}
