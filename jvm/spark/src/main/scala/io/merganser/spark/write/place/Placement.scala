package io.merganser.spark.write.place

import io.merganser.table.file.FileNames
import io.merganser.table.slice.FileSlice
import org.apache.spark.unsafe.hash.Murmur3_x86_32
import org.apache.spark.unsafe.types.UTF8String

/**
 * Where the rows of one file group are written.
 *
 * @param slice the existing slice; None for a new group
 * @param isLog true if its versions are appended to a log file, false if a base file is written
 * @param isBucket true if its keys have no other group; any other new group is continued in another one when it is full
 */
final case class FileGroupTarget(
    partitionPath: String,
    fileId: String,
    slice: Option[FileSlice],
    isLog: Boolean,
    isBucket: Boolean = false
)

/**
 * Row counts of a write: tagged rows by slice, new rows by partition path.
 *
 * @param moved      new rows that were stored in another partition
 * @param newBuckets buckets without a file group that get rows, by partition path; their rows are in no other count
 */
final case class Workload(
    bySlice: Map[Int, Long],
    newByPartition: Map[String, Long],
    moved: Long = 0L,
    newBuckets: Set[(String, Int)] = Set.empty
)

/**
 * Third step of a write: assigns a file group to every row. Tagged rows go where their key is stored; new keys fill up
 * small base files and then new file groups, by the hash of their key, so that all versions of a key stay together.
 *
 * @param targets    the file groups the write touches
 * @param sliceGroup for each slice, its index in `targets`, or -1
 * @param newGroups  for each partition path with new keys, cumulative shares of 2^32 and the targets they belong to
 * @param newBuckets where new keys go in a table whose buckets have no file group yet
 */
final case class Placement(
    targets: IndexedSeq[FileGroupTarget],
    sliceGroup: Array[Int],
    newGroups: Map[UTF8String, (Array[Long], Array[Int])],
    newBuckets: Option[NewBuckets] = None
) {

  def group(slice: Int, partitionPath: UTF8String, key: UTF8String): Int =
    if (slice >= 0) sliceGroup(slice)
    else if (newBuckets.isDefined) newBuckets.get.group(partitionPath, key)
    else {
      val (shares, groups) = newGroups(partitionPath)
      val hash             = Placement.hash(key) & 0xffffffffL
      var i                = 0
      while (hash >= shares(i)) i += 1
      groups(i)
    }

  /** With file groups for the buckets of new keys. */
  private[write] def withBuckets(places: BucketPlaces, buckets: Set[(String, Int)], instant: String): Placement = {
    val sorted = buckets.toSeq.sorted
    val added = sorted.map { case (path, bucket) =>
      FileGroupTarget(path, places.in(path).newFileId(bucket, instant, path), None, isLog = false, isBucket = true)
    }
    val at = sorted.zipWithIndex.map { case ((path, bucket), i) =>
      (UTF8String.fromString(path), bucket) -> (targets.length + i)
    }
    copy(targets = targets ++ added, newBuckets = Some(NewBuckets(places, at.toMap)))
  }
}

/** @param groups index in the targets of a placement, by partition path and bucket */
private[write] final case class NewBuckets(places: BucketPlaces, groups: Map[(UTF8String, Int), Int]) {
  def group(path: UTF8String, key: UTF8String): Int = groups((path, places.in(path.toString).of(key)))
}

object Placement {

  /** Not the seed of the shuffle's hash: the keys of one shuffle partition would go to few of the groups. */
  private val Seed = 0x4d455247

  def hash(key: UTF8String): Int =
    Murmur3_x86_32.hashUnsafeBytes(key.getBaseObject, key.getBaseOffset, key.numBytes, Seed)

  /**
   * @param slices       the table's slices; a tag is an index into them
   * @param isMergeOnRead whether updates of a group that gets no new keys are appended to a log
   * @param smallBytes   base files below this size take new keys, in bytes
   * @param maxBytes     size that a base file is filled up to, in bytes
   * @param rowBytes     size of a stored row, in bytes
   * @param isClosed     slices that take no new keys
   */
  def plan(
      slices: IndexedSeq[FileSlice],
      work: Workload,
      isMergeOnRead: Boolean,
      smallBytes: Long,
      maxBytes: Long,
      rowBytes: Double,
      isClosed: FileSlice => Boolean = _ => false
  ): Placement = {
    val targets                           = Array.newBuilder[FileGroupTarget]
    var count                             = 0
    val sliceGroup                        = Array.fill(slices.length)(-1)
    val takesNew                          = new Array[Boolean](slices.length)
    def add(target: FileGroupTarget): Int = { targets += target; count += 1; count - 1 }

    val byPartition = slices.indices.groupBy(slices(_).partitionPath)
    val shares = work.newByPartition.toSeq.sortBy(_._1).map { case (partition, rows) =>
      val small =
        byPartition.getOrElse(partition, Nil).filter(i => isSmall(slices(i), smallBytes) && !isClosed(slices(i)))
          .sortBy(i => slices(i).base.get.sizeBytes)
      var left = rows
      val filled = small.flatMap { i =>
        val room = math.max(1L, ((maxBytes - slices(i).base.get.sizeBytes) / rowBytes).toLong)
        val take = math.min(left, room)
        left -= take
        if (take > 0) { takesNew(i) = true; Some((i, take)) }
        else None
      }
      val perFile  = math.max(1L, (maxBytes / rowBytes).toLong)
      val newFiles = ((left + perFile - 1) / perFile).toInt
      (partition, filled, Seq.fill(newFiles)(left.toDouble / newFiles))
    }

    slices.indices.foreach { i =>
      if (work.bySlice.contains(i) || takesNew(i)) {
        val slice = slices(i)
        sliceGroup(i) =
          add(FileGroupTarget(slice.partitionPath, slice.fileId, Some(slice), isLog = isMergeOnRead && !takesNew(i)))
      }
    }
    val newGroups = shares.map { case (partition, filled, fresh) =>
      val groups = filled.map { case (i, _) => sliceGroup(i) } ++ fresh.map(_ =>
        add(FileGroupTarget(partition, FileNames.newFileId(), None, isLog = false)))
      val weights = filled.map(_._2.toDouble) ++ fresh
      UTF8String.fromString(partition) -> ((cumulative(weights), groups.toArray))
    }.toMap
    Placement(targets.result().toIndexedSeq, sliceGroup, newGroups)
  }

  /** New keys go only into a base file without logs: rewriting it merges everything in the slice. */
  private def isSmall(slice: FileSlice, smallBytes: Long): Boolean =
    slice.logs.isEmpty && slice.base.exists(_.sizeBytes < smallBytes)

  private def cumulative(weights: Seq[Double]): Array[Long] = {
    val total = weights.sum
    val ends  = weights.scanLeft(0.0)(_ + _).tail.map(w => (w / total * (1L << 32)).toLong).toArray
    ends(ends.length - 1) = 1L << 32
    ends
  }
}
