package io.merganser.spark.service

import io.merganser.merge.{Causes, MerganserException}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.commit.Transaction
import io.merganser.table.timeline.Instant
import org.apache.spark.SparkException

import scala.util.{Failure, Success, Try}
import scala.util.control.NonFatal

/**
 * Runs of several planned instants of a service, one after the other.
 *
 * @param done   results of those that did not fail, in their order
 * @param failed those that failed, in their order
 */
private[service] final case class PlannedRuns[T](done: Seq[T], failed: Seq[(Instant, Throwable)]) {

  /**
   * @param service   in the message
   * @param procedure that runs one of them again
   * @throws MerganserException PLANNED_SERVICE_FAILED if one of several has failed; the error of the only one
   */
  def requireAll(table: OpenTable, service: String, procedure: String): Unit = failed.toList match {
    case Nil                               => ()
    case (_, error) :: Nil if done.isEmpty => throw error
    case (first, error) :: others =>
      val thrown = MerganserException("PLANNED_SERVICE_FAILED", "service" -> service, "instant" -> first.requested,
        "path" -> table.storage, "failure" -> Failures.describe(error), "done" -> done.size,
        "failed" -> failed.map(_._1.requested).mkString(", "), "procedure" -> procedure).causedBy(error)
      others.foreach(o => thrown.addSuppressed(o._2))
      throw thrown
  }
}

private[service] object PlannedRuns {

  /** One that fails does not keep the others from being run, unless the call or the query is stopped. */
  def each[T](planned: Seq[Instant])(run: Instant => T): PlannedRuns[T] = {
    val results = Seq.newBuilder[(Instant, Try[T])]
    planned.foreach { instant =>
      try results += instant -> Success(run(instant))
      catch { case NonFatal(error) if !isStopped(error) => results += instant -> Failure(Transaction.userError(error)) }
    }
    val all = results.result()
    PlannedRuns(all.collect { case (_, Success(r)) => r }, all.collect { case (instant, Failure(e)) => instant -> e })
  }

  /** Whether the user has stopped it: what is left is not run then. */
  private def isStopped(error: Throwable): Boolean = Thread.currentThread.isInterrupted ||
    Causes.of(error).exists {
      case e: SparkException => Option(e.getMessage).exists(Cancelled.findFirstIn(_).isDefined)
      case _                 => false
    }

  /**
   * How Spark names a job that was cancelled, or whose context was stopped. The message of any other failure may have
   * the word, too, as in the path of a partition.
   */
  private val Cancelled = "^(\\[SPARK_JOB_CANCELLED] )?Job \\d+ cancelled|SparkContext was shut down".r
}
