package io.merganser.table.storage

import java.util.concurrent.{Callable, ExecutionException, Executors}

import scala.collection.JavaConverters._
import scala.util.Try

/** Storage operations in parallel: each is slow in an object store, and there may be thousands. */
private[table] object Parallel {

  /** They wait more than they compute. Stores allow about a hundred connections of one process. */
  private val Threads = 96
  private val Few     = 4

  /** In the order of the input; the first failure is thrown as it is. */
  def map[A, B](input: Seq[A])(f: A => B): Seq[B] = map(input, Threads)(f)

  /** Two results, the second one computed in another thread; a failure is thrown as it is, when both have ended. */
  def both[A, B](first: => A, second: => B): (A, B) = {
    val pool = Executors.newSingleThreadExecutor()
    try {
      val other = pool.submit(new Callable[B] { override def call(): B = second })
      val own   = Try(first)
      val found = Try(other.get)
      (own.get, found.get)
    } catch { case e: ExecutionException => throw e.getCause }
    finally { pool.shutdownNow(); () }
  }

  /** @param step the name of this step where the progress of an operation is shown */
  def map[A, B](input: Seq[A], step: String)(f: A => B): Seq[B] =
    if (input.size <= Few) map(input)(f)
    else Progress.of(step, input.size.toLong) { progress =>
      map(input) { a =>
        val result = f(a)
        progress.advance()
        result
      }
    }

  def map[A, B](input: Seq[A], threads: Int)(f: A => B): Seq[B] =
    if (input.size <= Few) input.map(f)
    else {
      val pool = Executors.newFixedThreadPool(math.min(threads, input.size))
      try {
        val work = input.map(a => new Callable[B] { override def call(): B = f(a) })
        pool.invokeAll(work.asJava).asScala.map(_.get).toList
      } catch { case e: ExecutionException => throw e.getCause }
      finally { pool.shutdownNow(); () }
    }
}
