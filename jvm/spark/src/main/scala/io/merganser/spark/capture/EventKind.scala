package io.merganser.spark.capture

/** What an event is, as the `kind` of a preset has it: one of these, or a prefix with what is skipped or the reason. */
private[capture] object EventKind {
  val Upsert   = "upsert"
  val Delete   = "delete"
  val Truncate = "truncate"

  /** In front of what an event without a row is, such as `heartbeat`. */
  val Skip = "skip:"

  /** In front of a [[Reason]]. */
  val Refused = "refused:"
}

/** Reasons for which an event cannot be applied, and what each means for the user. */
object Reason {
  val Meanings: Map[String, String] = Map(
    "JSON_MALFORMED" -> "the event is not a JSON object",
    "JSON_TRAILING" -> "something follows the event's JSON object, such as a second one: give one event per line",
    "VALUE_MALFORMED" -> ("a value does not fit the type of its column. If that type has changed at the source, and " +
      "the table's cannot be widened to it, choose a wider one by columns={column: type}"),
    "VALUE_UNAVAILABLE" -> ("the event lacks the value of a column (an unchanged large value), and there is no row " +
      "to take it from: neither a stored one nor, for a row with a new key, the one of its old key in the same " +
      "batch. Such a column must be a string or binary of a table that Table.create_for_changes(...) created, or the " +
      "source must send it (REPLICA IDENTITY FULL)"),
    "ENVELOPE_UNKNOWN" -> "the event lacks fields of the preset",
    "OPERATION_UNKNOWN" -> "the preset does not know the operation",
    "ROW_MISSING" -> "the event inserts or updates, but contains no new row",
    "KEY_MISSING" -> "the event has no value of a record key column",
    "TOMBSTONE" -> ("the event has no value. If the connector also sends each delete with its row " +
      "(delete.tombstone.handling.mode=rewrite), skip it by preset=presets.named(...).configured(tombstones='skip'); " +
      "else the delete has no order, so let it send them so"),
    "ORDERING_MISSING" -> "the event has no value of an ordering field"
  )
}
