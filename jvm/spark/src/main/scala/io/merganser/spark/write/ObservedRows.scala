package io.merganser.spark.write

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.{CollectMetrics, LogicalPlan, Statistics}
import org.apache.spark.sql.merganser.{RowShuffle, SparkBridge}

import scala.util.Try
import scala.util.control.NonFatal

/**
 * The rows of a frame for a write. Spark reports what a frame observes (`Dataset.observe`) at the end of a query that
 * it runs itself; a write computes the rows inside its own jobs, so that it reports them after.
 */
private[spark] final class ObservedRows(frame: DataFrame) {

  private val observes: Boolean = frame.queryExecution.analyzed.collectWithSubqueries { case metrics: CollectMetrics =>
    metrics: LogicalPlan
  }.nonEmpty

  private var query = frame.queryExecution

  /** The rows for one attempt of a write; what is observed is counted once for each plan, so it has its own. */
  def forAttempt(): DataFrame =
    if (!observes) frame
    else {
      val session = frame.sparkSession
      query = SparkBridge.ofRows(session, frame.queryExecution.logical).queryExecution
      val known = Statistics(sizeInBytes = query.optimizedPlan.stats.sizeInBytes)
      SparkBridge.ofRows(session,
        SparkBridge.rows(session, RowShuffle.columns(frame.schema), query.toRdd, known))
    }

  /** Runs the write, then reports the query of its last attempt with its metrics, or with the failure. */
  def reporting[T](write: => T): T =
    if (!observes) write
    else {
      val outcome = Try(write)
      try SparkBridge.execution(query, "write")(outcome.get)
      catch { case NonFatal(_) if outcome.isFailure => throw outcome.failed.get }
    }
}
