package io.merganser.table.rule

import io.merganser.merge.DeleteMarker
import io.merganser.merge.payload._
import io.merganser.table.properties.TableConfig

/** The legacy payload classes that have a built-in rule, by the class names that jobs configure. */
object PayloadClasses {
  private val Packages =
    Seq("org.apache.hudi.common.model.", "org.apache.hudi.common.model.debezium.", "org.apache.hudi.payload.")

  private val byName: Map[String, ClassicPayload] = Map(
    "OverwriteWithLatestAvroPayload" -> OverwriteWithLatest,
    "DefaultHoodieRecordPayload" -> EventTime,
    "EventTimeAvroPayload" -> EventTime,
    "OverwriteNonDefaultsWithLatestAvroPayload" -> OverwriteNonDefaults,
    "PartialUpdateAvroPayload" -> PartialUpdate,
    "AWSDmsAvroPayload" -> AwsDms,
    "MySqlDebeziumAvroPayload" -> MySqlDebezium,
    "PostgresDebeziumAvroPayload" -> PostgresDebezium,
    "HoodieAvroPayload" -> CommitOrder,
    "ReverseOrderHoodieRecordPayload" -> ReverseOrder
  )

  /** The setting to use instead of a class of Hudi's own that is no merge rule, or whose records are not a table's. */
  private val insteadOf: Map[String, String] = {
    val internal = "is used by Hudi inside its own operations only; a table's rows are merged by "
    val newest   = "OverwriteWithLatestAvroPayload, or merge mode COMMIT_TIME_ORDERING"
    Map(
      "ExpressionPayload" ->
        "belongs to Hudi's SQL statements; in Merganser, MERGE, UPDATE and DELETE need no payload class",
      "RewriteAvroPayload" -> s"$internal$newest",
      "BootstrapRecordPayload" -> s"$internal$newest",
      "EmptyHoodieRecordPayload" ->
        "deletes every row; to delete, set hoodie.datasource.write.operation to delete",
      "EmptyHoodieRecordPayloadWithPartition" ->
        "deletes every row; to delete, set hoodie.datasource.write.operation to delete",
      "HoodieJsonPayload" ->
        s"takes JSON strings instead of columns; parse them with from_json, and use $newest",
      "HoodieMetadataPayload" -> "is for the rows of Hudi's metadata table; use another class for your own tables",
      "BaseAvroPayload" -> s"is abstract; use one of its subclasses, such as $newest",
      "AbstractDebeziumAvroPayload" ->
        "is abstract; use MySqlDebeziumAvroPayload or PostgresDebeziumAvroPayload"
    )
  }

  /** @param className as configured, in the package of this or an earlier Hudi release */
  def named(className: String): Option[ClassicPayload] = {
    val at = className.lastIndexOf('.') + 1
    byName.get(className.drop(at)).filter(_ => Packages.contains(className.take(at)))
  }

  /** Why a class of Hudi's own cannot be a table's payload class, and what to use instead; None for other classes. */
  def refused(className: String): Option[String] =
    if (className.startsWith("org.apache.")) insteadOf.get(className.split('.').last) else None

  /** What marks a delete in the table's rows: its properties, and its payload class where the merge mode is CUSTOM. */
  def markers(table: TableConfig): Seq[DeleteMarker] = {
    val stored = for {
      field <- table.mergeProperties.get("hoodie.payload.delete.field")
      value <- table.mergeProperties.get("hoodie.payload.delete.marker")
    } yield DeleteMarker(field, value)
    val ofPayload =
      if (MergeMode.of(table) == MergeMode.Custom) table.payloadClass.flatMap(named).toSeq.flatMap(_.markers) else Nil
    stored.toSeq ++ ofPayload
  }
}
