package org.apache.spark.sql.merganser

import org.apache.spark.{MapOutputStatistics, SparkContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.{HashPartitioning, RangePartitioning, SinglePartition}
import org.apache.spark.sql.execution.{CoalescedPartitionSpec, LeafExecNode, ShufflePartitionSpec, SortExec}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.ThreadUtils

import scala.concurrent.duration.Duration

/**
 * Rows shuffled by the hash of some columns, with Spark's own operators, outside of a query: a shuffle is a stage of
 * the job that needs its rows. In a query adaptive execution runs a job for each shuffle, and drops empty sides.
 *
 * The rows are unsafe rows in reused objects.
 */
final class RowShuffle private (context: SparkContext, exchange: ShuffleExchangeExec) {

  /** All partitions; the shuffle runs in the first job over these rows. */
  val rows: RDD[InternalRow] = exchange.execute()

  /** Runs the shuffle in a job of its own. Returns the partitions that have rows. */
  def run(): RDD[InternalRow] = {
    val dependency = exchange.shuffleDependency
    if (dependency.rdd.partitions.isEmpty) context.emptyRDD
    else {
      val running = context.submitMapStage(dependency)
      try ThreadUtils.awaitReady(running, Duration.Inf)
      catch { case e: InterruptedException => running.cancel(); throw e }
      val written: MapOutputStatistics = running.value.get.get
      val full                         = written.bytesByPartitionId.indices.filter(written.bytesByPartitionId(_) > 0)
      val read                         = full.map(i => CoalescedPartitionSpec(i, i + 1): ShufflePartitionSpec).toArray
      exchange.getShuffleRDD(read).asInstanceOf[RDD[InternalRow]]
    }
  }
}

object RowShuffle {

  /** Columns for expressions over rows. */
  def columns(schema: StructType): Seq[Attribute] =
    schema.map(f => AttributeReference(f.name, f.dataType, f.nullable)())

  /** The column of a name; the last one where several have it, as users' columns come first. */
  def column(columns: Seq[Attribute], name: String): Attribute = columns.filter(_.name == name).last

  /**
   * @param rows of the columns
   * @param by   the hashed values
   */
  def apply(
      session: SparkSession,
      rows: RDD[InternalRow],
      columns: Seq[Attribute],
      by: Seq[Expression],
      tasks: Int
  ): RowShuffle = active(session) {
    new RowShuffle(session.sparkContext, ShuffleExchangeExec(HashPartitioning(by, tasks), ExistingRows(columns, rows)))
  }

  /** The rows in ranges of the values: those of a partition are not after those of the next one; nulls are first. */
  def ranges(
      session: SparkSession,
      rows: RDD[InternalRow],
      columns: Seq[Attribute],
      by: Seq[Expression],
      tasks: Int
  ): RDD[InternalRow] = active(session) {
    val partitioning = if (tasks == 1) SinglePartition else RangePartitioning(by.map(SortOrder(_, Ascending)), tasks)
    ShuffleExchangeExec(partitioning, ExistingRows(columns, rows)).execute()
  }

  /** The rows of each partition in ascending order; nulls are first. */
  def sorted(
      session: SparkSession,
      rows: RDD[InternalRow],
      columns: Seq[Attribute],
      by: Seq[Expression]
  ): RDD[InternalRow] = active(session) {
    SortExec(by.map(SortOrder(_, Ascending)), global = false, ExistingRows(columns, rows)).execute()
  }

  /** Operators take their session from the thread. */
  private def active[T](session: SparkSession)(work: => T): T = {
    val before = SparkSession.getActiveSession
    SparkSession.setActiveSession(session)
    try work
    finally before.fold(SparkSession.clearActiveSession())(SparkSession.setActiveSession)
  }
}

/** Rows as a plan, as unsafe rows. */
private final case class ExistingRows(output: Seq[Attribute], rows: RDD[InternalRow]) extends LeafExecNode {

  override protected def doExecute(): RDD[InternalRow] = {
    val columns = output
    Partitions.map(rows) { it =>
      lazy val pack = UnsafeProjection.create(columns, columns)
      it.map {
        case unsafe: UnsafeRow => unsafe
        case row               => pack(row)
      }
    }
  }
}
