package io.merganser.spark.write.place

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.commit.HashRings
import io.merganser.table.file.{FileGroupId, FileNames}
import io.merganser.table.index.{BucketIndex, HashRing}
import io.merganser.table.options.{BucketLayout, IndexType}
import io.merganser.table.slice.FileSlice
import org.apache.spark.unsafe.types.UTF8String

/** The buckets of a partition. */
private[write] sealed trait PartitionBuckets {

  /** The bucket of a record key. */
  def of(key: UTF8String): Int

  /** The bucket that is a file group; None if it is none of them. */
  def ofGroup(fileId: String): Option[Int]

  /** Id of the file group of a bucket that has none. */
  def newFileId(bucket: Int, instant: String, partitionPath: String): String

  def count: Int

  /** Differs where keys are in other buckets, or buckets in other file groups. */
  def code: Int
}

private[write] final case class CountedBuckets(override val count: Int, hashFields: Seq[String])
    extends PartitionBuckets {
  override def of(key: UTF8String): Int = BucketIndex.bucket(key, hashFields, count)

  override def ofGroup(fileId: String): Option[Int] = FileNames.bucketOf(fileId)

  override def newFileId(bucket: Int, instant: String, partitionPath: String): String =
    FileNames.bucketFileId(bucket, instant, partitionPath)

  override def code: Int = count
}

private[write] final case class RingBuckets(ring: HashRing, hashFields: Seq[String]) extends PartitionBuckets {
  override def of(key: UTF8String): Int = ring.bucket(HashRing.hash(key, hashFields))

  override def ofGroup(fileId: String): Option[Int] = ring.bucketOf(fileId)

  override def newFileId(bucket: Int, instant: String, partitionPath: String): String = ring.fileId(bucket)

  override def count: Int = ring.nodes.size

  override def code: Int = ring.hashCode
}

/** Where a write with the BUCKET index puts keys, by partition. Sent to tasks. */
private[write] final class BucketPlaces private (index: IndexType.Bucket, rings: Option[HashRings])
    extends Serializable {

  private val counted = BucketPlaces.fixed(index)

  def in(partitionPath: String): PartitionBuckets =
    rings.fold[PartitionBuckets](counted(partitionPath))(r => RingBuckets(r.of(partitionPath), index.hashFields))

  /**
   * Stores the rings of new partitions.
   *
   * @param used codes of the buckets that tasks placed rows in, by partition path
   */
  def store(used: Map[String, Set[Int]]): Unit = rings.foreach(_.store(used))

  /**
   * Slices by partition path and bucket.
   *
   * @throws MerganserException TABLE_FEATURE_READ_ONLY if a partition has rows outside of its buckets, or two file
   *                            groups of one bucket
   */
  def byBucket(slices: Seq[FileSlice], table: OpenTable): Map[(UTF8String, Int), FileSlice] = {
    val numbered = slices.flatMap(s => bucketOf(s, table).map(b => (UTF8String.fromString(s.partitionPath), b) -> s))
    val unique   = numbered.toMap
    if (unique.size < numbered.size)
      numbered.find { case (at, slice) => unique(at) != slice }.foreach { case (at, slice) =>
        throw twice(slice, unique(at), at._2, table)
      }
    unique
  }

  private def twice(one: FileSlice, other: FileSlice, bucket: Int, table: OpenTable) =
    refused(one, table, s"has file groups '${one.fileId}' and '${other.fileId}' of bucket $bucket",
      "another engine added the second one, and a key may be in either")

  /**
   * The bucket that is a slice; None if its file id is not that of a bucket.
   *
   * @throws MerganserException as [[byBucket]]
   */
  def bucketOf(slice: FileSlice, table: OpenTable): Option[Int] = {
    val bucket = in(slice.partitionPath).ofGroup(slice.fileId)
    if (bucket.isEmpty && rings.isDefined) throw outside(slice, table)
    bucket
  }

  private def outside(slice: FileSlice, table: OpenTable) =
    refused(slice, table, s"has file group '${slice.fileId}', which does not belong to any of its buckets",
      "an overwrite by another engine did not change its buckets, so a key would be stored twice")

  private def refused(slice: FileSlice, table: OpenTable, what: String, reason: String) = MerganserException(
    "TABLE_FEATURE_READ_ONLY", "path" -> table.storage,
    "feature" -> s"partition '${slice.partitionPath}' $what", "reason" -> reason,
    "remedy" -> ("CALL repair_deduplicate(dry_run => false) puts its rows into their buckets, and INSERT OVERWRITE " +
      "replaces the partition"))
}

private[write] object BucketPlaces {

  def apply(index: IndexType.Bucket, table: OpenTable, instant: String, replaces: Boolean): BucketPlaces =
    new BucketPlaces(index, rings(index, table, instant, replaces))

  /** Renews the buckets of partitions whose file groups a write replaces, whether or not it has rows for them. */
  def renew(index: IndexType, table: OpenTable, instant: String, partitions: Iterable[String]): Unit = index match {
    case bucket: IndexType.Bucket if partitions.nonEmpty =>
      rings(bucket, table, instant, replaces = true).foreach(_.renew(partitions))
    case _ => ()
  }

  /** The file groups of a partition's ranges as a write places rows in them, with consistent hashing. */
  def ranges(
      index: IndexType,
      table: OpenTable,
      instant: String,
      replaces: Boolean
  ): Option[String => Set[FileGroupId]] = index match {
    case bucket: IndexType.Bucket => rings(bucket, table, instant, replaces).map(r => r.groups(_))
    case _                        => None
  }

  /** The buckets of a partition where they are counted. */
  def fixed(index: IndexType.Bucket): String => CountedBuckets = {
    val count  = number(index)
    val fields = index.hashFields
    index.layout match {
      case Some(BucketLayout.ByPartition(rule)) => path => CountedBuckets(rule.buckets(path, count), fields)
      case _ =>
        val same = CountedBuckets(count, fields)
        _ => same
    }
  }

  private def rings(index: IndexType.Bucket, table: OpenTable, instant: String, replaces: Boolean): Option[HashRings] =
    if (!index.layout.contains(BucketLayout.Rings)) None
    else Some(HashRings(table.storage, table.timeline, number(index), instant, replaces))

  private def number(index: IndexType.Bucket): Int =
    index.buckets.getOrElse(throw new IllegalStateException("an index whose number of buckets was not resolved"))
}
