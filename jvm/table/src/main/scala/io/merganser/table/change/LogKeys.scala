// Hot path: one call per row.
package io.merganser.table.change

import io.merganser.table.slice.{FileSlice, SliceReader, SliceVersions}
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.sketch.BloomFilter

/**
 * Whether a key may be in some logs: rows of other keys are the same before and after them. Its memory is bounded: up
 * to a number of keys it is exact, and the more keys there are beyond, the more others pass.
 */
private[change] final class LogKeys private (maxExact: Int) extends (UTF8String => Boolean) {
  private[this] val exact               = new java.util.HashSet[UTF8String]
  private[this] var filter: BloomFilter = _

  /** False if other keys may pass. */
  def isExact: Boolean = filter == null

  override def apply(key: UTF8String): Boolean =
    if (filter == null) exact.contains(key) else filter.mightContainBinary(key.getBytes)

  private def add(key: UTF8String): Unit =
    if (filter != null) filter.putBinary(key.getBytes)
    else if (!exact.contains(key)) {
      exact.add(key.copy())
      if (exact.size > maxExact) {
        filter = BloomFilter.create(LogKeys.ExpectedKeys, LogKeys.FilterBits)
        exact.forEach { (added: UTF8String) => filter.putBinary(added.getBytes); () }
        exact.clear()
      }
    }
}

private[change] object LogKeys {

  def of(reader: SliceReader, logs: FileSlice, maxExact: Int): LogKeys = {
    val keys = new LogKeys(maxExact)
    new SliceVersions(reader.input).logKeys(logs)(keys.add)
    keys
  }

  /** Some 10 MB. */
  val MaxExact = 100000

  /** 4 MB of bits: 1 % of other keys pass at 3.5 million keys. */
  private val ExpectedKeys = 3500000L
  private val FilterBits   = 32L << 20
}
