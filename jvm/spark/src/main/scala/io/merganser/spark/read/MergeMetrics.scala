package io.merganser.spark.read

import io.merganser.merge.buffer.Decisions
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

/** Metrics of a scan that merges logs. Spark makes them by their classes, so that each has one. */
private[read] object MergeMetrics {

  val all: Array[CustomMetric] = Array(new LogVersions, new VersionsCombined, new RowsWon, new RowsInserted,
    new RowsLate, new RowsDeleted, new TombstoneCount, new Ties, new RowsFilled, new NoOps)

  def of(slices: Seq[Decisions]): Array[CustomTaskMetric] =
    all.zip(Seq[Decisions => Long](_.versions, _.duplicates, _.won, _.inserted, _.late, _.deleted, _.tombstones, _.ties,
        _.filled, _.noOps)).map { case (metric, value) =>
      MetricValue(metric.name, slices.map(value).sum): CustomTaskMetric
    }
}

/** @param name in camel case */
sealed abstract class MergeMetric(override val name: String, override val description: String) extends CustomSumMetric

final class LogVersions extends MergeMetric("logVersions", "versions in logs")
final class VersionsCombined extends MergeMetric("versionsCombined", "versions combined with others of their key")
final class RowsWon extends MergeMetric("rowsWon", "rows replaced by a version")
final class RowsInserted extends MergeMetric("rowsInserted", "rows of logs alone")
final class RowsLate extends MergeMetric("rowsLate", "rows whose versions all lost")
final class RowsDeleted extends MergeMetric("rowsDeleted", "rows deleted")
final class TombstoneCount extends MergeMetric("tombstones", "deletes of keys without a row")
final class Ties extends MergeMetric("ties", "ties")
final class RowsFilled extends MergeMetric("rowsFilled", "rows made of two versions")
final class NoOps extends MergeMetric("noOps", "partial versions ignored")
