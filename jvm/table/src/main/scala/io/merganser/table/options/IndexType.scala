package io.merganser.table.options

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
   */
  final case class Bucket(buckets: Option[Int], hashFields: Seq[String]) extends IndexType
}
