package io.merganser.table.storage

import java.io.{FileNotFoundException, IOException}
import java.lang.management.ManagementFactory
import java.net.InetAddress
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, ThreadLocalRandom, TimeUnit}
import java.util.concurrent.locks.ReentrantLock

import io.merganser.merge.{Json, MerganserException}
import org.apache.hadoop.fs.{FileAlreadyExistsException, Path}
import org.slf4j.LoggerFactory

import scala.util.Try
import scala.util.control.NonFatal

/**
 * The table's lock while it is held: the file `.hoodie/lock`, which is also Hudi's where its lock is a file, and a
 * second file if a lock provider has another one.
 */
final class TableLock private (files: Seq[HeldLock]) {

  /**
   * To be called right before the step that the lock guards.
   *
   * @throws io.merganser.merge.MerganserException COMMIT_CONFLICT if this process paused longer than its lease and
   *                                               another writer took the lock, or another engine removed it
   */
  def requireHeld(): Unit = files.foreach(_.requireHeld())
}

/** One of the files of a lock, while it is held. */
private[table] trait HeldLock {

  /** @throws io.merganser.merge.MerganserException COMMIT_CONFLICT if it is another writer's by now */
  def requireHeld(): Unit

  /** Logs a failure: the lock then expires. */
  def release(): Unit
}

object TableLock {

  /**
   * @param timeoutMs        how long to wait for the lock, in milliseconds; must exceed the lease, or the lock of a
   *                         dead process on another host cannot be taken over
   * @param leaseMs          milliseconds without renewal after which a holder counts as dead
   * @param severalWriters   others may write concurrently: a store that cannot exclude them is refused
   * @param exclusiveSchemes stores that the user has configured as creating files exclusively
   * @param folder           of a second lock file, which other engines' writers use: Hudi's option
   *                         `hoodie.write.lock.filesystem.path`
   * @param foreignExpiryMs  milliseconds without change after which the lock of another engine counts as abandoned;
   *                         0: never
   * @param storageLease     of the lock file of Hudi's storage-based provider, if its writers use it
   */
  final case class Settings(
      timeoutMs: Long = 60000,
      leaseMs: Long = 30000,
      severalWriters: Boolean = false,
      exclusiveSchemes: Set[String] = Set.empty,
      folder: Option[String] = None,
      foreignExpiryMs: Long = 0,
      storageLease: Option[StorageLock.Lease] = None
  )

  private[table] val File = ".hoodie/lock"

  /** Mutexes of this process's threads, one for each lock file, whatever path is used for its table. */
  private val threads = new ConcurrentHashMap[String, ReentrantLock]()

  /**
   * Runs the body while holding the lock. Not reentrant.
   *
   * @throws io.merganser.merge.MerganserException LOCK_TIMEOUT, with the file and its holder;
   *                                               EXCLUSIVE_CREATE_MISSING, CONDITIONAL_REPLACE_MISSING; what
   *                                               [[StorageFailure.explained]] throws, of the body too
   */
  def hold[T](storage: Storage, settings: Settings = Settings())(body: TableLock => T): T = {
    val own = new LockPlace(storage, File, s"${Storage.Unpublished}lock-")
    val second =
      settings.folder.map(f => new LockPlace(Storage(new Path(f).toString, storage.conf), "lock", "lock-aside-"))
    val deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(settings.timeoutMs)
    // All our writers take them in this order; other engines take only the second.
    val byLease = settings.storageLease.map(lease => new StorageLockPlace(storage, lease))
    val places  = own +: (second.filter(_.identity != own.identity).toSeq ++ byLease)
    if (settings.severalWriters) places.foreach(requireExclusive(_, settings))
    StorageFailure.explained(storage)(holdAll(places, Nil, settings, deadline)(body))
  }

  private def requireExclusive(place: LockPlace, settings: Settings): Unit =
    if (!place.storage.createsExclusively(settings.exclusiveSchemes))
      throw MerganserException("EXCLUSIVE_CREATE_MISSING", "path" -> place.storage,
        "scheme" -> place.storage.fs.getUri.getScheme)
    else place.requireSupported()

  private def holdAll[T](
      places: Seq[LockPlace],
      taken: Seq[HeldLock],
      settings: Settings,
      deadline: Long
  )(body: TableLock => T): T =
    if (places.isEmpty) body(new TableLock(taken))
    else {
      val place  = places.head
      val thread = threads.computeIfAbsent(place.identity, _ => new ReentrantLock())
      if (thread.isHeldByCurrentThread)
        throw new IllegalStateException(s"the lock of ${place.storage} is already held by this thread")
      if (!thread.tryLock(math.max(0L, deadline - System.nanoTime()), TimeUnit.NANOSECONDS))
        throw place.timeout(settings, "another thread of this process")
      try {
        val file = place.acquire(settings, deadline)
        try holdAll(places.tail, taken :+ file, settings, deadline)(body)
        finally file.release()
      } finally thread.unlock()
    }
}

/**
 * The location of a lock file.
 *
 * @param file  its name, relative to the storage
 * @param aside prefix of the names to which lock files are moved before they are removed
 */
private[table] class LockPlace(val storage: Storage, val file: String, val aside: String) {

  val identity: String = s"${storage.identity}/$file"

  def read(): Option[String] = read(file)

  def read(name: String): Option[String] =
    try Some(new String(storage.readUnverified(name), UTF_8))
    catch { case _: FileNotFoundException => None }

  /** @throws io.merganser.merge.MerganserException if the store cannot lock in this way */
  def requireSupported(): Unit = ()

  def acquire(settings: TableLock.Settings, deadline: Long): HeldLock = LockFile.acquire(this, settings, deadline)

  def timeout(settings: TableLock.Settings, holder: String): MerganserException =
    MerganserException("LOCK_TIMEOUT", "path" -> storage, "timeoutMs" -> settings.timeoutMs,
      "file" -> storage.path(file), "holder" -> holder)
}

/**
 * A lock file that this process created.
 *
 * The file names its owner and is renewed every third of the lease. A Merganser lock that was not renewed for a whole
 * lease belongs to a dead process and is taken over; one of this process is respected as long as its holder exists. A
 * lock that another engine wrote is broken only after the configured expiry: other engines may leave the file empty.
 */
private[table] final class LockFile private (place: LockPlace, settings: TableLock.Settings) extends HeldLock {

  import LockFile._

  @volatile private var renewedNanos              = System.nanoTime()
  @volatile private var isLost                    = false
  @volatile private var renewal: Option[Periodic] = None

  private val token    = UUID.randomUUID().toString
  private val acquired = System.currentTimeMillis()

  private def content: Array[Byte] = LockFile.content(token, acquired, settings.leaseMs)

  def requireHeld(): Unit =
    if (isLost || !Interrupts.deferred(isOurs))
      throw MerganserException("COMMIT_CONFLICT", "instant" -> "the write", "path" -> place.storage,
        "reason" -> (s"its lock ${place.storage.path(place.file)} is another writer's or gone: this process paused " +
          s"for longer than ${settings.leaseMs} ms, or another engine removed the file"))

  /** Reads the file: another engine may have removed it at any age. */
  private def isOurs: Boolean = place.read().flatMap(Holder.parse).exists(_.token == token)

  private def begin(): Unit = {
    renewedNanos = System.nanoTime()
    renewal =
      Some(new Periodic(s"renew the lock of ${place.storage}", math.max(1L, settings.leaseMs / 3))(() => renew()))
  }

  /** Not after a lease has passed: the file may be another writer's by the time it is written. */
  private def renew(): Unit =
    if (!isLost) {
      if (isOurs && !isOverdue) { place.storage.replace(place.file, content); renewedNanos = System.nanoTime() }
      else isLost = true
    }

  private def isOverdue: Boolean = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - renewedNanos) > settings.leaseMs

  /** After the last renewal has ended, so that none creates the file again. */
  def release(): Unit = Interrupts.deferred {
    renewal.foreach(_.stop())
    try if (!isLost && isOurs) { place.storage.delete(place.file); () }
    catch {
      case NonFatal(e) => Log.warn(s"cannot remove the lock of ${place.storage}; the next writer takes it over", e)
    } finally live.remove(token)
  }

  /** Takes over the file of a dead holder, where the store can replace a version of it; false if another was first. */
  private def replaceDead(dead: String): Boolean =
    place.storage.readVersion(place.file).filter(found => new String(found.content, UTF_8) == dead).exists { found =>
      val isReplaced = place.storage.replaceVersion(place.file, content, found.tag)
      if (isReplaced) Log.warn(s"took over the lock of ${place.storage} from ${describe(dead)}")
      isReplaced
    }

  /** False if the lock is held. */
  private def create(): Boolean = {
    val began = System.currentTimeMillis()
    try {
      place.storage.createExclusively(place.file, content)
      doubtful.remove(place.identity)
      true
    } catch {
      case _: FileAlreadyExistsException => false
      case e: IOException                =>
        // The file's content decides: the failure may have come before or after its creation, or because it existed.
        Try(place.read()).toOption.flatten match {
          case Some(text) if Holder.parse(text).exists(_.token == token) => true
          case Some(text) if Cut.of(text).exists(_.token.contains(token)) =>
            Try(place.storage.delete(place.file))
            throw e
          case Some(text) if text.trim.nonEmpty => false
          case _ =>
            doubtful.put(place.identity, (began - ClockSkewMs, System.currentTimeMillis() + ClockSkewMs))
            throw e
        }
    }
  }
}

private[table] object LockFile {

  private val Log            = LoggerFactory.getLogger(classOf[TableLock])
  private[table] val Process = UUID.randomUUID().toString
  private[table] val Host    = Try(InetAddress.getLocalHost.getHostName).getOrElse("unknown host")
  private[table] val Pid     = ManagementFactory.getRuntimeMXBean.getName.takeWhile(_ != '@')

  /** Tokens of the locks that this process holds or is creating: its files with other tokens are stale. */
  private val live = ConcurrentHashMap.newKeySet[String]()

  /**
   * When this process failed to create a lock in a way that may have left an empty file: from and to, in epoch
   * milliseconds.
   */
  private val doubtful = new ConcurrentHashMap[String, (Long, Long)]()

  private val ClockSkewMs = 2000L

  /** Milliseconds that an empty file which this process may have left must stay unchanged before it is removed. */
  private val OwnEmptyMs = 100L

  /** Hudi deletes its lock file twice, the second time whoever owns it; the next holder waits so many milliseconds. */
  private val SettleMs = 100L

  def acquire(place: LockPlace, settings: TableLock.Settings, deadline: Long): LockFile = {
    val lock = new LockFile(place, settings)
    live.add(lock.token)
    try {
      waitFor(lock, place, settings, deadline)
      lock.begin()
      lock
    } catch {
      case e: Throwable =>
        live.remove(lock.token)
        throw e
    }
  }

  private def waitFor(lock: LockFile, place: LockPlace, settings: TableLock.Settings, deadline: Long): Unit = {
    var seen      = Option.empty[String]
    var seenSince = System.nanoTime()
    var pauseMs   = 20L
    var isHeld    = false
    var isForeign = false
    while (!isHeld) {
      if (lock.create()) {
        if (isForeign) Thread.sleep(SettleMs)
        isHeld = !isForeign || lock.isOurs
      } else {
        val now = place.read()
        if (now != seen) { seen = now; seenSince = System.nanoTime() }
        val unchangedMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - seenSince)
        now.foreach { text =>
          if (Holder.parse(text).isEmpty) isForeign = true
          if (isDead(place, settings, text, unchangedMs)) {
            if (!place.storage.replacesConditionally) takeOver(place, text) else isHeld = lock.replaceDead(text)
          } else {
            if (System.nanoTime() > deadline) throw place.timeout(settings, describe(text))
            Thread.sleep(pauseMs + ThreadLocalRandom.current.nextLong(10))
            pauseMs = math.min(pauseMs * 2, 500L)
          }
        }
      }
    }
  }

  /**
   * A lock of this process is dead if no holder has its token; one of this host is judged by the clock; any other by
   * whether the file changes. So is one whose writer stopped in the middle of its content.
   */
  private def isDead(place: LockPlace, settings: TableLock.Settings, content: String, unchangedMs: Long): Boolean =
    Holder.parse(content) match {
      case Some(holder) if holder.process == Process => !live.contains(holder.token)
      case Some(holder) =>
        (holder.host == Host && System.currentTimeMillis() - holder.renewedMs > holder.leaseMs) ||
        unchangedMs > holder.leaseMs
      case None if Cut.of(content).isDefined =>
        val cut = Cut.of(content).get
        if (cut.process.contains(Process)) !cut.token.exists(live.contains) else unchangedMs > settings.leaseMs
      case None =>
        lazy val modified = place.storage.status(place.file).map(_.getModificationTime)
        val isOwn = content.trim.isEmpty && unchangedMs > OwnEmptyMs && Option(doubtful.get(place.identity)).exists {
          case (from, to) => modified.exists(at => at >= from && at <= to)
        }
        isOwn || (settings.foreignExpiryMs > 0 && modified.exists(
          System.currentTimeMillis() - _ > settings.foreignExpiryMs))
    }

  /** Moves the file away, so that only one of several processes that consider it dead removes it. */
  private def takeOver(place: LockPlace, dead: String): Unit = {
    val storage = place.storage
    val aside   = s"${place.aside}${UUID.randomUUID()}"
    storage.makeFolder(aside.take(math.max(aside.lastIndexOf('/'), 0)))
    val moved =
      try place.read().contains(dead) && storage.fs.rename(storage.path(place.file), storage.path(aside))
      catch { case _: FileNotFoundException => false }
    if (moved) {
      // Another process may have taken it over, and created it again, since it was read.
      val found = place.read(aside)
      if (found.exists(_ != dead))
        try storage.createExclusively(place.file, found.get.getBytes(UTF_8))
        catch { case _: FileAlreadyExistsException => () }
      else Log.warn(s"took over the lock of $storage from ${describe(dead)}")
      storage.delete(aside)
    }
  }

  private def describe(content: String): String = Holder.parse(content) match {
    case Some(holder)                      => s"process ${holder.pid} on ${holder.host} since ${holder.acquired}"
    case None if Cut.of(content).isDefined => "a writer that stopped while it created or renewed the file"
    case None if content.trim.isEmpty => "another engine, or a writer that died while creating the file (it is empty)"
    case None                         => s"another engine (${content.trim.take(200)})"
  }

  private def content(token: String, acquired: Long, leaseMs: Long): Array[Byte] = {
    val now  = System.currentTimeMillis()
    val node = Json.createObjectNode()
    node.put("owner", "merganser").put("process", Process).put("token", token).put("host", Host).put("pid", Pid)
    node.put("acquired", java.time.Instant.ofEpochMilli(acquired).toString).put("renewedMs", now).put("leaseMs",
      leaseMs)
    node.toString.getBytes(UTF_8)
  }

  private final case class Holder(
      process: String,
      token: String,
      host: String,
      pid: String,
      acquired: String,
      renewedMs: Long,
      leaseMs: Long
  )

  /** The beginning of a Merganser lock's content, of a writer that stopped before its end; see [[content]]. */
  private final case class Cut(process: Option[String], token: Option[String])

  private object Cut {
    private val Beginning = """{"owner":"merganser""""
    private val Named     = """"(process|token)":"([^"]+)"""".r

    def of(content: String): Option[Cut] =
      if (!content.startsWith(Beginning) || Holder.parse(content).isDefined) None
      else {
        val found = Named.findAllMatchIn(content).map(m => m.group(1) -> m.group(2)).toMap
        Some(Cut(found.get("process"), found.get("token")))
      }
  }

  private object Holder {
    def parse(content: String): Option[Holder] =
      try
        Option(Json.readTree(content)).filter(_.path("owner").asText == "merganser").map { node =>
          Holder(node.path("process").asText, node.path("token").asText, node.path("host").asText,
            node.path("pid").asText,
            node.path("acquired").asText, node.path("renewedMs").asLong, node.path("leaseMs").asLong)
        }
      catch { case _: IOException => None }
  }
}
