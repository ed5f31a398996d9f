package io.merganser.spark.capture

import io.merganser.merge.MerganserException
import io.merganser.spark.frame.{EmptyTable, FrameWrite}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.source.TableNames
import io.merganser.table.options.Options
import io.merganser.table.settings.WriteConfig
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types.StringType

/** Events that cannot be applied: an error, or rows of a quarantine. */
private[capture] object Quarantine {
  import EventBatch._
  private val Shown = 500

  /**
   * The error for events that cannot be applied, with the first as the example.
   *
   * @param reasons their number by reason
   */
  def refused(path: String, rejected: DataFrame, reasons: Seq[(String, Long)]): MerganserException = {
    val example = rejected.select(Kind, Detail, Event).head()
    val reason  = example.getString(0).stripPrefix(EventKind.Refused)
    val event   = String.valueOf(example.getString(2))
    MerganserException(
      "EVENTS_REFUSED",
      "table" -> path,
      "count" -> reasons.map(_._2).sum,
      "counts" -> reasons.map { case (name, count) => s"$count $name" }.mkString(", "),
      "reason" -> reason,
      "columns" -> Option(example.getString(1)).fold("")(columns => s" (column $columns)"),
      "meaning" -> Reason.Meanings.getOrElse(reason, "the preset refuses it"),
      "event" -> (if (event.length <= Shown) event else event.take(Shown) + "…")
    )
  }

  /** Writes events to the quarantine, which is created if it does not exist. An event is stored once. */
  def write(session: SparkSession, path: String, rejected: DataFrame, spec: ChangeSpec): Unit = {
    // With the names of the fields, since an event or a key may be null.
    val identity = to_json(struct(lit(path).as("table"), col(Kind), col(EventKey), col(Event)))
    val rows = rejected.select(
      sha2(identity, 256).as("event_id"),
      col(Event).as("event"),
      col(EventKey).as("event_key"),
      substring_index(col(Kind), ":", -1).as("reason"),
      col(Detail).cast(StringType).as("columns"),
      lit(path).as("applied_to"),
      lit(spec.preset.name).as("preset"),
      current_timestamp().as("quarantined_at")
    )
    // Of this table: others may share the quarantine, and the application.
    val own = spec.options.get(Options.TransactionApp.key).fold(Map.empty[String, String])(app =>
      spec.options.filter(_._1 == Options.TransactionVersion.key) +
        (Options.TransactionApp.key -> s"$app/quarantine of $path"))
    FrameWrite.append(session, opened(session, spec.quarantine.get, rows), WriteConfig.ofCall(own, "upsert"), rows)
    ()
  }

  private def opened(session: SparkSession, place: String, rows: DataFrame): OpenTable =
    try OpenTable.load(session, TableNames.pathOf(session, place))
    catch {
      case e: MerganserException if Set("TABLE_NOT_FOUND", "PATH_IS_NO_TABLE")(e.condition) =>
        val path = OpenTable.absolute(session, place)
        EmptyTable.create(session, path, rows.schema,
          Map(
            "hoodie.table.name" -> "quarantine", "hoodie.datasource.write.recordkey.field" -> "event_id"))
        OpenTable.load(session, path)
    }
}
