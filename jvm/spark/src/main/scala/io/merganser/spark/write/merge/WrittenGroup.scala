package io.merganser.spark.write.merge

import io.merganser.merge.buffer.MergeCounts
import io.merganser.table.slice.{MergePreview, WrittenFile}
import io.merganser.table.timeline.WriteStat

/**
 * What a write did to one file group.
 *
 * @param files   none if no row was left to write
 * @param counts  of all its rows
 * @param preview of a dry run: what became of the rows
 */
private[spark] final case class WrittenGroup(
    files: Seq[WrittenFile],
    counts: MergeCounts,
    preview: Option[MergePreview]
) {
  def stats: Seq[WriteStat] = files.map(_.stat)
}

private[spark] object WrittenGroup {
  def counts(groups: Seq[WrittenGroup]): MergeCounts = MergeCounts.sum(groups.map(_.counts))
}
