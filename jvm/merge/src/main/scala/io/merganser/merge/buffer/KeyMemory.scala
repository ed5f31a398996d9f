// Hot path: one call per version that cannot be combined.
package io.merganser.merge.buffer

import io.merganser.merge.MerganserException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

/**
 * Counts the versions of one key that are in memory because they cannot be combined before the stored row is known.
 *
 * @param limitBytes memory that the versions of one key may take, in bytes
 */
private[merganser] final class KeyMemory(limitBytes: Long = KeyMemory.LimitBytes) {
  private[this] var count = 0L
  private[this] var bytes = 0L

  /** Begins with the next key. */
  def clear(): Unit = {
    count = 0
    bytes = 0
  }

  /** @throws MerganserException KEY_VERSIONS_TOO_LARGE */
  def add(key: UTF8String, row: InternalRow): Unit = {
    count += 1
    bytes += RowSize.of(row)
    if (bytes > limitBytes)
      throw MerganserException("KEY_VERSIONS_TOO_LARGE", "key" -> key, "count" -> count, "bytes" -> bytes,
        "limit" -> limitBytes)
  }
}

private[merganser] object KeyMemory {

  /** Half of this process's memory: other tasks need some too, and a named error is better than a dead process. */
  val LimitBytes: Long = Runtime.getRuntime.maxMemory / 2
}
