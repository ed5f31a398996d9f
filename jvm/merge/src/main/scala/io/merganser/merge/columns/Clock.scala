// Hot path: one call per version.
package io.merganser.merge.columns

import io.merganser.merge.{OrderingComparator, RowLayout, Version}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

/** Finds late-arriving versions by the ordering fields of a layout; none is without them. */
private[columns] final class Clock(layout: RowLayout) extends Serializable {
  private[this] val order = OrderingComparator.of(layout)

  /** Positions of the columns that hold the ordering fields. */
  val ordinals: Array[Int] = layout.orderingOrdinals

  def isOrdered: Boolean = order != null

  def isLate(older: InternalRow, newer: InternalRow): Boolean = order != null && order.compare(newer, older) < 0

  /** An ordering field that one of them does not provide is the other's. */
  def isLate(older: Version, newer: Version): Boolean =
    if (older.provided == null && newer.provided == null) isLate(older.row, newer.row)
    else order != null && isLatePartial(older, newer)

  /** Whether the row has an ordering value that is not null. */
  def hasValue(row: InternalRow): Boolean = layout.ordering.exists(_.valueIn(row) != null)

  private def isLatePartial(older: Version, newer: Version): Boolean =
    if (ordinals.forall(has(older, _)) && ordinals.forall(has(newer, _))) isLate(older.row, newer.row)
    else if (!ordinals.exists(i => has(older, i) && has(newer, i))) false
    else isLate(completed(older, newer), completed(newer, older))

  private def has(version: Version, i: Int): Boolean = version.provided == null || version.provided(i)

  private def completed(version: Version, other: Version): InternalRow = {
    val row = new GenericInternalRow(layout.schema.length)
    ordinals.foreach { i =>
      val from = if (has(version, i)) version.row else other.row
      row.update(i, RowLayout.valueAt(from, i, layout.schema(i).dataType))
    }
    row
  }
}
