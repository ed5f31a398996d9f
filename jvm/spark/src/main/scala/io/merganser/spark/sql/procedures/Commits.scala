package io.merganser.spark.sql.procedures

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.timeline.{CommitMetadata, Instant, WriteStat}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/**
 * CALL show_commits(table => … | path => …): completed writes, newest first, with what they wrote and our counts of
 * each.
 */
object ShowCommits extends LazyTableProcedure {
  override val name = "show_commits"

  override val parameters: Seq[Parameter] = Seq(Parameter.table, Parameter.limit(10), Parameter.path, Parameter.filter)

  override val result: StructType = Procedure.columns(Seq(
      "commit_time" -> StringType,
      "state_transition_time" -> StringType,
      "action" -> StringType,
      "total_bytes_written" -> LongType,
      "total_files_added" -> LongType,
      "total_files_updated" -> LongType,
      "total_partitions_written" -> LongType,
      "total_records_written" -> LongType,
      "total_update_records_written" -> LongType,
      "total_errors" -> LongType,
      "operation" -> StringType
    ) ++ CommitColumns.counts: _*)

  override protected def rows(table: OpenTable, arguments: Arguments): Iterator[Row] =
    Commits.newestFirst(table, most(arguments)).map { case (instant, metadata) =>
      Row.fromSeq(sums(instant, metadata) ++ CommitColumns.countsOf(Some(metadata)))
    }

  private def sums(instant: Instant, metadata: CommitMetadata): Seq[Any] = {
    val stats                      = metadata.allStats
    def sum(of: WriteStat => Long) = stats.map(of).sum
    val (added, newer)             = stats.partition(Commits.isNewGroup)
    val when: Seq[Any]             = Seq(instant.requested, instant.completed.orNull, instant.action.name)
    val files: Seq[Any] = Seq(sum(_.totalWriteBytes), added.size.toLong, newer.size.toLong, metadata.stats.size.toLong)
    val records: Seq[Any] = Seq(sum(_.numWrites), sum(_.numUpdateWrites), sum(_.totalWriteErrors))
    when ++ files ++ records :+ metadata.operationType.name
  }
}

/** CALL show_commits_metadata(table => … | path => …): the files of completed writes, newest write first. */
object ShowCommitsMetadata extends LazyTableProcedure {
  override val name = "show_commits_metadata"

  override val parameters: Seq[Parameter] = Seq(Parameter.table, Parameter.limit(10), Parameter.path, Parameter.filter)

  override val result: StructType = Procedure.columns(
    "commit_time" -> StringType,
    "state_transition_time" -> StringType,
    "action" -> StringType,
    "partition" -> StringType,
    "file_id" -> StringType,
    "previous_commit" -> StringType,
    "num_writes" -> LongType,
    "num_inserts" -> LongType,
    "num_deletes" -> LongType,
    "num_update_writes" -> LongType,
    "total_errors" -> LongType,
    "total_log_blocks" -> LongType,
    "total_corrupt_log_blocks" -> LongType,
    "total_rollback_blocks" -> LongType,
    "total_log_records" -> LongType,
    "total_updated_records_compacted" -> LongType,
    "total_bytes_written" -> LongType
  )

  override protected def rows(table: OpenTable, arguments: Arguments): Iterator[Row] =
    for {
      (instant, metadata) <- Commits.newestFirst(table, most(arguments))
      (partition, stat)   <- Commits.files(metadata)
    } yield Row(
      instant.requested, instant.completed.orNull, instant.action.name, partition, stat.fileId, stat.prevCommit,
      stat.numWrites, stat.numInserts,
      stat.numDeletes, stat.numUpdateWrites, stat.totalWriteErrors, stat.totalLogBlocks, stat.totalCorruptLogBlocks,
      stat.totalRollbackBlocks,
      stat.totalLogRecords, stat.totalUpdatedRecordsCompacted, stat.totalWriteBytes)
}

/** CALL show_commit_partitions(table => … | path => …, instant_time => …): what one write did to each partition. */
object ShowCommitPartitions extends TableProcedure {
  override val name = "show_commit_partitions"

  override val parameters: Seq[Parameter] = Commits.ofOneInstant

  override val result: StructType = Procedure.columns(
    "action" -> StringType,
    "partition_path" -> StringType,
    "total_files_added" -> LongType,
    "total_files_updated" -> LongType,
    "total_records_inserted" -> LongType,
    "total_records_updated" -> LongType,
    "total_bytes_written" -> LongType,
    "total_errors" -> LongType
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val (instant, metadata) = Commits.ofArguments(table, arguments)
    metadata.stats.toSeq.sortBy(_._1).map { case (partition, stats) =>
      val (added, newer) = stats.partition(Commits.isNewGroup)
      Row(
        instant.action.name, partition, added.size.toLong, newer.size.toLong, stats.map(_.numInserts).sum,
        stats.map(_.numUpdateWrites).sum,
        stats.map(_.totalWriteBytes).sum, stats.map(_.totalWriteErrors).sum)
    }
  }
}

/** CALL show_commit_files(table => … | path => …, instant_time => …): the files that one write wrote. */
object ShowCommitFiles extends TableProcedure {
  override val name = "show_commit_files"

  override val parameters: Seq[Parameter] = Commits.ofOneInstant

  override val result: StructType = Procedure.columns(
    "action" -> StringType,
    "partition_path" -> StringType,
    "file_id" -> StringType,
    "previous_commit" -> StringType,
    "total_records_updated" -> LongType,
    "total_records_written" -> LongType,
    "total_bytes_written" -> LongType,
    "total_errors" -> LongType,
    "file_size" -> LongType
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val (instant, metadata) = Commits.ofArguments(table, arguments)
    Commits.files(metadata).map { case (partition, stat) =>
      Row(instant.action.name, partition, stat.fileId, stat.prevCommit, stat.numUpdateWrites, stat.numWrites,
        stat.totalWriteBytes,
        stat.totalWriteErrors, stat.fileSizeInBytes)
    }
  }
}

/** Shared parts of the procedures on commits. */
private[procedures] object Commits {

  val ofOneInstant: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter.limit(10),
    Parameter("instant_time", StringType, "instant of the write", isRequired = true),
    Parameter.path,
    Parameter.filter
  )

  /** Completed writes with their metadata, which is read when it is reached; see `Timeline.metadataOf`. */
  def newestFirst(table: OpenTable, most: Int): Iterator[(Instant, CommitMetadata)] =
    table.timeline.metadataOf(table.timeline.completed.reverseIterator, most)

  /** @throws io.merganser.merge.MerganserException CALL_ARGUMENT_INVALID if `instant_time` is not a completed write */
  def ofArguments(table: OpenTable, arguments: Arguments): (Instant, CommitMetadata) = {
    val requested = arguments.required("instant_time")
    val found = table.timeline.completed.find(_.requested == requested).getOrElse(
      throw arguments.invalid("instant_time", requested, "the commit_time values of show_commits"))
    found -> table.timeline.metadata(found)
  }

  /** The files of a write, by partition. */
  def files(metadata: CommitMetadata): Seq[(String, WriteStat)] =
    metadata.stats.toSeq.sortBy(_._1).flatMap { case (partition, stats) => stats.map(partition -> _) }

  /** Whether the file is the first of its group. */
  def isNewGroup(stat: WriteStat): Boolean = stat.prevCommit == WriteStat.NoPrevCommit
}
