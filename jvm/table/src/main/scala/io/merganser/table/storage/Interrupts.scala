package io.merganser.table.storage

/** Steps that an interrupt of their thread must not cut in two. */
private[table] object Interrupts {

  /** Does something as if the thread had not been interrupted before; afterwards it has been. */
  def deferred[T](body: => T): T = {
    val wasInterrupted = Thread.interrupted()
    try body
    finally if (wasInterrupted) Thread.currentThread.interrupt()
  }
}
