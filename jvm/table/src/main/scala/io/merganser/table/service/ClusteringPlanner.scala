package io.merganser.table.service

import io.merganser.merge.MerganserException
import io.merganser.table.options.{Options, PartitionFilterMode}
import io.merganser.table.settings.{ClusteringConfig, ClusteringPartitions, ClusteringSizes}
import io.merganser.table.slice.FileSlice
import io.merganser.table.timeline.{ClusteringGroup, ClusteringPlan, ClusteringSlice}

/** The partitions and file slices that a scheduled clustering takes. */
object ClusteringPlanner {

  /**
   * The partitions that a clustering takes, in the order of their paths, or latest first.
   *
   * @param all  of the table
   * @param hour of the day, 0 to 23, in the table's timeline zone
   * @throws MerganserException OPTION_VALUE_INVALID if a partition is selected that the table does not have
   */
  def partitions(chosen: ClusteringPartitions, all: Seq[String], hour: Int): Seq[String] = {
    chosen.selected.find(!all.contains(_)).foreach { unknown =>
      throw MerganserException("OPTION_VALUE_INVALID", "key" -> Options.ClusteringPartitions.key, "value" -> unknown,
        "expected" -> some(all))
    }
    val sorted = all.sorted
    val named  = if (chosen.selected.isEmpty) sorted else sorted.filter(chosen.selected.toSet)
    val left   = named.filter(path => chosen.pattern.forall(_.matcher(path).matches))
    chosen.mode match {
      case PartitionFilterMode.All => left
      case PartitionFilterMode.RecentDays =>
        val latest = left.reverse.drop(chosen.skippedLatest)
        if (chosen.lookback > 0) latest.take(chosen.lookback) else latest
      case PartitionFilterMode.SelectedPartitions =>
        left.filter(path => chosen.begin.forall(_ <= path) && chosen.end.forall(path <= _))
      case PartitionFilterMode.DayRolling => left.zipWithIndex.collect { case (path, i) if i % 24 == hour => path }
    }
  }

  private def some(partitions: Seq[String]): String =
    if (partitions.isEmpty) "a partition of the table, which has none"
    else s"paths of partitions: ${partitions.sorted.take(20).mkString(", ")}${if (partitions.size > 20) ", …" else ""}"

  /**
   * Groups the slices of each partition, the largest first; None if nothing is left to be clustered.
   *
   * @param slices of the partitions, in their order
   */
  def plan(config: ClusteringConfig, slices: Seq[FileSlice]): Option[ClusteringPlan] = {
    val sizes       = config.sizes
    val small       = slices.filter(_.base.fold(0L)(_.sizeBytes) < sizes.smallFileBytes)
    val order       = small.map(_.partitionPath).distinct
    val byPartition = small.groupBy(_.partitionPath)
    val groups      = order.flatMap(p => grouped(byPartition(p), sizes)).take(sizes.groups)
    if (groups.isEmpty) None else Some(ClusteringPlan(groups, params(config), config.preservesCommit))
  }

  private def grouped(slices: Seq[FileSlice], sizes: ClusteringSizes): Seq[ClusteringGroup] = {
    val groups = Vector.newBuilder[Vector[FileSlice]]
    val last = slices.sortBy(s => (-s.sizeBytes, s.fileId)).foldLeft((Vector.empty[FileSlice], 0L)) {
      case ((group, total), slice) if group.isEmpty || total + slice.sizeBytes <= sizes.groupBytes =>
        (group :+ slice, total + slice.sizeBytes)
      case ((group, _), slice) =>
        groups += group
        (Vector(slice), slice.sizeBytes)
    }
    groups += last._1
    groups.result().filter(g => g.size > 1 || sizes.takesSingle).map { group =>
      val total = group.map(_.sizeBytes).sum
      ClusteringGroup(group.map(sliceOf),
        outputGroups = math.max(1L, math.min(Int.MaxValue.toLong, (total - 1) / sizes.targetFileBytes + 1)).toInt,
        metrics = metrics(group))
    }
  }

  private def sliceOf(slice: FileSlice): ClusteringSlice =
    ClusteringSlice(slice.partitionPath, slice.fileId, slice.base.map(_.name), slice.logs.map(_.name))

  /** That other engines show. */
  private def metrics(group: Seq[FileSlice]): Map[String, Double] = {
    val megabyte = 1024.0 * 1024.0
    val logs     = group.map(_.logs.map(_.sizeBytes).sum).sum.toDouble
    val bases    = group.flatMap(_.base).map(_.sizeBytes).sum.toDouble
    Map(
      "TOTAL_LOG_FILES" -> group.map(_.logs.size).sum.toDouble,
      "TOTAL_LOG_FILES_SIZE" -> logs,
      "TOTAL_IO_READ_MB" -> (logs + bases) / megabyte,
      "TOTAL_IO_WRITE_MB" -> (if (bases > 0) bases else logs) / megabyte,
      "TOTAL_IO_MB" -> (logs + bases + (if (bases > 0) bases else logs)) / megabyte
    )
  }

  private def params(config: ClusteringConfig): Map[String, String] =
    Map(Options.LayoutStrategyOption.key -> config.order.strategy.name,
      Options.ClusteringTargetFileBytes.key -> config.sizes.targetFileBytes.toString) ++
      (if (config.order.columns.isEmpty) Map.empty
       else Map(Options.ClusteringSortColumns.key -> config.order.columns.mkString(",")))
}
