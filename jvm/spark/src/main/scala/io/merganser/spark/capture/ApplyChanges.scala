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
import org.apache.spark.storage.StorageLevel

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

  /** The events of one kind. */
  private final case class Counted(
      kind: String,
      events: Long,
      moved: Long,
      last: Row,
      sources: Seq[String],
      lacking: Seq[String]
  )
}

private final class ApplyChanges(session: SparkSession, path: String, target: ChangeTarget, spec: ChangeSpec) {
  import ApplyChanges._

  private def of(frame: DataFrame): AppliedChanges = {
    val source    = new EventSource(EventBatch.prepared(frame, spec), spec.preset, target.keys, target.sequence)
    val persisted = new Persisted
    try {
      val (batch, counted) = source.read { events =>
        val read = EventBatch.read(events, target, spec, session.conf.getOption(Options.FrameEvolution.key))
        val kept = read.copy(events = persisted(read.events))
        (kept, countsOf(kept.events))
      }
      val lacking = counted.flatMap(_.lacking).distinct.sorted
      if (lacking.isEmpty) applied(batch, counted)
      else {
        val resolved = persisted(new Unavailable(session, target, lacking, persisted).resolved(batch.events))
        applied(batch.copy(events = resolved), countsOf(resolved))
      }
    } finally persisted.release()
  }

  private def applied(batch: EventBatch, counted: Seq[Counted]): AppliedChanges = {
    requireOneSource(counted)
    def count(kind: String) = counted.filter(_.kind == kind).map(_.events).sum
    def counts(kind: String) =
      counted.filter(_.kind.startsWith(kind)).map(one => one.kind.stripPrefix(kind) -> one.events)
        .sortBy(_._1)
    val refused = counts(Refused)
    if (refused.nonEmpty) {
      val rejected = withPlaces(batch)
      if (spec.quarantine.isEmpty) throw Quarantine.refused(path, rejected, refused)
      Quarantine.write(session, path, rejected, spec)
    }
    val moved  = counted.map(_.moved).sum
    val hasRow = counted.exists(one => Set(Upsert, Delete, Truncate)(one.kind))
    val commit =
      if (!hasRow) None
      else {
        val rows    = rowsOf(batch, counted.find(_.kind == Truncate).map(_.last), moved > 0)
        val options = WriteConfig.ofCall(missingColumns(batch) ++ spec.options, "upsert")
        Some(FrameWrite.append(session, OpenTable.load(session, path), options, rows))
      }
    AppliedChanges(
      preset = Some(spec.preset.name).filter(_.nonEmpty),
      events = counted.map(_.events).sum,
      upserts = count(Upsert),
      deletes = count(Delete),
      truncates = count(Truncate),
      keyChanges = moved,
      skipped = counts(Skip).toMap,
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

  /** The events of each kind: their number, how many changed a key, the last position, and what they have. */
  private def countsOf(events: DataFrame): Seq[Counted] = {
    val last = max(struct(target.ordering.map(field => at(field).as(field)) :+ col(Arrival): _*))
    val rows = events.groupBy(Kind).agg(count(lit(1)), count(OldKey), last, collect_set(Source),
      array_distinct(flatten(collect_set(Lacks)))).collect()
    rows.toSeq.map(row =>
      Counted(row.getString(0), row.getLong(1), row.getLong(2), row.getStruct(3), row.getSeq[String](4).toList,
        row.getSeq[String](5).toList))
  }

  /** The rows that are written: the new ones, and deletes as rows that are marked, in the order of the events. */
  private def rowsOf(batch: EventBatch, truncated: Option[Row], moves: Boolean): DataFrame = {
    val events = batch.events.where(col(Kind).isin(Upsert, Delete))
    val own = batch.columns.map(column => column -> named(column)) ++
      Seq(Parsed.Deleted -> (col(Kind) === Delete), Arrival -> (col(Arrival) * 2 + 1))
    val rows =
      if (!moves) events.select(own.map { case (name, value) => value.as(name) }: _*)
      else {
        // The old row is deleted just before the new one is written: at equal positions the order of arrival decides.
        val gone = batch.columns.map(column => column -> oldValue(batch, column)) ++
          Seq(Parsed.Deleted -> lit(true), Arrival -> (col(Arrival) * 2))
        val each = when(col(OldKey).isNull, array(record(own))).otherwise(array(record(gone), record(own)))
        events.select(explode(each).as("row")).select("row.*")
      }
    val left = truncated.fold(rows)(afterTruncate(rows, _))
    val ordered =
      if (!target.needsOrder) left
      else left.repartition(target.keys.map(at): _*).sortWithinPartitions(target.ordering.map(at) :+ col(Arrival): _*)
    ordered.drop(Arrival)
  }

  private def oldValue(batch: EventBatch, column: String): Column =
    if (target.keys.exists(key => spelled(batch.columns, key).contains(column))) col(OldKey).getField(column)
    else if (target.ordering.map(top).contains(column)) named(column)
    else nothing(batch.events.schema(column).dataType)

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

  private def requireOneSource(counted: Seq[Counted]): Unit = {
    val tables = counted.flatMap(_.sources).filter(_.nonEmpty).distinct.sorted
    if (tables.size > 1)
      throw MerganserException("CHANGES_OF_SEVERAL_TABLES", "count" -> tables.size,
        "tables" -> tables.take(5).mkString(", "), "first" -> tables.head)
  }
}

/** Frames that are persisted for as long as a batch is applied. */
private final class Persisted {
  private var frames = List.empty[DataFrame]

  def apply(frame: DataFrame): DataFrame = {
    frames = frame.persist(StorageLevel.MEMORY_AND_DISK) :: frames
    frames.head
  }

  def release(): Unit = frames.foreach(_.unpersist())
}
