package io.merganser.table.storage

import java.util.concurrent.{ExecutorService, Executors, ScheduledThreadPoolExecutor, ThreadFactory, TimeUnit}
import java.util.concurrent.locks.ReentrantLock

import org.slf4j.LoggerFactory

import scala.util.control.NonFatal

/**
 * Work that is done every so many milliseconds until it is stopped. A run takes a thread of its own, so that work that
 * hangs delays nobody else's; while a run goes on no second one begins.
 *
 * @param what names the work in the log, where a run fails
 */
private[table] final class Periodic(what: String, periodMs: Long)(work: () => Unit) {

  private val guard            = new ReentrantLock()
  @volatile private var isDone = false

  private val timer =
    Periodic.Timer.scheduleAtFixedRate(() => Periodic.Workers.execute(() => run()), periodMs, periodMs,
      TimeUnit.MILLISECONDS)

  /** After this no run begins, and none is going on. */
  def stop(): Unit = {
    isDone = true
    timer.cancel(false)
    guard.lock()
    guard.unlock()
  }

  private def run(): Unit = if (guard.tryLock())
    try if (!isDone) work()
    catch { case NonFatal(e) => Periodic.Log.warn(s"cannot $what", e) }
    finally guard.unlock()
}

private object Periodic {

  private val Log = LoggerFactory.getLogger(classOf[Periodic])

  private lazy val Timer: ScheduledThreadPoolExecutor = {
    val timer = new ScheduledThreadPoolExecutor(1, daemons("merganser-timer"))
    timer.setRemoveOnCancelPolicy(true)
    timer
  }

  private lazy val Workers: ExecutorService = Executors.newCachedThreadPool(daemons("merganser-periodic"))

  private def daemons(name: String): ThreadFactory = (work: Runnable) => {
    val thread = new Thread(work, name)
    thread.setDaemon(true)
    thread
  }
}
