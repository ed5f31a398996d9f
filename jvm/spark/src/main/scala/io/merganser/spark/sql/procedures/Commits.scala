package io.merganser.spark.sql.procedures

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.timeline.{CommitMetadata, Instant, WriteStat}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

/**
 * CALL show_commits(table => … | path => …): completed writes, newest first, with what they wrote and our counts of
 * each.
 */
object ShowCommits extends LazyTableProcedure[(Instant, CommitMetadata)] {
  override val name = "show_commits"

  override val parameters = Commits.parameters

  override val columns = ResultColumns[(Instant, CommitMetadata)](
    Commits.instant("commit_time").of(_._1),
    Commits.totals.of(_._2),
    string("operation", _._2.operationType.name),
    CommitColumns.counts.of(c => CommitColumns.countsOf(c._2))
  )

  override protected def values(table: OpenTable, arguments: Arguments): Iterator[(Instant, CommitMetadata)] =
    Commits.newestFirst(table, most(arguments))
}

/** CALL show_commits_metadata(table => … | path => …): the files of completed writes, newest write first. */
object ShowCommitsMetadata extends LazyTableProcedure[FileOfCommit] {
  override val name = "show_commits_metadata"

  override val parameters = Commits.parameters

  override val columns = ResultColumns[FileOfCommit](
    Commits.instant("commit_time").of(_.instant),
    string("partition", _.partition),
    string("file_id", _.stat.fileId),
    string("previous_commit", _.stat.prevCommit),
    long("num_writes", _.stat.numWrites),
    long("num_inserts", _.stat.numInserts),
    long("num_deletes", _.stat.numDeletes),
    long("num_update_writes", _.stat.numUpdateWrites),
    long("total_errors", _.stat.totalWriteErrors),
    long("total_log_blocks", _.stat.totalLogBlocks),
    long("total_corrupt_log_blocks", _.stat.totalCorruptLogBlocks),
    long("total_rollback_blocks", _.stat.totalRollbackBlocks),
    long("total_log_records", _.stat.totalLogRecords),
    long("total_updated_records_compacted", _.stat.totalUpdatedRecordsCompacted),
    long("total_bytes_written", _.stat.totalWriteBytes)
  )

  override protected def values(table: OpenTable, arguments: Arguments): Iterator[FileOfCommit] =
    Commits.newestFirst(table, most(arguments)).flatMap { case (instant, metadata) =>
      Commits.files(instant, metadata)
    }
}

/** CALL show_commit_partitions(table => … | path => …, instant_time => …): what one write did to each partition. */
object ShowCommitPartitions extends TableProcedure[(Instant, String, Seq[WriteStat])] {
  override val name = "show_commit_partitions"

  override val parameters = Commits.ofOneInstant

  override val columns = ResultColumns[(Instant, String, Seq[WriteStat])](
    string("action", _._1.action.name),
    string("partition_path", _._2),
    ResultColumns(
      Commits.fileCounts,
      Commits.sum("total_records_inserted", _.numInserts),
      Commits.sum("total_records_updated", _.numUpdateWrites),
      Commits.sum("total_bytes_written", _.totalWriteBytes),
      Commits.sum("total_errors", _.totalWriteErrors)
    ).of(_._3)
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments) = {
    val (instant, metadata) = Commits.ofArguments(table, arguments)
    metadata.stats.toSeq.sortBy(_._1).map { case (partition, stats) => (instant, partition, stats) }
  }
}

/** CALL show_commit_files(table => … | path => …, instant_time => …): the files that one write wrote. */
object ShowCommitFiles extends TableProcedure[FileOfCommit] {
  override val name = "show_commit_files"

  override val parameters = Commits.ofOneInstant

  override val columns = ResultColumns[FileOfCommit](
    string("action", _.instant.action.name),
    string("partition_path", _.partition),
    string("file_id", _.stat.fileId),
    string("previous_commit", _.stat.prevCommit),
    long("total_records_updated", _.stat.numUpdateWrites),
    long("total_records_written", _.stat.numWrites),
    long("total_bytes_written", _.stat.totalWriteBytes),
    long("total_errors", _.stat.totalWriteErrors),
    long("file_size", _.stat.fileSizeInBytes)
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[FileOfCommit] = {
    val (instant, metadata) = Commits.ofArguments(table, arguments)
    Commits.files(instant, metadata)
  }
}

/** A file of a write. */
private[procedures] final case class FileOfCommit(instant: Instant, partition: String, stat: WriteStat)

/** Shared parts of the procedures on commits. */
private[procedures] object Commits extends ResultColumnTypes {

  val parameters: Seq[Parameter] = Seq(Parameter.table, Parameter.limit(10), Parameter.path, Parameter.filter)

  /** @param time name of the column of its requested time */
  def instant(time: String): ResultColumns[Instant] = ResultColumns(
    string(time, _.requested),
    string("state_transition_time", _.completed.orNull),
    string("action", _.action.name)
  )

  def sum(name: String, of: WriteStat => Long): ResultColumns[Seq[WriteStat]] = long(name, _.map(of).sum)

  val fileCounts: ResultColumns[Seq[WriteStat]] = ResultColumns(
    long("total_files_added", _.count(isNewGroup).toLong),
    long("total_files_updated", _.count(!isNewGroup(_)).toLong)
  )

  val totals: ResultColumns[CommitMetadata] = ResultColumns(
    sum("total_bytes_written", _.totalWriteBytes).of(_.allStats),
    fileCounts.of(_.allStats),
    long("total_partitions_written", _.stats.size.toLong),
    ResultColumns(
      sum("total_records_written", _.numWrites),
      sum("total_update_records_written", _.numUpdateWrites),
      sum("total_errors", _.totalWriteErrors)
    ).of(_.allStats)
  )

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
  def files(instant: Instant, metadata: CommitMetadata): Seq[FileOfCommit] =
    metadata.stats.toSeq.sortBy(_._1).flatMap { case (partition, stats) =>
      stats.map(FileOfCommit(instant, partition, _))
    }

  /** Whether the file is the first of its group. */
  private def isNewGroup(stat: WriteStat): Boolean = stat.prevCommit == WriteStat.NoPrevCommit
}
