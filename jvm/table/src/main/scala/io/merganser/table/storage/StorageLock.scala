package io.merganser.table.storage

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID
import java.util.concurrent.ThreadLocalRandom

import io.merganser.merge.{Json, MerganserException}
import org.apache.hadoop.fs.FileAlreadyExistsException
import org.slf4j.LoggerFactory

import scala.util.control.NonFatal

/** The lock file of Hudi's `StorageBasedLockProvider`: it stays, and is replaced on the condition of its version. */
private[table] final class StorageLockPlace(storage: Storage, lease: StorageLock.Lease)
    extends LockPlace(storage, StorageLock.File, aside = "") {

  override def requireSupported(): Unit =
    if (!storage.replacesConditionally)
      throw MerganserException("CONDITIONAL_REPLACE_MISSING", "path" -> storage,
        "scheme" -> storage.fs.getUri.getScheme)

  override def acquire(settings: TableLock.Settings, deadline: Long): HeldLock =
    StorageLock.acquire(this, lease, settings, deadline)
}

/**
 * A lock of this process in the protocol of Hudi's `StorageBasedLockProvider`. The file has the owner's id, the time
 * until which the lock is valid, and whether it was released. It is created, taken, renewed and released by conditional
 * writes: who has read the version that is replaced.
 *
 * @param written the version that this process has written last
 */
private[table] final class StorageLock private (
    place: LockPlace,
    lease: StorageLock.Lease,
    owner: String,
    @volatile private var written: FileVersion
) extends HeldLock {

  import StorageLock._

  @volatile private var isLost = false

  private val renewal =
    new Periodic(s"renew the lock ${place.storage.path(place.file)}", lease.renewMs)(() => renew())

  override def requireHeld(): Unit = {
    def isOurs = Interrupts.deferred(place.read()).flatMap(Content.parse).exists(found =>
      found.owner == owner && !found.isFree(System.currentTimeMillis()))
    if (isLost || !isOurs)
      throw MerganserException("COMMIT_CONFLICT", "instant" -> "the write", "path" -> place.storage,
        "reason" -> (s"its lock ${place.storage.path(place.file)} is another writer's or has expired: this process " +
          s"paused for longer than ${lease.validMs} ms, or could not reach the store"))
  }

  /** A lock that has expired is renewed too if no other writer has taken it. */
  private def renew(): Unit = if (!isLost)
    replaced(place, written.tag, Content(isReleased = false, validUntil(lease), owner)) match {
      case Some(version) => written = version
      case None          => isLost = true
    }

  override def release(): Unit = Interrupts.deferred {
    renewal.stop()
    try
      Content.parse(new String(written.content, UTF_8)).filterNot(_ => isLost).foreach(last =>
        replaced(place, written.tag, last.copy(isReleased = true)))
    catch {
      case NonFatal(e) =>
        Log.warn(s"cannot release the lock ${place.storage.path(place.file)}; it expires in ${lease.validMs} ms", e)
    }
  }
}

object StorageLock {

  /**
   * @param validMs how long a lock is valid without renewal, in milliseconds
   * @param renewMs milliseconds between renewals
   */
  final case class Lease(validMs: Long, renewMs: Long)

  private[table] val File = ".hoodie/.locks/table_lock.json"

  /** How far the clocks of two writers may differ, in milliseconds. */
  private val ClockSkewMs = 500L

  private val Log = LoggerFactory.getLogger(classOf[StorageLock])
  private[table] def acquire(
      place: LockPlace,
      lease: Lease,
      settings: TableLock.Settings,
      deadline: Long
  ): HeldLock = {
    val owner   = UUID.randomUUID().toString
    var pauseMs = 20L
    var held    = Option.empty[FileVersion]
    while (held.isEmpty) {
      val found = place.storage.readVersion(place.file)
      val other = found.flatMap(version => Content.parse(new String(version.content, UTF_8)))
      val mine  = Content(isReleased = false, validUntil(lease), owner)
      held = found match {
        case None => created(place, mine)
        // Also a file that is not a lock's: Hudi would fail on it, and it protects nobody.
        case Some(version) if other.forall(_.isFree(System.currentTimeMillis())) => replaced(place, version.tag, mine)
        case _                                                                   => None
      }
      if (held.isEmpty) {
        if (System.nanoTime() > deadline)
          throw place.timeout(settings, other.fold("another writer")(o => s"owner ${o.owner} of the lock provider"))
        Thread.sleep(pauseMs + ThreadLocalRandom.current.nextLong(10))
        pauseMs = math.min(pauseMs * 2, 500L)
      }
    }
    new StorageLock(place, lease, owner, held.get)
  }

  private def validUntil(lease: Lease): Long = System.currentTimeMillis() + lease.validMs

  private def created(place: LockPlace, content: Content): Option[FileVersion] =
    try { place.storage.createExclusively(place.file, content.bytes); ofOwner(place, content) }
    catch { case _: FileAlreadyExistsException => None }

  /** None if the file has another version. */
  private def replaced(place: LockPlace, tag: String, content: Content): Option[FileVersion] =
    if (place.storage.replaceVersion(place.file, content.bytes, tag)) ofOwner(place, content) else None

  /** The version that was just written; None if another writer has replaced it already. */
  private def ofOwner(place: LockPlace, content: Content): Option[FileVersion] =
    place.storage.readVersion(place.file).filter(found => java.util.Arrays.equals(found.content, content.bytes))

  /** What the file contains, by Hudi's names. */
  private final case class Content(isReleased: Boolean, validUntil: Long, owner: String) {

    def isFree(nowMs: Long): Boolean = isReleased || nowMs > validUntil + ClockSkewMs

    def bytes: Array[Byte] = {
      val node = Json.createObjectNode()
      node.put("expired", isReleased).put("validUntil", validUntil).put("owner", owner)
      node.toString.getBytes(UTF_8)
    }
  }

  private object Content {
    def parse(text: String): Option[Content] =
      try
        Option(Json.readTree(text)).filter(_.path("owner").isTextual).map { node =>
          Content(node.path("expired").asBoolean, node.path("validUntil").asLong, node.path("owner").asText)
        }
      catch { case _: IOException => None }
  }
}
