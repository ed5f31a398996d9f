package io.merganser.table.commit

import io.merganser.table.options.Heartbeats
import io.merganser.table.storage.{Periodic, Storage}

/**
 * The heartbeat of a running write, for tables with several writers: the file `.hoodie/.heartbeat/<instant>`, touched
 * every `intervalMs` milliseconds until it is stopped.
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

  val Folder = ".hoodie/.heartbeat"

  def file(instant: String): String = s"$Folder/$instant"

  /** Whether the last heartbeat is older than `afterMs` milliseconds; true without a file. */
  def hasExpired(storage: Storage, instant: String, afterMs: Long = Heartbeats.ExpiredAfterMs): Boolean =
    storage.status(file(instant)).forall(System.currentTimeMillis() - _.getModificationTime > afterMs)
}
