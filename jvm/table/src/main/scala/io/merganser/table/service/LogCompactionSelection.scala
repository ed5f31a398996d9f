package io.merganser.table.service

import io.merganser.table.file.FileGroupId
import io.merganser.table.log.LogBlocks
import io.merganser.table.properties.TableConfig
import io.merganser.table.slice.{FileSlice, TableView}
import io.merganser.table.timeline.{CompactionPlan, Timeline}

/** The file slices whose logs a log compaction merges. */
object LogCompactionSelection {

  /** Those of the newest slices that may have blocks of several writes, and are in no other plan. */
  def candidates(slices: Seq[FileSlice], config: TableConfig, timeline: Timeline): Seq[FileSlice] = {
    // From version 8 on a log file has one write.
    val leastFiles = if (config.isCreatedInLayout2) 2 else 1
    slices.filter(s =>
      s.logs.size >= leastFiles && isFree(s.group, timeline) && !timeline.groupsInLogCompaction.contains(s.group))
  }

  /**
   * Whether a slice has enough to merge.
   *
   * @param leastBlocks  of it that no earlier log compaction has replaced
   * @param takesPartial whether partial records may be written again
   */
  def isDue(blocks: LogBlocks, leastBlocks: Int, takesPartial: Boolean): Boolean =
    blocks.count >= leastBlocks && blocks.instants.size > 1 && (takesPartial || !blocks.hasPartial)

  def plan(slices: Seq[FileSlice]): CompactionPlan =
    CompactionPlan(slices.map(s => CompactionPlan.operation(s.group, s.baseInstant, s.base, s.logs)))

  /**
   * The slices of a plan that are still the newest of their groups, with the planned logs alone. Others were compacted
   * or replaced since, and their logs need not be merged.
   */
  def current(plan: CompactionPlan, view: TableView, timeline: Timeline): Seq[FileSlice] = {
    val newest = view.slicesOfAny(plan.operations.map(_.partitionPath).distinct).map(s => s.group -> s).toMap
    for {
      operation <- plan.operations if isFree(operation.group, timeline)
      slice     <- newest.get(operation.group).toSeq if slice.base.map(_.name) == operation.baseFile
      planned = operation.logFiles.filterNot(_.endsWith(".cdc")).toSet
      logs    = slice.logs.filter(log => planned(log.name)) if logs.size == planned.size
    } yield slice.copy(logs = logs)
  }

  private def isFree(group: FileGroupId, timeline: Timeline): Boolean =
    !timeline.groupsInCompaction.contains(group) && !timeline.groupsInClustering.contains(group)
}
