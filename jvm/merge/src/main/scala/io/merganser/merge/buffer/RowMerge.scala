// Hot path: one call per row.
package io.merganser.merge.buffer

import io.merganser.merge.{MergeRule, Version}
import org.apache.spark.sql.catalyst.InternalRow

/** The merge of one stored row with one version at a time, for whoever has both at hand. */
final class RowMerge(rule: MergeRule) extends MergeIterator(rule) {

  /** Leaves what becomes of the stored row in [[outcome]] and [[row]]. */
  def merge(stored: InternalRow, version: Version): Unit = meet(stored, version, again = false)

  /** There is no other key. */
  override def next(): Boolean = false
}
