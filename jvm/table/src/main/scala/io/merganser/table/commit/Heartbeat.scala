package io.merganser.table.commit

import io.merganser.table.storage.{Periodic, Storage}

/**
 * The sign of life of a running write, for tables with several writers: the file `.hoodie/.heartbeat/<instant>`, touched
 * every so many milliseconds. Once it is stopped, nothing touches the file.
 */
private[table] final class Heartbeat(storage: Storage, instant: String, intervalMs: Long) {

  private val beat: Periodic = {
    touch()
    new Periodic(s"touch the heartbeat of write $instant of $storage", intervalMs)(() => touch())
  }

  def stop(): Unit = beat.stop()

  private def touch(): Unit = storage.touch(Heartbeat.file(instant))
}

private[table] object Heartbeat {

  /** As long as other engines wait by default: two missed beats of a minute each. */
  val ExpiredAfterMs = 120000L

  def file(instant: String): String = s".hoodie/.heartbeat/$instant"

  /** Whether the write has shown no sign of life for so long; without a file it never did. */
  def hasExpired(storage: Storage, instant: String, afterMs: Long = ExpiredAfterMs): Boolean =
    storage.status(file(instant)).forall(System.currentTimeMillis() - _.getModificationTime > afterMs)
}
