package io.merganser.table.options

import io.merganser.table.index.BucketRule

/** How the file group of a key is found. */
sealed trait IndexType

object IndexType {

  /**
   * @param bloomFilters base files carry a bloom filter of their keys
   * @param global       how keys are found in all partitions; None: a key is looked up in its row's partition
   */
  final case class Simple(bloomFilters: Boolean, global: Option[GlobalKeys] = None) extends IndexType

  /** @param move if a row wins over one stored in another partition, it moves to its new one; else it stays there */
  final case class GlobalKeys(move: Boolean)

  /** Not configured, as in tables of other writers: BUCKET if the table's file ids are bucket numbers, else SIMPLE. */
  final case class ByFiles(bucket: Bucket) extends IndexType

  /**
   * @param buckets    file groups in each partition; None: not configured, inferred from the existing files, or 256
   * @param hashFields key columns that determine the bucket
   * @param layout     None: not configured, inferred from the table's metadata
   * @param looksUp    keys are looked up before they are placed: other engines may have put them into other buckets
   */
  final case class Bucket(
      buckets: Option[Int],
      hashFields: Seq[String],
      layout: Option[BucketLayout] = None,
      looksUp: Boolean = false
  ) extends IndexType
}

/** How the keys of a partition are distributed to its buckets. */
sealed trait BucketLayout

object BucketLayout {

  /** The same number of buckets in each partition, by the remainder of the key's hash. */
  case object Fixed extends BucketLayout

  /** Numbers of buckets by partition, by the remainder of the key's hash. */
  final case class ByPartition(rule: BucketRule) extends BucketLayout

  /** Consistent hashing: ranges of hashes, stored for each partition, so that buckets can be split or merged. */
  case object Rings extends BucketLayout
}
