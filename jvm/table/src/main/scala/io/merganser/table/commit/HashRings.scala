package io.merganser.table.commit

import io.merganser.merge.MerganserException
import io.merganser.table.file.{FileGroupId, FileNames}
import io.merganser.table.index.HashRing
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{CompletedInstants, Timeline}
import org.apache.hadoop.fs.FileAlreadyExistsException

import java.util.concurrent.ConcurrentHashMap

/**
 * The rings of a table with consistent hashing, as a write uses them. Sent to tasks, which read the ring of a partition
 * when they first need it.
 *
 * A partition without a ring gets its first one. A ring whose file groups a commit or this write replaces is renewed:
 * new file groups take the place of those, which readers no longer see. A write that replaces the partition renews the
 * first ring too, stored or not: which of both must not depend on when a task looks.
 *
 * @param buckets   number of buckets of a partition that has no ring
 * @param completed instants of the timeline that the write sees
 * @param replaced  file groups that commits have replaced
 * @param instant   of the write
 * @param replaces  whether the write replaces the partitions of its rows
 */
final class HashRings private (
    storage: Storage,
    buckets: Int,
    completed: CompletedInstants,
    replaced: Set[FileGroupId],
    instant: String,
    replaces: Boolean
) extends Serializable {
  import HashRings._

  @transient private[this] lazy val known = new ConcurrentHashMap[String, HashRing]()

  /** @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE */
  def of(partition: String): HashRing = known.computeIfAbsent(partition, (p: String) => current(p, replaces))

  /**
   * Stores the rings of partitions where they are new.
   *
   * @param used codes of the rings that tasks placed rows by, for each partition
   * @throws io.merganser.merge.MerganserException COMMIT_CONFLICT if another writer has stored other ones meanwhile
   */
  def store(used: Map[String, Set[Int]]): Unit = used.foreach { case (partition, codes) =>
    val ring = current(partition, replaces)
    if (codes.exists(_ != ring.hashCode) || !isStored(ring)) throw changed(partition)
  }

  /** The file groups of a partition's ranges. */
  def groups(partition: String): Set[FileGroupId] =
    of(partition).nodes.map(node => FileGroupId(partition, HashRing.fileId(node))).toSet

  /** Renews the rings of partitions that the write replaces and may have no rows for. */
  def renew(partitions: Iterable[String]): Unit = partitions.foreach { partition =>
    if (newest(partition).isDefined && !isStored(current(partition, renews = true))) throw changed(partition)
  }

  private def current(partition: String, renews: Boolean): HashRing =
    newest(partition).getOrElse(HashRing.first(partition, buckets)).renewed(instant,
      node => renews || replaced(FileGroupId(partition, HashRing.fileId(node))))

  /** Stores a ring; false if another one of the same name exists. */
  private def isStored(ring: HashRing): Boolean = {
    val file = s"${folder(ring.partitionPath)}/${ring.fileName}"
    def same = HashRing.parse(storage.readText(file), storage.path(file)).nodes == ring.nodes
    if (storage.exists(file)) same
    else
      try { storage.createNew(file, ring.toJson.getBytes("UTF-8")); true }
      catch { case _: FileAlreadyExistsException => same }
  }

  private def changed(partition: String) = MerganserException("COMMIT_CONFLICT", "instant" -> instant,
    "path" -> storage,
    "reason" -> s"another writer changed the buckets of partition '$partition' since the write began")

  /** The newest ring that is committed; a clustering or a write stores one before its commit. */
  private def newest(partition: String): Option[HashRing] = {
    val names  = storage.list(folder(partition)).filter(_.isFile).map(_.getPath.getName)
    val marked = names.filter(_.endsWith(HashRing.CommitSuffix)).map(_.stripSuffix(HashRing.CommitSuffix)).toSet
    val stored = names.filter(_.endsWith(HashRing.Suffix)).map(_.stripSuffix(HashRing.Suffix)).sorted.reverse
    def ring(of: String) = {
      val file = s"${folder(partition)}/$of${HashRing.Suffix}"
      HashRing.parse(storage.readText(file), storage.path(file)).copy(partitionPath = partition, instant = of)
    }
    // An archived instant without a marker may be that of a failed write: its file groups then do not exist.
    def isUsed(of: String) = {
      val fileIds = ring(of).nodes.map(HashRing.fileId).toSet
      storage.list(partition).exists(file => FileNames.fileId(file.getPath.getName).exists(fileIds))
    }
    stored.find { of =>
      of == HashRing.First || marked(of) || (completed(of) && (!completed.isArchived(of) || isUsed(of)))
    }.map(ring)
  }
}

object HashRings {

  def apply(
      storage: Storage,
      timeline: Timeline,
      buckets: Int,
      instant: String,
      replaces: Boolean
  ): HashRings =
    new HashRings(storage, buckets, timeline.completedInstants, timeline.replacedGroups, instant, replaces)

  /** Removes the rings that a write stored which did not complete; no reader has used them. */
  private[commit] def remove(storage: Storage, instant: String): Unit = {
    def within(folder: String): Unit = storage.list(folder).foreach { found =>
      val file = s"$folder/${found.getPath.getName}"
      if (found.isDirectory) within(file)
      else if (found.getPath.getName == instant + HashRing.Suffix) { storage.delete(file); () }
    }
    within(BucketMetadata.Rings)
  }

  private def folder(partition: String): String =
    if (partition.isEmpty) BucketMetadata.Rings else s"${BucketMetadata.Rings}/$partition"
}
