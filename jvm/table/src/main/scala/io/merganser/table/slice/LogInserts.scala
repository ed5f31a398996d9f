package io.merganser.table.slice

import io.merganser.table.file.{FileGroupId, FileNames}
import io.merganser.table.timeline.{Action, Timeline}

/**
 * Finds slices that may have a key that is not in their base file. Other engines insert into logs if their index
 * locates keys there: a bucket index, or one in the state of a Flink job.
 */
object LogInserts {

  /**
   * @param slices slices of the timeline's snapshot
   * @param areBuckets whether all slices are buckets, where file ids do not show it
   * @return positions of slices whose logs may have such a key: those without a base file, those of buckets, and those
   *         into whose log a commit inserted rows, or an archived commit may have
   */
  def in(slices: IndexedSeq[FileSlice], timeline: Timeline, areBuckets: => Boolean): Set[Int] = {
    val withLogs = slices.indices.filter(slices(_).logs.nonEmpty)
    val (placed, others) =
      withLogs.partition(i =>
        slices(i).base.isEmpty || FileNames.bucketOf(slices(i).fileId).isDefined || areBuckets)
    placed.toSet ++ (if (others.isEmpty) Nil else inserted(slices, others, timeline))
  }

  /** Positions of slices without a base file. */
  def withoutBase(slices: IndexedSeq[FileSlice]): Set[Int] = slices.indices.filter(slices(_).base.isEmpty).toSet

  private def inserted(slices: IndexedSeq[FileSlice], based: Seq[Int], timeline: Timeline): Seq[Int] = {
    val (archived, known) = based.partition(i => timeline.isArchived(slices(i).baseInstant))
    val groups =
      if (known.isEmpty) Set.empty[FileGroupId]
      else {
        val first = known.map(slices(_).baseInstant).min
        timeline.completed.filter(i => i.action == Action.DeltaCommit && i.requested >= first).flatMap { i =>
          timeline.metadata(i).stats.toSeq.flatMap { case (partition, stats) =>
            stats.filter(stat => stat.isLogFile && stat.numInserts > 0).map(stat => FileGroupId(partition, stat.fileId))
          }
        }.toSet
      }
    archived ++ known.filter(i => groups(slices(i).group))
  }
}
