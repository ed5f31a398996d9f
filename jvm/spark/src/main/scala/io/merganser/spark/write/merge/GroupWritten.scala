package io.merganser.spark.write.merge

import io.merganser.merge.buffer.MergeCounts
import io.merganser.table.slice.{MergePreview, SliceWritten}
import io.merganser.table.timeline.WriteStat

/**
 * What a write did to one file group.
 *
 * @param files   none if no row was left to write
 * @param counts  of all its rows
 * @param preview of a dry run: what became of the rows
 */
private[spark] final case class GroupWritten(
    files: Seq[SliceWritten],
    counts: MergeCounts,
    preview: Option[MergePreview]
) {
  def stats: Seq[WriteStat] = files.map(_.stat)
}

private[spark] object GroupWritten {
  def counts(groups: Seq[GroupWritten]): MergeCounts = MergeCounts.sum(groups.map(_.counts))
}
