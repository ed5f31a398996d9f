package io.merganser.table.slice

import io.merganser.table.file.{FileGroupId, FileNames, LogFile}
import io.merganser.table.properties.TableConfig
import io.merganser.table.timeline.{Action, Timeline}

/**
 * Finds slices that may have a key that is not in their base file. Other engines insert into logs if their index
 * locates keys there: a bucket index, or one in the state of a Flink job. Any table may have been written by one.
 */
object LogInserts {

  /**
   * @param slices slices of the timeline's snapshot
   * @param areBuckets whether all slices are buckets, where file ids do not show it
   * @return positions of slices whose logs may have such a key: those without a base file, those of buckets, and those
   *         into whose log a commit inserted rows, or an archived commit may have
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
      else if (config.version >= 8) others.filter(i => slices(i).logs.exists(hasInserts(_, timeline)))
      else byCommits(slices, others, timeline)
    )
  }

  /** A log file has one commit, whose files are known from the listing of its slice. */
  private def hasInserts(log: LogFile, timeline: Timeline): Boolean =
    timeline.committedFiles(log.instant).flatMap(_.get(log.path)).forall(_.hasInserts)

  /** Below version 8 several commits append to a log file. */
  private def byCommits(slices: IndexedSeq[FileSlice], based: Seq[Int], timeline: Timeline): Seq[Int] = {
    val (archived, known) = based.partition(i => timeline.isArchived(slices(i).baseInstant))
    val groups =
      if (known.isEmpty) Set.empty[FileGroupId]
      else {
        val first = known.map(slices(_).baseInstant).min
        timeline.completed.filter(i => i.action == Action.DeltaCommit && i.requested >= first).flatMap { i =>
          timeline.committedFiles(i.requested).toSeq.flatMap(_.values).collect {
            case file if file.hasInserts && FileNames.isLog(file.name) =>
              FileGroupId(file.partitionPath, FileNames.fileId(file.name).getOrElse(file.name))
          }
        }.toSet
      }
    archived ++ known.filter(i => groups(slices(i).group))
  }
}
