// Hot path: one call per row.
package io.merganser.merge.buffer

import io.merganser.merge.{KeyFold, Version}
import org.apache.spark.sql.catalyst.InternalRow

/** Merges one stored row with one version at a time, for callers that have both. */
final class RowMerge(fold: KeyFold) extends MergeIterator(fold) {

  /** Sets [[outcome]] and [[row]]. */
  def merge(stored: InternalRow, version: Version): Unit = merge(stored, version, again = false)

  /** There is no other key. */
  override def next(): Boolean = false
}
