package io.merganser.spark.read

import io.merganser.merge.buffer.MergeTally
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}

/** Metrics of a scan that merges logs. */
private[read] object MergeMetrics {

  private val metrics: Array[MergeMetric] = Array(new LogVersions, new VersionsCombined, new RowsWon, new RowsInserted,
    new RowsLate, new RowsDeleted, new TombstoneCount, new Ties, new RowsFilled, new NoOps)

  val all: Array[CustomMetric] = metrics.map(metric => metric: CustomMetric)

  def of(slices: Seq[MergeTally]): Array[CustomTaskMetric] =
    metrics.map(metric => metric.of(slices.map(metric.in).sum))
}

/**
 * @param name in camel case
 * @param in   its value
 */
sealed abstract class MergeMetric(name: String, description: String, private[read] val in: MergeTally => Long)
    extends ScanMetric(name, description)

final class LogVersions extends MergeMetric("logVersions", "versions in logs", _.versions)
final class VersionsCombined
    extends MergeMetric("versionsCombined", "versions combined with others of their key", _.duplicates)
final class RowsWon extends MergeMetric("rowsWon", "rows replaced by a version", _.updated)
final class RowsInserted extends MergeMetric("rowsInserted", "rows of logs alone", _.inserted)
final class RowsLate extends MergeMetric("rowsLate", "rows whose versions all lost", _.late)
final class RowsDeleted extends MergeMetric("rowsDeleted", "rows deleted", _.deleted)
final class TombstoneCount extends MergeMetric("tombstones", "deletes of keys without a row", _.tombstones)
final class Ties extends MergeMetric("ties", "ties", _.ties)
final class RowsFilled extends MergeMetric("rowsFilled", "rows made of two versions", _.filled)
final class NoOps extends MergeMetric("noOps", "partial versions ignored", _.noOps)
