package io.merganser.table.slice

import io.merganser.table.file.{FileGroupId, FileNames, LogFile}
import io.merganser.table.properties.TableConfig
import io.merganser.table.timeline.{Action, CommittedFile, Timeline}

/**
 * Finds slices that may have a key that is not in their base file. Other engines insert into logs if their index
 * locates keys there: a bucket index, or one in the state of a Flink job. Any table may have been written by one.
 *
 * A write that began before a compaction completed found its keys in the base file before it. Where the compaction
 * dropped one of them, as it was deleted, the log of that write alone has the key.
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
    timeline.committedFiles(log.instant).flatMap(_.get(log.path)).forall { file =>
      // An engine may have looked its keys up before it chose the file to append to.
      def beganBefore = timeline.completionTime(slice.baseInstant).exists(log.instant <= _)
      file.hasInserts || (!file.isOfLogCompaction && (isOfOther(file, slice) || beganBefore))
    }

  /** Whether a log was written to be read with another base file than that of its slice; unless it replaces logs. */
  private def isOfOther(file: CommittedFile, slice: FileSlice): Boolean =
    !slice.base.exists(base => file.baseFile.contains(base.name))

  /** Below version 8 several commits append to a log file. */
  private def byCommits(slices: IndexedSeq[FileSlice], based: Seq[Int], timeline: Timeline): Seq[Int] = {
    val (archived, known) = based.partition(i => timeline.isArchived(slices(i).baseInstant))
    val groups =
      if (known.isEmpty) Set.empty[FileGroupId]
      else {
        val current = known.map(i => slices(i).group -> slices(i)).toMap
        val first   = known.map(slices(_).baseInstant).min
        timeline.completed.filter(i => i.action == Action.DeltaCommit && i.requested >= first).flatMap { i =>
          timeline.committedFiles(i.requested).toSeq.flatMap(_.values).flatMap { file =>
            def mayAdd(log: LogFile, slice: FileSlice) =
              file.hasInserts || (log.instant == slice.baseInstant && isOfOther(file, slice))
            for {
              log   <- FileNames.parseLog(file.partitionPath, file.name, file.sizeBytes)
              slice <- current.get(FileGroupId(log.partitionPath, log.fileId)) if mayAdd(log, slice)
            } yield slice.group
          }
        }.toSet
      }
    archived ++ known.filter(i => groups(slices(i).group))
  }
}
