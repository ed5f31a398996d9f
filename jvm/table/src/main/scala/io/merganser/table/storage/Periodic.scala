package io.merganser.table.storage

import java.util.concurrent.{ExecutorService, Executors, ScheduledThreadPoolExecutor, ThreadFactory, TimeUnit}
import java.util.concurrent.locks.ReentrantLock

import org.slf4j.LoggerFactory

import scala.util.control.NonFatal

/**
 * Work that runs periodically until it is stopped. Each run has a thread of its own, so that work that hangs delays no
 * other; a run is skipped while another is in progress.
 *
 * @param what     names the work in the log when a run fails
 * @param periodMs milliseconds between runs
 */
private[table] final class Periodic(what: String, periodMs: Long)(work: () => Unit) {

  private val guard            = new ReentrantLock()
  @volatile private var isDone = false

  private val timer =
    Periodic.Timer.scheduleAtFixedRate(() => Periodic.Workers.execute(() => run()), periodMs, periodMs,
      TimeUnit.MILLISECONDS)

  /** Afterwards no run begins, and none is in progress. */
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
