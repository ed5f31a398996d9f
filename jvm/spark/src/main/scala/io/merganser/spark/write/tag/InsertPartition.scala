package io.merganser.spark.write.tag

import io.merganser.merge.buffer.Outcome
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Inserted rows whose key was looked up in all partitions: they ignore matches in other partitions than their own.
 *
 * @param pathOf  expression of an inserted row's partition path
 * @param paths   of the slices
 * @param found   ordinal of `WriteRow.Slice` in a row of the lookup
 * @param slice   ordinal of that column in an inserted row
 * @param outcome ordinal of its [[Outcome]]; -1 if it has none
 */
private[spark] final class InsertPartition(
    pathOf: Expression,
    paths: Broadcast[Array[UTF8String]],
    found: Int,
    slice: Int,
    outcome: Int
) extends Serializable {
  @transient private lazy val path = UnsafeProjection.create(Seq(pathOf))

  /** Whether the lookup's match is in the inserted row's partition. */
  def holds(row: InternalRow, inserted: InternalRow): Boolean = {
    val at = row.getInt(found)
    at >= 0 && paths.value(at) == path(inserted).getUTF8String(0)
  }

  /** Marks it as a row whose key is not stored. */
  def isNew(inserted: UnsafeRow): UnsafeRow = {
    inserted.setInt(slice, Tagging.Untagged)
    if (outcome >= 0) inserted.setInt(outcome, Outcome.Inserted)
    inserted
  }
}
