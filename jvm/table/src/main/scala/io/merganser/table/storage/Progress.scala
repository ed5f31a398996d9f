package io.merganser.table.storage

import java.util.concurrent.ConcurrentLinkedDeque
import java.util.concurrent.atomic.AtomicLong

import scala.collection.JavaConverters._

/**
 * A step of a long operation, such as the deletion of many files, for those who show it meanwhile.
 *
 * @param what  the step, such as "delete files"
 * @param total  number of its parts; 0 if unknown
 * @param caller the call that it is a step of, see [[Progress.caller]]
 */
final class Progress private (val what: String, val total: Long, private val caller: Long) {

  private val parts = new AtomicLong

  /** Counts one part as done. */
  private[table] def advance(): Unit = { parts.incrementAndGet(); () }

  /** As it is shown, such as "delete files: 120 of 3000". */
  override def toString: String = if (total > 0) s"$what: ${parts.get} of $total" else what
}

object Progress {

  private val running = new ConcurrentLinkedDeque[Progress]()
  private val callers = new AtomicLong

  // Threads that a call starts have the values of its own.
  private val hidden = new InheritableThreadLocal[Boolean] {
    override protected def initialValue(): Boolean = false
  }
  private val ofThread = new InheritableThreadLocal[Long] {
    override protected def initialValue(): Long = 0L
  }

  /** The steps that run in this process, the oldest first, without those of [[hide]]. */
  def current: Seq[Progress] = running.asScala.toList

  /** [[current]] of one caller. */
  def current(caller: Long): Seq[Progress] = current.filter(_.caller == caller)

  /** Numbers the calls that this thread makes from now on, for [[current]]. */
  def newCaller(): Long = {
    val number = callers.incrementAndGet()
    ofThread.set(number)
    number
  }

  /** @param total number of parts of the step; 0 if unknown */
  def of[T](what: String, total: Long = 0L)(work: Progress => T): T = {
    val step = new Progress(what, total, ofThread.get)
    if (hidden.get) work(step)
    else {
      running.add(step)
      try work(step)
      finally { running.remove(step); () }
    }
  }

  /** Runs work of this thread whose steps nobody waits for. */
  def hide[T](work: => T): T = {
    val was = hidden.get
    hidden.set(true)
    try work
    finally hidden.set(was)
  }
}
