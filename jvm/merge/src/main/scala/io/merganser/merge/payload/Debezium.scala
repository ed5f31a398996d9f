package io.merganser.merge.payload

import io.merganser.merge.DeleteMarker

/** What the change events of all Debezium connectors have in common. */
private[merganser] object Debezium {
  val markers: Seq[DeleteMarker] = Seq(DeleteMarker("_change_operation_type", "d"))

  /** Placeholder for a large value that did not change and was not sent. */
  val Unavailable = "__debezium_unavailable_value"
}
