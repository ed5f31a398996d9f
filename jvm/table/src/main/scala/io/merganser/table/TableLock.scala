package io.merganser.table

import java.io.{FileNotFoundException, IOException}
import java.lang.management.ManagementFactory
import java.net.InetAddress
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, Executors, ScheduledExecutorService, ThreadFactory, ThreadLocalRandom, TimeUnit}
import java.util.concurrent.locks.ReentrantLock

import com.fasterxml.jackson.databind.ObjectMapper
import io.merganser.merge.MerganserException
import org.apache.hadoop.fs.FileAlreadyExistsException
import org.slf4j.LoggerFactory

import scala.util.Try
import scala.util.control.NonFatal

/**
 * The table's lock, held: the file `.hoodie/lock`, which other engines honour too.
 *
 * The file names its owner and is renewed every third of the lease. A lock of ours that was not renewed for a whole
 * lease belongs to a dead process and is taken over. A lock that another engine wrote is never broken.
 */
final class TableLock private (storage: Storage, settings: TableLock.Settings) {

  import TableLock._

  @volatile private var renewedNanos = System.nanoTime()
  @volatile private var lost         = false

  private val token    = UUID.randomUUID().toString
  private val acquired = System.currentTimeMillis()
  private lazy val renewal = {
    val period = math.max(1L, settings.leaseMs / 3)
    Renewer.scheduleAtFixedRate(() => renew(), period, period, TimeUnit.MILLISECONDS)
  }

  private def content: Array[Byte] = TableLock.content(token, acquired, settings.leaseMs)

  /**
   * To call right before the step that the lock guards.
   *
   * @throws io.merganser.merge.MerganserException COMMIT_CONFLICT if this process paused longer than its lease and
   *                                               another writer took the lock
   */
  def requireHeld(): Unit =
    if (lost || (isDoubtful && !isOurs))
      throw MerganserException("COMMIT_CONFLICT", "instant" -> "the write", "path" -> storage,
        "reason" -> s"the table lock was lost after ${settings.leaseMs} ms without a sign of life")

  /** Within half a lease nobody may have taken the lock, so the file need not be read. */
  private def isDoubtful: Boolean =
    TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - renewedNanos) > settings.leaseMs / 2

  private def isOurs: Boolean = read(storage).flatMap(Holder.parse).exists(_.token == token)

  private def start(): Unit = { renewedNanos = System.nanoTime(); renewal; () }

  private def renew(): Unit =
    try
      if (isOurs) { storage.replace(File, content); renewedNanos = System.nanoTime() }
      else lost = true
    catch { case NonFatal(e) => Log.warn(s"cannot renew the lock of $storage", e) }

  private def release(): Unit = {
    renewal.cancel(false)
    try if (!lost && (!isDoubtful || isOurs)) { storage.delete(File); () }
    catch { case NonFatal(e) => Log.warn(s"cannot remove the lock of $storage; the next writer takes it over", e) }
  }
}

object TableLock {

  /**
   * @param timeoutMs how long to wait for the lock, in milliseconds; above the lease, or the lock of a dead process on
   *                  another host cannot be taken over
   * @param leaseMs   after how many milliseconds without renewal a holder counts as dead
   */
  final case class Settings(timeoutMs: Long = 60000, leaseMs: Long = 30000)

  private[table] val File = ".hoodie/lock"

  private val Log     = LoggerFactory.getLogger(classOf[TableLock])
  private[table] val Process = UUID.randomUUID().toString
  private[table] val Host    = Try(InetAddress.getLocalHost.getHostName).getOrElse("unknown host")
  private[table] val Pid     = ManagementFactory.getRuntimeMXBean.getName.takeWhile(_ != '@')
  private val Json    = new ObjectMapper()

  /** One a table: threads of this process queue here, so whatever holds the file beside us is another process. */
  private val threads = new ConcurrentHashMap[String, ReentrantLock]()

  /** Tables whose lock this process failed to create in a way that may have left the file, empty. */
  private val doubtful = new ConcurrentHashMap[String, Boolean]()

  /** How long a lock file may stay empty, in milliseconds, until its writer counts as dead between creating and writing. */
  private val EmptyMs    = 3000L
  private val OwnEmptyMs = 100L

  private lazy val Renewer: ScheduledExecutorService = Executors.newSingleThreadScheduledExecutor(new ThreadFactory {
    override def newThread(work: Runnable): Thread = {
      val thread = new Thread(work, "merganser-lock-renewal")
      thread.setDaemon(true)
      thread
    }
  })

  /**
   * Does something while holding the lock. Not reentrant.
   *
   * @throws io.merganser.merge.MerganserException LOCK_TIMEOUT, with the file and who holds it
   */
  def hold[T](storage: Storage, settings: Settings = Settings())(body: TableLock => T): T = {
    val deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(settings.timeoutMs)
    val thread   = threads.computeIfAbsent(storage.basePath.toString, _ => new ReentrantLock())
    if (thread.isHeldByCurrentThread) throw new IllegalStateException(s"the lock of $storage is held by this very thread")
    if (!thread.tryLock(settings.timeoutMs, TimeUnit.MILLISECONDS))
      throw timeout(storage, settings, "another thread of this process")
    try {
      val lock = acquire(storage, settings, deadline)
      try body(lock)
      finally lock.release()
    } finally thread.unlock()
  }

  private def acquire(storage: Storage, settings: Settings, deadline: Long): TableLock = {
    val lock      = new TableLock(storage, settings)
    var seen      = Option.empty[String]
    var seenSince = System.nanoTime()
    var pauseMs   = 20L
    while (!create(storage, lock)) {
      val now = read(storage)
      if (now != seen) { seen = now; seenSince = System.nanoTime() }
      val unchangedMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - seenSince)
      if (now.exists(isDead(storage, _, unchangedMs))) takeOver(storage, now.get)
      else if (now.isDefined) {
        if (System.nanoTime() > deadline) throw timeout(storage, settings, describe(now.get))
        Thread.sleep(pauseMs + ThreadLocalRandom.current.nextLong(10))
        pauseMs = math.min(pauseMs * 2, 500L)
      }
    }
    lock.start()
    lock
  }

  /** False if somebody holds it. */
  private def create(storage: Storage, lock: TableLock): Boolean = {
    val began = System.nanoTime()
    try {
      storage.createExclusively(File, lock.content)
      doubtful.remove(storage.toString)
      // Who takes long between creating and writing may be taken for dead.
      TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began) < EmptyMs / 2 || lock.isOurs
    } catch {
      case _: FileAlreadyExistsException => false
      case e: IOException =>
        doubtful.put(storage.toString, true)
        throw e
    }
  }

  /** Nobody of this process can hold it while we wait; on this host clocks agree; of others we judge by watching. */
  private def isDead(storage: Storage, content: String, unchangedMs: Long): Boolean = Holder.parse(content) match {
    case Some(holder) =>
      holder.process == Process ||
      (holder.host == Host && System.currentTimeMillis() - holder.renewedMs > holder.leaseMs) ||
      unchangedMs > holder.leaseMs
    case None => content.trim.isEmpty && unchangedMs > (if (doubtful.containsKey(storage.toString)) OwnEmptyMs else EmptyMs)
  }

  /** Moves the file away, so that of several who judge it dead only one removes it. */
  private def takeOver(storage: Storage, dead: String): Unit = {
    val aside = s"${Storage.Unpublished}lock-${UUID.randomUUID()}"
    storage.makeFolder(".hoodie/.temp")
    val moved =
      try read(storage).contains(dead) && storage.fs.rename(storage.path(File), storage.path(aside))
      catch { case _: FileNotFoundException => false }
    if (moved) {
      Log.warn(s"took over the lock of $storage from ${describe(dead)}")
      storage.delete(aside)
    }
  }

  private def read(storage: Storage): Option[String] =
    try Some(new String(storage.readUnverified(File), UTF_8))
    catch { case _: FileNotFoundException => None }

  private def timeout(storage: Storage, settings: Settings, holder: String): MerganserException =
    MerganserException("LOCK_TIMEOUT", "path" -> storage, "timeoutMs" -> settings.timeoutMs,
      "file" -> storage.path(File), "holder" -> holder)

  private def describe(content: String): String = Holder.parse(content) match {
    case Some(holder)                 => s"process ${holder.pid} on ${holder.host} since ${holder.acquired}"
    case None if content.trim.isEmpty => "an unknown writer"
    case None                         => s"another engine (${content.trim.take(200)})"
  }

  private def content(token: String, acquired: Long, leaseMs: Long): Array[Byte] = {
    val now  = System.currentTimeMillis()
    val node = Json.createObjectNode()
    node.put("owner", "merganser").put("process", Process).put("token", token).put("host", Host).put("pid", Pid)
    node.put("acquired", java.time.Instant.ofEpochMilli(acquired).toString).put("renewedMs", now).put("leaseMs", leaseMs)
    node.toString.getBytes(UTF_8)
  }

  private final case class Holder(
      process: String, token: String, host: String, pid: String, acquired: String, renewedMs: Long, leaseMs: Long
  )

  private object Holder {
    def parse(content: String): Option[Holder] =
      try
        Option(Json.readTree(content)).filter(_.path("owner").asText == "merganser").map { node =>
          Holder(node.path("process").asText, node.path("token").asText, node.path("host").asText, node.path("pid").asText,
            node.path("acquired").asText, node.path("renewedMs").asLong, node.path("leaseMs").asLong)
        }
      catch { case _: IOException => None }
  }
}
