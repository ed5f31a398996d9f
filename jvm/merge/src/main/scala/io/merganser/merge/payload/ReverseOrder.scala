package io.merganser.merge.payload

import io.merganser.merge._
import org.apache.spark.sql.catalyst.InternalRow

/**
 * Keeps the version with the smaller ordering value, in a batch and against the stored row; on a tie, the newer one.
 * A version whose ordering value is null loses, as everywhere.
 *
 * Laws: those of event time.
 */
case object ReverseOrder extends ClassicPayload {
  override def rule(layout: RowLayout, commitMetadataColumns: Seq[String]): MergeRule =
    if (layout.orderingOrdinals.isEmpty) new CommitTimeRule
    else new EventTimeRule(new ReversedOrder(new OrderingComparator(layout), layout.ordering))
}

/** The opposite of an order, except for rows that have a null among their ordering values. */
final class ReversedOrder(order: RowOrder, fields: Array[OrderingField]) extends RowOrder {

  override def compare(a: InternalRow, b: InternalRow): Int =
    if (hasNull(a) || hasNull(b)) order.compare(a, b) else order.compare(b, a)

  private def hasNull(row: InternalRow): Boolean = {
    var i = 0
    while (i < fields.length && fields(i).valueIn(row) != null) i += 1
    i < fields.length
  }
}
