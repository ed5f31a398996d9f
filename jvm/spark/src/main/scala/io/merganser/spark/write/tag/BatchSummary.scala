package io.merganser.spark.write.tag

import io.merganser.spark.prune.{KeyRanges, ValueOrder}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.sketch.BloomFilter

import scala.collection.mutable

/**
 * Statistics of a batch's keys, collected by tasks.
 *
 * @param ranges     of the keys as strings
 * @param numbers    of the keys as [[ValueOrder]] orders numbers, if all of them are integers: files loaded in numeric
 *                   order have wide ranges of strings
 * @param partitions paths of the rows; None if keys are looked up in all partitions
 */
private[write] final case class BatchSummary(
    rows: Long,
    partitions: Option[Set[String]],
    bloom: Array[Byte],
    ranges: KeyRanges,
    numbers: Option[KeyRanges]
) {

  def names(partition: String): Boolean = partitions.forall(_.contains(partition))

  /** A filter of the keys; None if most keys would pass it. */
  def filter: Option[BloomFilter] = if (rows <= 4 * BatchSummary.Items) Some(BatchSummary.read(bloom)) else None

  private def ++(other: BatchSummary): BatchSummary = {
    val both = BatchSummary.read(bloom)
    both.mergeInPlace(BatchSummary.read(other.bloom))
    BatchSummary(rows + other.rows, for (a <- partitions; b <- other.partitions) yield a ++ b, BatchSummary.bytes(both),
      ranges ++ other.ranges,
      for (a <- numbers; b <- other.numbers) yield a ++ b)
  }
}

private[write] object BatchSummary {
  private val Items = 1000000L

  /**
   * @param pathOrdinal ordinal of the partition path, or -1
   * @param areNumbers  true if the key is an integer column
   * @return None if there is no row
   */
  def of(rows: RDD[InternalRow], keyOrdinal: Int, pathOrdinal: Int, areNumbers: Boolean): Option[BatchSummary] = {
    val parts = rows.mapPartitions { it =>
      if (!it.hasNext) Iterator.empty
      else {
        val bloom      = BloomFilter.create(Items, 0.03)
        val ranges     = new KeyRanges.Builder
        val partitions = mutable.HashSet.empty[UTF8String]
        val numbers    = new KeyRanges.Builder
        val number     = new UTF8String.LongWrapper
        var allNumbers = areNumbers
        var count      = 0L
        while (it.hasNext) {
          val row = it.next()
          val key = row.getUTF8String(keyOrdinal)
          bloom.putBinary(key.getBytes)
          ranges.add(key)
          if (allNumbers && !KeyedSource.isNoKey(key)) {
            if (key.toLong(number)) numbers.add(ValueOrder.ofInteger(number.value)) else allNumbers = false
          }
          if (pathOrdinal >= 0 && !partitions.contains(row.getUTF8String(pathOrdinal)))
            partitions += row.getUTF8String(pathOrdinal).copy()
          count += 1
        }
        val named = if (pathOrdinal >= 0) Some(partitions.iterator.map(_.toString).toSet) else None
        Iterator(BatchSummary(count, named, bytes(bloom), ranges.result(),
            if (allNumbers) Some(numbers.result()) else None))
      }
    }
    parts.treeAggregate(Option.empty[BatchSummary])((a, b) => Some(a.fold(b)(_ ++ b)),
      (a, b) => a.fold(b)(x => b.map(x ++ _).orElse(a)))
  }

  private def read(bloom: Array[Byte]): BloomFilter = BloomFilter.readFrom(new java.io.ByteArrayInputStream(bloom))

  private def bytes(bloom: BloomFilter): Array[Byte] = {
    val out = new java.io.ByteArrayOutputStream
    bloom.writeTo(out)
    out.toByteArray
  }
}
