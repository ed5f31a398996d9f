package io.merganser.merge.buffer

import io.merganser.merge.RowLayout
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow

/** Sorts the stored rows of a file that is not in key order. */
object SortedRows {

  /**
   * Rows in ascending order of their key's unsigned bytes; rows of one key keep their order. In a Spark task its memory
   * manager spills them to local disk; outside one they are all in memory.
   */
  def byKey(rows: Iterator[InternalRow], layout: RowLayout): Iterator[InternalRow] =
    if (TaskContext.get() != null) SortedSpill.sortByKey(rows, layout)
    else rows.map(_.copy()).toArray.sortWith((a, b) => layout.key(a).compareTo(layout.key(b)) < 0).iterator
}
