package io.merganser.merge.payload

import io.merganser.merge._

/**
 * Changes of a PostgreSQL database: the larger log sequence number wins, deletes too; on a tie, the newer version. The
 * missing strings and bytes of a newer version that wins are filled from the stored row; a stored row that wins is not
 * filled. Inside a batch whole rows compete.
 *
 * Laws: idempotent.
 */
case object PostgresDebezium extends ClassicPayload {
  override val fillsColumns: Boolean = true

  override def orderingFields(table: Seq[String]): Seq[String] = Seq("_event_lsn")

  override val markers: Seq[DeleteMarker] = Debezium.markers

  override def rule(layout: RowLayout, commitMetadataColumns: Seq[String]): MergeRule = {
    val order   = new OrderingComparator(layout)
    val missing = MissingValues.Marked(Debezium.Unavailable)
    val fills   = FillMissingRule.byOrder(layout, order, missing, commitMetadataColumns, fillsFromLateArriving = false)
    new BatchRule(fills, new EventTimeRule(order))
  }
}
