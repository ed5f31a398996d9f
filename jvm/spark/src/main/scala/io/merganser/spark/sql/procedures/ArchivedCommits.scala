package io.merganser.spark.sql.procedures

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.timeline.{ArchivedTimeline, WriteStat}
import org.apache.spark.sql.Row
import org.apache.spark.sql.types._

/**
 * CALL show_archived_commits(table => … | path => …): completed writes that were moved from the timeline to its
 * history, newest first, with what they wrote and our counts of each.
 */
object ShowArchivedCommits extends LazyTableProcedure {
  override val name = "show_archived_commits"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter.limit(10),
    Parameter("start_ts", StringType, "first instant to show"),
    Parameter("end_ts", StringType, "last instant to show"),
    Parameter.path,
    Parameter.filter
  )

  override val result: StructType = Procedure.columns(Seq(
      "commit_time" -> StringType,
      "state_transition_time" -> StringType,
      "total_bytes_written" -> LongType,
      "total_files_added" -> LongType,
      "total_files_updated" -> LongType,
      "total_partitions_written" -> LongType,
      "total_records_written" -> LongType,
      "total_update_records_written" -> LongType,
      "total_errors" -> LongType,
      "action" -> StringType,
      "operation" -> StringType
    ) ++ CommitColumns.counts: _*)

  override protected def rows(table: OpenTable, arguments: Arguments): Iterator[Row] = {
    val archive = new ArchivedTimeline(table.storage, table.config)
    archive.newestFirst(arguments.string("start_ts"), arguments.string("end_ts")).map { case (instant, metadata) =>
      val stats                            = metadata.allStats
      def sum(of: WriteStat => Long): Long = stats.map(of).sum
      val (added, newer)                   = stats.partition(Commits.isNewGroup)
      Row.fromSeq(Seq[Any](instant.requested, instant.completed.orNull, sum(_.totalWriteBytes), added.size.toLong,
        newer.size.toLong, metadata.stats.size.toLong, sum(_.numWrites), sum(_.numUpdateWrites),
        sum(_.totalWriteErrors), instant.action.name, metadata.operationType.name) ++
        CommitColumns.countsOf(Some(metadata)))
    }
  }
}
