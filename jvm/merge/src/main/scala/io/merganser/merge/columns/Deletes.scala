package io.merganser.merge.columns

import io.merganser.merge.Version
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.StructType

import scala.collection.mutable

/**
 * Merges a row with a delete that has an ordering value. Each part of the row, the columns without a group first and
 * then each group, has a policy, and a clock by which the delete is late-arriving or not. A delete is none of a group's
 * if it has no value in the group's ordering fields.
 *
 * Not thread safe.
 *
 * @param policies of each part
 * @param clocks   of each part
 * @param partOf   the part of each column
 * @param fixed    whether a column is the row's even where its part is reset: what identifies the row or marks deletes
 * @param metadata whether a column states when and where a row was written
 */
private[columns] final class Deletes(
    schema: StructType,
    policies: Array[DeletePolicy],
    clocks: Array[Clock],
    partOf: Array[Int],
    fixed: Array[Boolean],
    metadata: Array[Boolean]
) {
  private[this] val joined = new JoinedRow
  private[this] val resets = mutable.HashMap.empty[(Int, Int), UnsafeProjection]

  /** @param older a row; @param newer the delete, which is the result where the row is removed */
  def merge(older: Version, newer: Version): Version = {
    val concerned =
      clocks.indices.filter(i => (i == 0 || clocks(i).hasValue(newer.row)) && !clocks(i).isLate(older.row, newer.row))
    if (concerned.exists(policies(_) == DeletePolicy.RemoveRow)) newer
    else {
      val parts = concerned.filter(policies(_) == DeletePolicy.ResetGroup)
      if (parts.isEmpty) older
      else {
        val width = older.row.numFields
        val reset = resets.getOrElseUpdate((parts.map(1 << _).sum, width), made(parts.toSet, width))
        // Its own row is the next one's argument where a key has several deletes.
        new Version().set(reset(joined(older.row, newer.row)).copy(), isDelete = false, isUnconditional = false)
      }
    }
  }

  private def made(parts: Set[Int], width: Int): UnsafeProjection =
    UnsafeProjection.create(schema.indices.map { i =>
      val isReset  = parts(partOf(i))
      val isNewers = metadata(i) || (isReset && clocks(partOf(i)).ordinals.contains(i))
      if (isNewers) BoundReference(width + i, schema(i).dataType, nullable = true)
      else if (isReset && !fixed(i)) Literal(null, schema(i).dataType)
      else BoundReference(i, schema(i).dataType, nullable = true)
    })
}
