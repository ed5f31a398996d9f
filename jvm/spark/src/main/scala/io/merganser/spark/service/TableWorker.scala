package io.merganser.spark.service

import java.util.concurrent.TimeUnit.{MILLISECONDS, NANOSECONDS, SECONDS}

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.commit.Transaction
import io.merganser.table.settings.WriteConfig
import io.merganser.table.storage.{Progress, Storage}
import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.merganser.ServiceJobs
import org.slf4j.LoggerFactory

import scala.util.control.NonFatal

/**
 * The state of a service of a table in the background of the session.
 *
 * @param state        running, failed (the last run did, and is repeated), waiting (for another process) or idle
 * @param everySeconds time between its runs, in seconds; None if it runs after writes only
 * @param runs         how often it has run
 * @param failures     runs that failed since the last one that succeeded
 * @param lastRunMs    when its last run ended, in epoch milliseconds
 * @param lastInstant  the newest instant that it completed
 * @param waitsFor     why some of the work could not be done yet
 * @param lastError    of the last run that failed; it remains after a success
 */
final case class ServiceStatus(
    path: String,
    service: String,
    state: String,
    everySeconds: Option[Long] = None,
    runs: Long = 0,
    failures: Int = 0,
    lastRunMs: Option[Long] = None,
    lastInstant: Option[String] = None,
    waitsFor: Option[String] = None,
    lastError: Option[String] = None
)

/**
 * How a service is run.
 *
 * @param settings of the table as it is then
 * @param plans    also what no write has planned
 */
private[service] final case class ServiceJob(
    session: SparkSession,
    settings: OpenTable => WriteConfig,
    plans: Boolean
)

/**
 * The services of one table in the background: they run one after the other, in a thread. The worker ends when nothing
 * was requested for a minute, and when its table is gone. A run that fails is repeated, after 1 second at first, and
 * after 10 minutes at most.
 *
 * @param idleMs milliseconds without a request after which it ends
 * @param ended  called when it has ended by itself; it takes no request from then on
 */
private[service] final class TableWorker(
    val storage: Storage,
    val context: SparkContext,
    idleMs: Long = TableWorker.IdleMs
)(ended: TableWorker => Unit) {
  import TableWorker._

  private final class Slot(val service: TableService) {
    var job: Option[ServiceJob] = None
    var everyNs: Option[Long]   = None
    var isRequested             = false
    var dueAt: Option[Long]     = None
    var status: ServiceStatus   = ServiceStatus(storage.toString, service.name, "idle")

    def isUsed: Boolean = job.isDefined

    /** Not before the time after a failure. */
    def requestNow(): Unit = {
      isRequested = true
      if (status.failures == 0 || dueAt.isEmpty) dueAt = Some(dueAt.fold(now)(math.min(_, now)))
    }
  }

  // All state is guarded by this object.
  private val slots                  = TableService.all.map(new Slot(_))
  private var thread: Option[Thread] = None
  private var isStopped              = false
  private var isOfNoTable            = false
  private val jobs                   = s"merganser services of ${storage.identity}"

  /** Requests one run of services after a write; false if the worker was stopped. */
  def request(services: Seq[TableService], job: ServiceJob): Boolean = synchronized {
    if (!isStopped) {
      slots.filter(s => services.contains(s.service)).foreach { slot =>
        if (slot.everyNs.isEmpty) slot.job = Some(job)
        slot.requestNow()
      }
      wake()
    }
    !isStopped
  }

  /** Runs services periodically from now on, and no others; false if the worker was stopped. */
  def serve(services: Seq[TableService], everySeconds: Long, job: ServiceJob): Boolean = synchronized {
    if (!isStopped) {
      slots.foreach { slot =>
        val isServed = services.contains(slot.service)
        slot.everyNs = if (isServed) Some(SECONDS.toNanos(everySeconds)) else None
        slot.status = slot.status.copy(everySeconds = if (isServed) Some(everySeconds) else None)
        if (isServed) {
          slot.job = Some(job)
          slot.dueAt = Some(now)
        } else if (!slot.isRequested) slot.dueAt = None
      }
      wake()
    }
    !isStopped
  }

  def serves(service: TableService): Boolean =
    synchronized(!isStopped && slots.exists(s => s.service == service && s.everyNs.isDefined))

  def statuses: Seq[ServiceStatus] = synchronized(slots.filter(_.isUsed).map(_.status))

  /** Ends after what was requested, and waits for it. */
  def stop(): Unit = end(withJobs = true, Long.MaxValue)

  /** Ends with the session: waits for requested work that needs no Spark jobs. */
  def end(withinMs: Long): Unit = {
    // It stays on the timeline, and is run again.
    try context.cancelJobGroup(jobs)
    catch { case NonFatal(_) => () }
    end(withJobs = false, withinMs)
  }

  private def end(withJobs: Boolean, withinMs: Long): Unit = {
    val running = synchronized {
      isStopped = true
      slots.foreach { slot =>
        slot.everyNs = None
        // After a failure it is not repeated.
        if (!slot.isRequested || slot.status.failures > 0 || (slot.service.pool.isDefined && !withJobs))
          slot.dueAt = None
      }
      notifyAll()
      thread
    }
    running.filter(_ ne Thread.currentThread).foreach(_.join(withinMs))
  }

  private def wake(): Unit = {
    if (!thread.exists(_.isAlive)) {
      val started = new Thread(() => loop(), s"merganser-services of $storage")
      started.setDaemon(true)
      thread = Some(started)
      started.start()
    }
    notifyAll()
  }

  private def loop(): Unit = {
    Iterator.continually(next()).takeWhile(_.isDefined).map(_.get).foreach(run)
    ended(this)
  }

  /** Waits for the next service that is due; None if the thread is to end. */
  private def next(): Option[Slot] = synchronized {
    val idleAt  = now + MILLISECONDS.toNanos(idleMs)
    def first   = slots.filter(_.dueAt.isDefined).sortBy(_.dueAt).headOption
    def isDue   = first.exists(_.dueAt.exists(_ <= now))
    def isOver  = first.isEmpty && (isStopped || isOfNoTable || now >= idleAt)
    def untilNs = first.flatMap(_.dueAt).getOrElse(idleAt) - now
    while (!isDue && !isOver) wait(math.max(1L, NANOSECONDS.toMillis(untilNs)))
    val found = first.filter(_ => !isOver)
    if (found.isEmpty) {
      thread = None
      isStopped = true
    }
    found.foreach { slot =>
      slot.isRequested = false
      slot.dueAt = None
      slot.status = slot.status.copy(state = "running")
    }
    found
  }

  private def run(slot: Slot): Unit = {
    val job = synchronized(slot.job.get)
    try {
      SparkSession.setActiveSession(job.session)
      val done = ServiceJobs.run(context, jobs, slot.service.pool, s"${slot.service} of $storage in the background") {
        Progress.hide {
          val table = OpenTable.load(storage)
          slot.service.run(ServiceScope(job.session, table, job.settings(table)), job.plans)
        }
      }
      succeeded(slot, done)
    } catch {
      // Also without memory: what was requested, and what is due later, would never be run.
      case e: Throwable => failed(slot, Transaction.userError(e))
    } finally SparkSession.clearActiveSession()
  }

  private def succeeded(slot: Slot, done: ServiceRun): Unit = synchronized {
    slot.status = slot.status.copy(state = if (done.waitsFor.isDefined) "waiting" else "idle", failures = 0,
      runs = slot.status.runs + 1, lastRunMs = Some(System.currentTimeMillis()), waitsFor = done.waitsFor,
      lastInstant = done.instant.orElse(slot.status.lastInstant))
    again(slot, slot.everyNs.toSeq ++ done.waitsFor.map(_ => WaitNs))
  }

  private def failed(slot: Slot, error: Throwable): Unit = synchronized {
    val failures = slot.status.failures + 1
    val text = error match {
      case e: MerganserException => e.getMessage
      case e                     => s"${e.getClass.getSimpleName}: ${e.getMessage}"
    }
    slot.status = slot.status.copy(state = "failed", failures = failures, runs = slot.status.runs + 1,
      lastRunMs = Some(System.currentTimeMillis()), lastError = Some(text))
    // A request that came while it ran waits for the pause, too.
    slot.dueAt = None
    if (context.isStopped) Log.info(s"the ${slot.service} of $storage ended with its session: $text")
    else {
      val line = s"the ${slot.service} of $storage in the background failed ($failures in a row): $text"
      if (error.isInstanceOf[MerganserException]) Log.warn(line) else Log.warn(line, error)
      // A table that is gone would fail for ever.
      if (!isGone) again(slot, Seq(TableWorker.pauseNs(failures)))
      else {
        isOfNoTable = true
        slots.foreach { each =>
          each.everyNs = None
          each.dueAt = None
        }
        slot.status = slot.status.copy(everySeconds = None, failures = 0)
      }
    }
  }

  private def again(slot: Slot, inNs: Seq[Long]): Unit =
    if (!isStopped && inNs.nonEmpty) {
      val at = now + inNs.min
      slot.dueAt = Some(slot.dueAt.fold(at)(math.min(_, at)))
    }

  private def isGone: Boolean =
    try !storage.exists(".hoodie")
    catch { case NonFatal(_) => false }

  private def now: Long = System.nanoTime()
}

private[service] object TableWorker {

  private val Log = LoggerFactory.getLogger(classOf[TableWorker])

  val IdleMs = 60000L

  /** Until work that another process does is looked at again: by then it is done, or the process may be dead. */
  private val WaitNs = SECONDS.toNanos(60)

  private val LongestPauseMs = 600000L

  /** Nanoseconds until a run is repeated. */
  private[service] def pauseNs(failures: Int): Long =
    MILLISECONDS.toNanos(math.min(LongestPauseMs, 1000L << math.min(failures - 1, 20)))
}
