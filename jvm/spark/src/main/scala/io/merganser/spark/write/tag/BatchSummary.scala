package io.merganser.spark.write.tag

import io.merganser.spark.prune.{KeyRanges, ValueOrder}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.merganser.Partitions
import org.apache.spark.unsafe.types.UTF8String

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
    keys: KeyHashes,
    ranges: KeyRanges,
    numbers: Option[KeyRanges]
) {

  def names(partition: String): Boolean = partitions.forall(_.contains(partition))

  /** Whether the batch may have a key; None if that is true of most keys. */
  def mayHaveKey: Option[UTF8String => Boolean] = if (rows <= 4 * KeyHashes.FilterKeys) Some(keys.test) else None

  private def ++(other: BatchSummary): BatchSummary =
    BatchSummary(rows + other.rows, for (a <- partitions; b <- other.partitions) yield a ++ b, keys ++ other.keys,
      ranges ++ other.ranges,
      for (a <- numbers; b <- other.numbers) yield a ++ b)
}

private[write] object BatchSummary {

  /**
   * @param pathOrdinal ordinal of the partition path, or -1
   * @param areNumbers  true if the key is an integer column
   * @return None if there is no row
   */
  def of(rows: RDD[InternalRow], keyOrdinal: Int, pathOrdinal: Int, areNumbers: Boolean): Option[BatchSummary] = {
    val summarize: Iterator[InternalRow] => Iterator[BatchSummary] = { it =>
      if (!it.hasNext) Iterator.empty
      else {
        val keys       = new KeyHashes.Builder
        val ranges     = new KeyRanges.Builder
        val partitions = mutable.HashSet.empty[UTF8String]
        val numbers    = new KeyRanges.Builder
        val number     = new UTF8String.LongWrapper
        var allNumbers = areNumbers
        var count      = 0L
        while (it.hasNext) {
          val row = it.next()
          val key = row.getUTF8String(keyOrdinal)
          keys.add(key)
          ranges.add(key)
          if (allNumbers && !KeyedSource.isNoKey(key)) {
            if (key.toLong(number)) numbers.add(ValueOrder.ofInteger(number.value)) else allNumbers = false
          }
          if (pathOrdinal >= 0 && !partitions.contains(row.getUTF8String(pathOrdinal)))
            partitions += row.getUTF8String(pathOrdinal).copy()
          count += 1
        }
        val named = if (pathOrdinal >= 0) Some(partitions.iterator.map(_.toString).toSet) else None
        Iterator(BatchSummary(count, named, keys.result(), ranges.result(),
            if (allNumbers) Some(numbers.result()) else None))
      }
    }
    Partitions.reduce(rows)(summarize)(_ ++ _)
  }
}
