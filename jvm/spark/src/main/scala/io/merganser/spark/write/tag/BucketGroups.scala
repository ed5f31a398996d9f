package io.merganser.spark.write.tag

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.place.BucketPlaces
import io.merganser.table.options.IndexType
import io.merganser.table.slice.FileSlice
import org.apache.spark.unsafe.types.UTF8String

/**
 * The one file group of each bucket, for a repair of a table whose files may contradict its buckets. Where several file
 * groups have the number of a bucket, the largest is the bucket's. Sent to tasks.
 *
 * @param groups   positions of the slices, by partition path and bucket
 * @param withLogs positions of the slices with logs, which may have deletes of keys that are not live
 */
private[spark] final class BucketGroups private (
    places: BucketPlaces,
    groups: Map[(UTF8String, Int), Int],
    withLogs: Set[Int]
) extends Serializable {

  /** Position of the slice where a key belongs; [[Tagging.Untagged]] if its bucket has no file group. */
  def of(path: UTF8String, key: UTF8String): Int =
    groups.getOrElse((path, places.in(path.toString).of(key)), Tagging.Untagged)

  def mayHaveDeletes(slice: Int): Boolean = withLogs(slice)

  /** Whether a slice is the file group of no bucket. */
  def isExtra(slice: Int): Boolean = !own(slice)

  private lazy val own = groups.values.toSet
}

private[spark] object BucketGroups {

  /** @param listed the slices of whole partitions */
  def apply(index: IndexType.Bucket, table: OpenTable, listed: IndexedSeq[FileSlice]): BucketGroups = {
    val places = BucketPlaces(index, table, instant = "", replaces = false)
    val numbered = listed.indices.flatMap { at =>
      val buckets = places.in(listed(at).partitionPath)
      buckets.ofGroup(listed(at).fileId).filter(_ < buckets.count).map(number =>
        (UTF8String.fromString(listed(at).partitionPath), number) -> at)
    }
    val largest = numbered.groupBy(_._1).map { case (bucket, some) =>
      bucket -> some.map(_._2).minBy(at => (-listed(at).sizeBytes, listed(at).fileId))
    }
    new BucketGroups(places, largest, listed.indices.filter(listed(_).logs.nonEmpty).toSet)
  }
}
