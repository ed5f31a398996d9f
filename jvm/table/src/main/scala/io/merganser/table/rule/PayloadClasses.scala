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
    "PostgresDebeziumAvroPayload" -> PostgresDebezium
  )

  /** @param className as configured, in the package of this or an earlier Hudi release */
  def named(className: String): Option[ClassicPayload] = {
    val at = className.lastIndexOf('.') + 1
    byName.get(className.drop(at)).filter(_ => Packages.contains(className.take(at)))
  }

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
