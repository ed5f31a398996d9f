package io.merganser.spark.write

import io.merganser.merge.buffer.{Count, MergeCounts}
import org.apache.spark.sql.types.{LongType, StringType, StructField, StructType}

/** The row that MERGE, UPDATE and DELETE return: counts, and the requested time of the commit. */
object StatementResult {
  private val shown = Seq("inserted", "updated", "unchanged", "deleted", "late", "ties", "appended")

  /** The counts of rows in it. */
  val counts: Seq[Count] = shown.flatMap(name => MergeCounts.all.filter(_.column == name))

  private val others = MergeCounts.all.diff(counts)

  val CountNames: Seq[String] =
    counts.map(_.column) ++ Seq("file_groups_read", "file_groups_written", "file_groups_pruned")

  /** The metrics of a statement: its counts, and the others of any write. */
  val MetricNames: Seq[String] = CountNames ++ others.map(_.column)

  /** The values of [[CountNames]]. */
  def values(result: WriteResult, groupsRead: Int, groupsPruned: Int): Seq[Long] =
    counts.map(_.in(result.counts)) ++ Seq(groupsRead.toLong, result.filesWritten.toLong, groupsPruned.toLong)

  /** The values of [[MetricNames]] by name. */
  def metrics(result: WriteResult, values: Seq[Long]): Seq[(String, Long)] =
    MetricNames.zip(values ++ others.map(_.in(result.counts)))

  val columns: StructType = StructType(CountNames.map(StructField(_, LongType, nullable = false)) :+
    StructField("instant", StringType, nullable = false))
}
