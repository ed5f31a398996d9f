package org.apache.spark.sql.merganser

import java.util.concurrent.TimeUnit.{MILLISECONDS, NANOSECONDS}
import java.util.concurrent.TimeoutException

import org.apache.spark.SparkContext
import org.apache.spark.status.api.v1.StageStatus
import org.slf4j.LoggerFactory

import scala.collection.JavaConverters._

/**
 * The tasks of a job that has failed, or whose caller was interrupted: Spark returns before they end. A file that such
 * a task creates after its write was rolled back would stay.
 */
private[merganser] object RunningTasks {

  private val Log = LoggerFactory.getLogger(getClass)

  private val LimitMs = 10000L
  private val PollMs  = 20L

  /**
   * Kills the tasks that compute an RDD, and waits until they have ended, at most ten seconds. Keeps the interrupt
   * flag.
   */
  def end(context: SparkContext, rdd: Int): Unit = if (!context.isStopped) {
    val wasInterrupted = Thread.interrupted()
    try {
      context.listenerBus.waitUntilEmpty(LimitMs)
      stages(context, rdd).filter(_.status == StageStatus.ACTIVE).foreach(s =>
        context.cancelStage(s.stageId, "its write has failed"))
      val start     = System.nanoTime()
      def isInTime  = NANOSECONDS.toMillis(System.nanoTime() - start) < LimitMs
      def isRunning = stages(context, rdd).exists(s => s.status == StageStatus.ACTIVE || s.numActiveTasks > 0)
      while (isRunning && isInTime) MILLISECONDS.sleep(PollMs)
      if (isRunning) Log.warn("tasks of a write that failed are still running; files that they create later may stay")
    } catch {
      case _: TimeoutException     => ()
      case _: InterruptedException => Thread.currentThread().interrupt()
    } finally if (wasInterrupted) Thread.currentThread().interrupt()
  }

  private def stages(context: SparkContext, rdd: Int) =
    context.statusStore.stageList(Seq.empty[StageStatus].asJava).filter(_.rddIds.contains(rdd))
}
