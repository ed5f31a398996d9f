// Hot path: one call per row.
package io.merganser.table.base

import io.merganser.table.index.BloomFilter
import org.apache.spark.unsafe.types.ByteArray

import java.nio.charset.StandardCharsets.UTF_8

/**
 * Tracks the record keys written to a file: smallest, largest, whether they are sorted, and distinct, and a bloom
 * filter.
 *
 * @param ordinal  index of the record key among the columns; [[KeyTracker.Apart]] if keys are not among them but are
 *                 passed to `add`, another negative number if there are none
 * @param fileName the file's own name, the footer entry for sorted rows; None: no entry
 */
private[base] final class KeyTracker(val ordinal: Int, fileName: Option[String], bloom: Option[BloomFilter]) {
  private[this] val filter           = bloom.orNull
  private[this] var min: Array[Byte] = _
  private[this] var max: Array[Byte] = _
  private[this] var inOrder          = true
  private[this] var isRepeated       = false
  private[this] var count            = 0L

  def isTracking: Boolean = ordinal >= 0 || ordinal == KeyTracker.Apart

  /** True if every key so far was at least as large as the previous one, as unsigned UTF-8 bytes. */
  def isSorted: Boolean = isTracking && inOrder

  /** True if every key so far was larger than the previous one. */
  def isDistinct: Boolean = isSorted && !isRepeated

  def minKey: Option[String] = Option(min).map(new String(_, UTF_8))

  def maxKey: Option[String] = Option(max).map(new String(_, UTF_8))

  /** @param key not copied, so it must not change afterwards */
  def add(key: Array[Byte]): Unit = {
    if (max == null) {
      min = key
      max = key
    } else {
      val compared = ByteArray.compareBinary(key, max)
      if (compared > 0) max = key
      else if (compared == 0) isRepeated = true
      else {
        inOrder = false
        if (ByteArray.compareBinary(key, min) < 0) min = key
      }
    }
    count += 1
    if (filter != null) filter.add(key)
  }

  /** Includes a key that has no row in the range and the bloom filter. To be called after the keys of all rows. */
  def cover(key: Array[Byte]): Unit = {
    if (max == null || ByteArray.compareBinary(key, max) > 0) max = key
    if (min == null || ByteArray.compareBinary(key, min) < 0) min = key
    count += 1
    if (filter != null) filter.add(key)
  }

  /** Footer entries for the keys so far. */
  def footer: java.util.Map[String, String] = {
    val entries = new java.util.HashMap[String, String]()
    minKey.foreach(entries.put(BaseFileFooter.MinKey, _))
    maxKey.foreach(entries.put(BaseFileFooter.MaxKey, _))
    if (isSorted) fileName.foreach(entries.put(BaseFileFooter.SortedByKey, _))
    if (isDistinct) fileName.foreach(entries.put(BaseFileFooter.DistinctKeys, _))
    bloom.foreach(filter => entries.put(BaseFileFooter.BloomFilterText, filter.shrunk(count).encode))
    entries
  }
}

private[base] object KeyTracker {

  /** In place of an ordinal. */
  final val Apart = -2

  def of(ordinal: Int, fileName: Option[String], options: BaseFileOptions): KeyTracker =
    new KeyTracker(ordinal, fileName,
      options.bloomFilter.map { case (expectedKeys, rate) => BloomFilter.divisible(expectedKeys, rate) })
}
