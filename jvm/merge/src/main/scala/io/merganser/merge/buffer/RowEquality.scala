package io.merganser.merge.buffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.types.StructType

/**
 * Whether rows have the same values, as change data compares them. Not thread safe.
 *
 * @param columns those that are compared; they come first in the rows
 */
final class RowEquality(columns: StructType) {
  private[this] lazy val left  = UnsafeProjection.create(columns)
  private[this] lazy val right = UnsafeProjection.create(columns)

  def areEqual(one: InternalRow, other: InternalRow): Boolean = (one eq other) || left(one).equals(right(other))
}
