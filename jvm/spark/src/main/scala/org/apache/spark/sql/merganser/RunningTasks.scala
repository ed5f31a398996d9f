package org.apache.spark.sql.merganser

import java.util.concurrent.TimeUnit.{MILLISECONDS, NANOSECONDS}
import java.util.concurrent.TimeoutException

import org.apache.spark.SparkContext
import org.apache.spark.status.api.v1.StageStatus
import org.slf4j.LoggerFactory

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

/**
 * The tasks of a job that has failed, or whose caller was interrupted: Spark returns before they end. A file that such
 * a task creates after its write was rolled back would stay.
 */
private[merganser] object RunningTasks {

  private val Log = LoggerFactory.getLogger(getClass)

  private val LimitMs = 10000L
  private val PollMs  = 20L

  /** For the listeners of the application, of which one may be slow, or be the caller. */
  private val EventsMs = 1000L

  /** A stage that waits for another one is pending: where only the caller was interrupted, it would begin later. */
  private val Unfinished = Set(StageStatus.ACTIVE, StageStatus.PENDING)

  /**
   * Ends the job that computes an RDD, and waits until its tasks have ended, about ten seconds at most. Keeps the
   * interrupt flag. A failure of its own is only logged, as it is called after another one.
   */
  def end(context: SparkContext, rdd: Int): Unit = if (!context.isStopped) {
    val wasInterrupted = Thread.interrupted()
    try {
      try context.listenerBus.waitUntilEmpty(EventsMs)
      catch { case _: TimeoutException => () }
      stages(context, rdd).filter(s => Unfinished(s.status)).foreach(s =>
        context.cancelStage(s.stageId, "its write has failed"))
      val start     = System.nanoTime()
      def isInTime  = NANOSECONDS.toMillis(System.nanoTime() - start) < LimitMs
      def isRunning = stages(context, rdd).exists(s => Unfinished(s.status) || s.numActiveTasks > 0)
      while (isRunning && isInTime) MILLISECONDS.sleep(PollMs)
      if (isRunning) Log.warn("tasks of a write that failed are still running; files that they create later may stay")
    } catch {
      case _: InterruptedException => Thread.currentThread().interrupt()
      // Such as a context that is stopped meanwhile.
      case NonFatal(e) => Log.warn("cannot wait for the tasks of a write that failed", e)
    } finally if (wasInterrupted) Thread.currentThread().interrupt()
  }

  private def stages(context: SparkContext, rdd: Int) =
    context.statusStore.stageList(Seq.empty[StageStatus].asJava).filter(_.rddIds.contains(rdd))
}
