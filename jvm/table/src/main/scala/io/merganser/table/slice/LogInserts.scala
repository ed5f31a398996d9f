package io.merganser.table.slice

import io.merganser.table.file.{FileGroupId, FileNames, LogFile}
import io.merganser.table.properties.TableConfig
import io.merganser.table.timeline.{Action, CommittedFile, Timeline}

/**
 * Finds slices that may have a key that is not in their base file. Other engines insert into logs if their index
 * locates keys there: a bucket index, or one in the state of a Flink job. Any table may have been written by one.
 *
 * A write that began before a compaction completed found its keys in the earlier base file. If the compaction dropped
 * one of them because it was deleted, only the log of that write has the key.
 */
object LogInserts {

  /**
   * @param slices slices of the timeline's snapshot
   * @param areBuckets whether all slices are buckets, where file ids do not show it
   * @return positions of slices whose logs may have such a key: those without a base file, those of buckets, those into
   *         whose log a commit inserted rows, or an archived commit may have, and those with the log of a write that
   *         began before the base file was committed
   */
  def in(
      slices: IndexedSeq[FileSlice],
      config: TableConfig,
      timeline: Timeline,
      areBuckets: => Boolean
  ): Set[Int] = {
    val withLogs = slices.indices.filter(slices(_).logs.nonEmpty)
    val (placed, others) =
      withLogs.partition(i => slices(i).base.isEmpty || FileNames.bucketOf(slices(i).fileId).isDefined)
    placed.toSet ++ (
      if (others.isEmpty) Nil
      else if (areBuckets) others
      else if (config.version >= 8) others.filter(i => slices(i).logs.exists(mayAdd(slices(i), _, timeline)))
      else byCommits(slices, others, timeline)
    )
  }

  /** A log file has one commit, whose files are known from the listing of its slice. */
  private def mayAdd(slice: FileSlice, log: LogFile, timeline: Timeline): Boolean =
    timeline.committedFiles(log.instant).flatMap(_.get(log.path)).forall(file =>
      file.hasInserts || mayBeOfOther(file, log.instant, slice, timeline))

  /**
   * Whether the write of a log may have found its keys in another base file than that of the slice; a log compaction
   * only replaces logs. An engine may look its keys up before it chooses the file to append to.
   */
  private def mayBeOfOther(file: CommittedFile, write: String, slice: FileSlice, timeline: Timeline): Boolean =
    !file.isOfLogCompaction && (!slice.base.exists(base => file.baseFile.contains(base.name)) ||
      timeline.mayHaveBegunBefore(write, slice.baseInstant))

  /** Below version 8 several commits append to a log file. */
  private def byCommits(slices: IndexedSeq[FileSlice], based: Seq[Int], timeline: Timeline): Seq[Int] = {
    val (archived, known) = based.partition(i => timeline.isArchived(slices(i).baseInstant))
    val ofGroup           = known.groupBy(slices(_).group)
    def mayAdd(slice: FileSlice, log: LogFile, file: CommittedFile, write: String) =
      file.hasInserts || (log.instant == slice.baseInstant && mayBeOfOther(file, write, slice, timeline))
    archived ++ (for {
      first <- known.map(slices(_).baseInstant).sorted.take(1)
      write <- timeline.completed if write.action == Action.DeltaCommit && write.requested >= first
      file  <- timeline.committedFiles(write.requested).toSeq.flatMap(_.values)
      log   <- FileNames.parseLog(file.partitionPath, file.name, file.sizeBytes).toSeq
      i     <- ofGroup.getOrElse(FileGroupId(log.partitionPath, log.fileId), Nil)
      if mayAdd(slices(i), log, file, write.requested)
    } yield i)
  }
}
