package io.merganser.spark.capture

import io.merganser.merge.MerganserException
import io.merganser.spark.capture.EventBatch._
import io.merganser.spark.capture.EventKind._
import io.merganser.spark.capture.Expressions._
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.WriteResult
import io.merganser.table.options.Options
import io.merganser.table.settings.WriteConfig
import org.apache.spark.sql.{Column, DataFrame, Row, SparkSession}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types._

/**
 * What one batch of change events did to a table. Every event is one of applied, skipped and quarantined.
 *
 * @param preset      name of the preset; None for rows with keys and a sequence
 * @param upserts     events that insert or update a row
 * @param deletes     events that delete a row
 * @param truncates   events that delete all rows up to them
 * @param keyChanges  updates that changed the key
 * @param skipped     events without rows, by what they are
 * @param quarantined events that were written to the quarantine, by the reason
 * @param quarantine  path of the quarantine; None if there was nothing to write to it
 * @param commit      what the write changed; None if no event had a row
 */
final case class AppliedChanges(
    preset: Option[String],
    events: Long,
    upserts: Long,
    deletes: Long,
    truncates: Long,
    keyChanges: Long,
    skipped: Map[String, Long],
    quarantined: Map[String, Long],
    quarantine: Option[String],
    commit: Option[WriteResult]
)

/** One batch of changes: read, checked, counted, and written as one upsert, in which the table's rule decides. */
object ApplyChanges {

  /**
   * Applies the events of a frame.
   *
   * @throws MerganserException EVENTS_REFUSED: events cannot be applied, and there is no quarantine; nothing was
   *                            written; and the other CHANGES_… conditions
   */
  def apply(session: SparkSession, path: String, frame: DataFrame, spec: ChangeSpec): AppliedChanges = {
    val checked = spec.checked
    val target  = ChangeTarget.of(OpenTable.load(session, path), checked)
    new ApplyChanges(session, path, target, checked).of(frame)
  }
}

private final class ApplyChanges(session: SparkSession, path: String, target: ChangeTarget, spec: ChangeSpec) {
  private def of(frame: DataFrame): AppliedChanges = {
    val source    = new EventSource(EventBatch.prepared(frame, spec), spec.preset, target.keys, target.sequence)
    val persisted = new Persisted(session)
    try {
      val (batch, tally) = source.read { events =>
        val read = EventBatch.read(events, target, spec, session.conf.getOption(Options.FrameEvolution.key))
        val kept = read.copy(events = persisted(read.events))
        (kept, Tally.of(kept.events))
      }
      if (tally.lacking.isEmpty) applied(batch, tally, isComplete = true)
      else {
        val unavailable = new Unavailable(session, target, tally.lacking, persisted)
        val resolved    = persisted(unavailable.resolved(batch.events))
        applied(batch.copy(events = resolved), Tally.of(resolved), isComplete = false)
      }
    } finally persisted.release()
  }

  /** @param isComplete whether no event lacks a value */
  private def applied(batch: EventBatch, tally: Tally, isComplete: Boolean): AppliedChanges = {
    requireOneSource(tally.sources)
    val refused = tally.counts(Refused)
    if (refused.nonEmpty) {
      val rejected = withPlaces(batch)
      if (spec.quarantine.isEmpty) throw Quarantine.refused(path, rejected, refused)
      Quarantine.write(session, path, rejected, spec)
    }
    val commit =
      if (Seq(Upsert, Delete, Truncate).forall(tally.count(_) == 0)) None
      else {
        val rows    = rowsOf(batch, tally, isComplete)
        val options = WriteConfig.ofCall(missingColumns(batch) ++ spec.options, "upsert")
        Some(FrameWrite.append(session, OpenTable.load(session, path), options, rows))
      }
    AppliedChanges(
      preset = Some(spec.preset.name).filter(_.nonEmpty),
      events = tally.events,
      upserts = tally.count(Upsert),
      deletes = tally.count(Delete),
      truncates = tally.count(Truncate),
      keyChanges = tally.moved,
      skipped = tally.counts(Skip).toMap,
      quarantined = refused.toMap,
      quarantine = spec.quarantine.filter(_ => refused.nonEmpty),
      commit = commit
    )
  }

  /** The refused events, with the places of malformed values. */
  private def withPlaces(batch: EventBatch): DataFrame = {
    val rejected  = batch.events.where(col(Kind).startsWith(Refused))
    val isUnnamed = col(Kind) === s"${Refused}VALUE_MALFORMED" && col(Detail).isNull
    if (batch.places.isEmpty || rejected.where(isUnnamed).isEmpty) rejected
    else rejected.withColumn(Detail,
      when(isUnnamed, JsonEvents.malformedPlaces(col(Event), batch.places, spec.preset)).otherwise(col(Detail)))
  }

  /** The rows that are written: the new ones, and deletes as rows that are marked, in the order of the events. */
  private def rowsOf(batch: EventBatch, tally: Tally, isComplete: Boolean): DataFrame = {
    val events = batch.events.where(col(Kind).isin(Upsert, Delete))
    val own = batch.columns.map(column => column -> named(column)) ++
      Seq(Parsed.Deleted -> (col(Kind) === Delete), Arrival -> (col(Arrival) * 2 + 1))
    val rows =
      if (tally.moved == 0) events.select(own.map { case (name, value) => value.as(name) }: _*)
      else {
        // The old row is deleted just before the new one is written: at equal positions the order of arrival decides.
        val gone = batch.columns.map(column => column -> oldValue(batch, column)) ++
          Seq(Parsed.Deleted -> lit(true), Arrival -> (col(Arrival) * 2))
        val each = when(col(OldKey).isNull, array(record(own))).otherwise(array(record(gone), record(own)))
        events.select(explode(each).as("row")).select("row.*")
      }
    val left = if (tally.count(Truncate) == 0) rows else afterTruncate(rows, lastTruncate(batch.events))
    val ordered =
      if (!target.nullsAreMissing && (isComplete || !target.fills)) left // each version has all values
      else left.repartition(target.keys.map(at): _*).sortWithinPartitions(target.ordering.map(at) :+ col(Arrival): _*)
    ordered.drop(Arrival)
  }

  private def oldValue(batch: EventBatch, column: String): Column =
    if (target.keys.exists(key => spelled(batch.columns, key).contains(column))) col(OldKey).getField(column)
    else if (target.ordering.map(top).contains(column)) named(column)
    else nothing(batch.events.schema(column).dataType)

  private def lastTruncate(events: DataFrame): Row = {
    val position = struct(target.ordering.map(field => at(field).as(field)) :+ col(Arrival): _*)
    events.where(col(Kind) === Truncate).agg(max(position)).head().getStruct(0)
  }

  /** Leaves the rows after a truncate, and deletes what is stored as of it: the rule keeps what is newer. */
  private def afterTruncate(rows: DataFrame, last: Row): DataFrame = {
    val point = target.ordering.zipWithIndex.map { case (field, number) =>
      field -> literal(last.get(number), rows.schema(field).dataType)
    }
    // At equal positions the order of arrival decides: Canal has many events of one second.
    val arrival = last.getLong(target.ordering.size)
    val own = record(target.ordering.map(field => field -> named(field)) :+
      (Arrival -> call_function("div", col(Arrival), lit(2L))))
    val later  = rows.where(own > record(point :+ (Arrival -> lit(arrival))))
    val stored = target.keys ++ target.partitions
    val gone = rows.schema.map { field =>
      val value = point.toMap.getOrElse(field.name,
        if (field.name == Parsed.Deleted) lit(true)
        else if (stored.contains(field.name)) named(field.name).cast(field.dataType)
        else nothing(field.dataType))
      value.as(field.name)
    }
    session.read.format("merganser").load(path).select(gone: _*).unionByName(later)
  }

  private def literal(value: Any, dataType: DataType): Column = lit(value).cast(dataType)

  /** Columns that are not applied stay as they are stored; a row of a tool's event has all others. */
  private def missingColumns(batch: EventBatch): Map[String, String] = {
    val excludes = spec.only.isDefined || spec.except.nonEmpty
    val lacks    = target.schema.fieldNames.exists(column => !batch.columns.exists(_.equalsIgnoreCase(column)))
    if (lacks && (excludes || !spec.preset.isRows)) Map(Options.MissingColumnsOption.key -> "keep") else Map.empty
  }

  private def requireOneSource(tables: Seq[String]): Unit =
    if (tables.size > 1)
      throw MerganserException("CHANGES_OF_SEVERAL_TABLES", "count" -> tables.size,
        "tables" -> tables.take(5).mkString(", "), "first" -> tables.head)
}
