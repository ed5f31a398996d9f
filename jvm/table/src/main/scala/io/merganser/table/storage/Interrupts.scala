package io.merganser.table.storage

/** Steps that an interrupt of their thread must not split. */
private[table] object Interrupts {

  /** Runs the body with the thread's interrupt flag cleared, and restores the flag afterwards. */
  def deferred[T](body: => T): T = {
    val wasInterrupted = Thread.interrupted()
    try body
    finally if (wasInterrupted) Thread.currentThread.interrupt()
  }
}
