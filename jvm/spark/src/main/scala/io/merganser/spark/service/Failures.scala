package io.merganser.spark.service

import io.merganser.merge.MerganserException
import io.merganser.table.commit.Transaction

import scala.util.control.NonFatal

/** Failures of steps after a commit, which leave it committed. */
private[service] object Failures {

  /** Fatal errors are not caught; the interrupt flag is set again. */
  def of(work: => Unit): Option[Throwable] =
    try { work; None }
    catch {
      case e: InterruptedException =>
        Thread.currentThread().interrupt()
        Some(e)
      case e @ (NonFatal(_) | _: StackOverflowError | _: LinkageError) => Some(Transaction.userError(e))
    }

  def describe(failure: Throwable): String = failure match {
    case e: MerganserException => e.getMessage
    case e                     => s"${e.getClass.getSimpleName}: ${e.getMessage}."
  }
}
