package io.merganser.table.options

/** How the file group of a key is found. */
sealed trait IndexType

object IndexType {

  /**
   * @param bloomFilters base files carry a bloom filter of their keys
   * @param global       how keys are found in all partitions; None: a key is looked for in its row's partition
   */
  final case class Simple(bloomFilters: Boolean, global: Option[GlobalKeys] = None) extends IndexType

  /** @param move a row whose key is stored in another partition moves to its own, if it wins; else it stays where it is stored */
  final case class GlobalKeys(move: Boolean)

  /** Nobody said, as in tables of other writers: BUCKET if the table's file ids are numbers of buckets, else SIMPLE. */
  final case class ByFiles(bucket: Bucket) extends IndexType

  /**
   * @param buckets    file groups in each partition; None: nobody said, take it from the files that are there, or 256
   * @param hashFields key columns that choose the bucket
   */
  final case class Bucket(buckets: Option[Int], hashFields: Seq[String]) extends IndexType
}
