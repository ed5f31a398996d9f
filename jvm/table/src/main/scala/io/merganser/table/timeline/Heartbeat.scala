package io.merganser.table.timeline

import java.util.concurrent.{Executors, ScheduledFuture, ThreadFactory, TimeUnit}

import io.merganser.table.Storage
import org.slf4j.LoggerFactory

import scala.util.control.NonFatal

/** The sign of life of a running write, for tables with several writers: `.hoodie/.heartbeat/<instant>`, touched again and again. */
private[timeline] final class Heartbeat(storage: Storage, instant: String, intervalMs: Long) {

  private val beat: ScheduledFuture[_] = {
    touch()
    Heartbeat.Timer.scheduleAtFixedRate(() => touchQuietly(), intervalMs, intervalMs, TimeUnit.MILLISECONDS)
  }

  def stop(): Unit = { beat.cancel(false); () }

  private def touch(): Unit = storage.touch(Heartbeat.file(instant))

  private def touchQuietly(): Unit =
    try touch()
    catch { case NonFatal(e) => Heartbeat.Log.warn(s"cannot touch the heartbeat of write $instant of $storage", e) }
}

private[timeline] object Heartbeat {

  /** As long as other engines wait by default: two missed beats of a minute each. */
  val ExpiredAfterMs = 120000L

  private val Log = LoggerFactory.getLogger(classOf[Heartbeat])

  private lazy val Timer = Executors.newSingleThreadScheduledExecutor(new ThreadFactory {
    override def newThread(work: Runnable): Thread = {
      val thread = new Thread(work, "merganser-heartbeat")
      thread.setDaemon(true)
      thread
    }
  })

  def file(instant: String): String = s".hoodie/.heartbeat/$instant"

  /** Whether the write has shown no sign of life for so long; without a file it never did. */
  def hasExpired(storage: Storage, instant: String, afterMs: Long = ExpiredAfterMs): Boolean =
    storage.status(file(instant)).forall(System.currentTimeMillis() - _.getModificationTime > afterMs)
}
