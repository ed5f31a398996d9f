package io.merganser.spark.write.place

import io.merganser.table.slice.FileSlice
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.execution.LogicalRDD

/** Number of shuffle tasks for a frame, or for stored keys. */
private[write] object ShuffleTasks {
  private val TaskBytes = 64L << 20

  /** Compressed; below this a task of its own costs more than it saves. */
  private val LeastBytes = 512L << 10

  /** As configured; else by the frame's size if known, else its partitions, up to the session's shuffle partitions. */
  def forRows(session: SparkSession, rows: DataFrame, configured: Option[Int]): Int = configured.getOrElse {
    val most  = session.sessionState.conf.numShufflePartitions
    val cores = session.sparkContext.defaultParallelism
    val bytes = rows.queryExecution.optimizedPlan.stats.sizeInBytes
    val wanted =
      if (bytes < BigInt(1L << 50)) math.max((bytes / TaskBytes).toInt + 1, (bytes / LeastBytes).min(cores).toInt)
      else math.max(cores,
        rows.queryExecution.optimizedPlan.collectLeaves().collect { case l: LogicalRDD => l.rdd.getNumPartitions }.sum)
    math.max(1, math.min(wanted, math.max(most, 1)))
  }

  /** For the keys of stored rows, which are a part of their files. */
  def forStored(session: SparkSession, slices: Seq[FileSlice]): Int = {
    val bytes  = slices.map(_.sizeBytes).sum
    val cores  = session.sparkContext.defaultParallelism
    val wanted = math.max(bytes / TaskBytes + 1, math.min(bytes / LeastBytes, cores.toLong))
    math.max(1L, math.min(wanted, session.sessionState.conf.numShufflePartitions.toLong)).toInt
  }
}
