package io.merganser.merge.payload

import io.merganser.merge._

/**
 * Changes of a PostgreSQL database: the larger log sequence number wins, deletes too; on a tie, the newer version. A
 * version that wins takes the stored values of the texts and bytes that were not sent; one that stays takes nothing from
 * a late one. Inside a batch whole rows compete.
 *
 * Laws: idempotent.
 */
case object PostgresDebezium extends ClassicPayload {
  override val fillsColumns: Boolean = true

  override def orderingFields(table: Seq[String]): Seq[String] = Seq("_event_lsn")

  override val markers: Seq[DeleteMarker] = Debezium.markers

  override def rule(layout: RowLayout, commitMetadataColumns: Seq[String]): MergeRule = {
    val order = new OrderingComparator(layout)
    val fills = FillMissingRule.byOrder(layout, order, MissingValues.Marked(Debezium.Unavailable), commitMetadataColumns, fillsLate = false)
    new BatchRule(fills, new EventTimeRule(order))
  }
}
