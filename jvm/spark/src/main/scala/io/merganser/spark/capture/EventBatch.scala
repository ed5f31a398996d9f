package io.merganser.spark.capture

import io.merganser.merge.MerganserException
import io.merganser.spark.capture.EventKind._
import io.merganser.spark.capture.Expressions._
import io.merganser.spark.capture.Parsed._
import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types._

/**
 * The typed rows of a batch of events, each with what is to be done with it.
 *
 * @param events  one row for each event, with the columns that [[EventBatch]] names and the row's
 * @param columns the row's columns that are written
 * @param places  the places of an event's values: see [[Parsed]]
 */
private[capture] final case class EventBatch(events: DataFrame, columns: Seq[String], places: Seq[(String, StructType)])

private[capture] object EventBatch {

  /** The event and its key as strings, where they are refused. */
  val Event    = "__event"
  val EventKey = "__key"
  val Kind     = "__kind"
  val Detail   = "__detail"

  /** The old key, where an update changed it. */
  val OldKey = "__old"

  /** Name of the source's table. */
  val Source = "__of"

  /** Columns whose value the event does not have; null if there is none. */
  val Lacks = "__lacks"

  /** Number of the event in the order of the frame. */
  val Arrival = "__arrival"

  private val Rowless   = "__rowless"
  private val IsLoad    = "__load"
  private val Evolution = "spark.merganser.write.schemaEvolution"

  /** Reads and checks events; nothing is written. */
  def read(source: EventSource#Read, target: ChangeTarget, spec: ChangeSpec, evolution: Option[String]): EventBatch = {
    val known = Known(target.schema, spec.types, only(target, spec), omitted(target, spec), spec.sourceTable,
      fixed = target.required ++ target.sequence,
      evolution = spec.options.get(Evolution).orElse(evolution).getOrElse("true").toLowerCase(java.util.Locale.ROOT))
    new EventReading(source.parsed(known), target, spec).batch
  }

  /** Rows with the kind of each, from the conditions on them; of a preset whose loads a condition finds, with these. */
  def prepared(frame: DataFrame, spec: ChangeSpec): DataFrame = {
    def is(condition: Option[Column]) = condition.getOrElse(lit(false))
    val rows =
      if (!spec.preset.isRows) frame
      else frame.withColumn(Preset.RowKind,
        when(is(spec.truncates), Truncate).when(is(spec.deletes), Delete).otherwise(Upsert))
    spec.preset.loads.fold(rows)(condition => rows.withColumn(Preset.Load, expr(condition)))
  }

  private def only(target: ChangeTarget, spec: ChangeSpec): Option[Seq[String]] = spec.only.map(_ ++ target.required)

  /** Columns that are read and not written; the rule needs keys and ordering fields. */
  private def omitted(target: ChangeTarget, spec: ChangeSpec): Seq[String] =
    spec.except.filterNot((target.required ++ target.sequence).toSet)

  /** The expressions of one batch. */
  private final class EventReading(read: Parsed, target: ChangeTarget, spec: ChangeSpec) {
    private val preset = spec.preset
    private val values = read.columns.toMap
    private val images = Seq(After, Before, Keys).flatMap { image =>
      EventSource.fieldOf(read.frame.schema, image).collect { case row: StructType => image -> row.fieldNames.toSet }
    }.toMap

    def batch: EventBatch = {
      val row    = rowColumns
      val checks = valueChecks
      val kinds  = read.frame.withColumn(Kind, kind)
      val loaded = if (preset.beforeSequence.isEmpty) kinds else kinds.withColumn(IsLoad, isLoad)
      val typed = loaded.select(Seq(col(Raw), col(Key), col(Kind), col(After).isNull.as(Rowless),
          sourceName.as(Source), oldKey.as(OldKey), lacks.as(Lacks)) ++
          row.map { case (column, value) => value.as(column) } ++
          checks.map { case (at, _, check) => check.as(s"__check$at") }: _*)
      val failed = checks.map { case (at, column, _) => when(col(s"__check$at").isNotNull, column) }
      val detail = if (failed.isEmpty) nothing(StringType) else nullif(concat_ws(", ", failed: _*), lit(""))
      val judged = conditioned(typed).withColumn(Detail, detail)
        .withColumn(Kind, refined(checks.map { case (at, _, _) => col(s"__check$at") }))
      val isShown = col(Kind).startsWith(Refused) || col(Lacks).isNotNull
      val isRow   = col(Kind).isin(Upsert, Delete)
      val events = judged.select(Seq(
          when(isShown, col(Raw)).as(Event),
          when(isShown, col(Key)).as(EventKey),
          col(Kind),
          when(isShown, col(Detail)).as(Detail),
          when(isRow, col(OldKey)).as(OldKey),
          col(Source),
          when(col(Kind) === Upsert, col(Lacks)).as(Lacks),
          monotonically_increasing_id().as(Arrival)
        ) ++ row.map { case (column, _) => named(column) }: _*)
      EventBatch(events, row.map(_._1), read.places)
    }

    private def rowColumns: Seq[(String, Column)] = {
      def put(row: Seq[(String, Column)], column: String, value: Column) =
        if (row.exists(_._1 == column)) row.map(one => if (one._1 == column) column -> value else one)
        else row :+ (column -> value)
      def has(row: Seq[(String, Column)], column: String) = spelled(row.map(_._1), column).isDefined
      val own = read.columns.map { case (column, _) => column -> valueOf(column) }
      val filled = target.eventColumns.foldLeft(own) { (row, event) =>
        put(row, event.name, expr(event.sql.replace("{load}", IsLoad)).cast(event.dataType))
      }
      val sequenced = target.sequenced.foldLeft(filled) { case (row, (field, column)) =>
        put(row, field, sequenceValue(column))
      }
      // Those of which these events have no value at all.
      val complete = (target.keys ++ target.ordering).map(top).foldLeft(sequenced) { (row, column) =>
        if (has(row, column)) row
        else put(row, column, nothing(field(target.schema, column).fold[DataType](StringType)(_.dataType)))
      }
      // Columns that no event of the batch has are null, and not what is stored.
      val absent = if (!preset.omitsNulls) Nil
      else target.schema.filter(one =>
        !has(complete, one.name) && only(target, spec).forall(_.contains(one.name)) &&
          !omitted(target, spec).contains(one.name))
      complete ++ absent.map(one => one.name -> nothing(one.dataType))
    }

    private def kind: Column = {
      val tombstone = if (preset.tombstones == "refuse") s"${Refused}TOMBSTONE" else s"${Skip}tombstone"
      val other =
        for { table <- spec.sourceTable; _ <- preset.sourceTable }
        // Before its values are judged: those of other tables have other types.
        yield (JsonEvents.isOtherTable(preset, table) && col(IsObject)) -> lit(s"${Skip}other_table")
      // The second event may be of the table, whatever the first one is of.
      val trailing = Seq(col(Trailing) -> lit(s"${Refused}JSON_TRAILING"))
      val corrupt =
        col(Corrupt) -> when(col(IsObject), s"${Refused}VALUE_MALFORMED").otherwise(s"${Refused}JSON_MALFORMED")
      ((trailing ++ other) :+ corrupt).foldLeft(when(col(Absent), tombstone)) { case (cases, (condition, result)) =>
        cases.when(condition, result)
      }.otherwise(expr(preset.kind))
    }

    private def sourceName: Column = preset.sourceTable.fold(nothing(StringType))(table =>
      when(col(Kind).isin(Upsert, Delete, Truncate), expr(table)))

    /** The value of a column: of the new row or, in a delete, of whichever row or key has it. */
    private def valueOf(column: String): Column = {
      val own = in(After, column)
      val value = lacking(column).fold(own) { lacks =>
        // The old row has the value that an update left alone, if the source sends old rows whole.
        val kept = if (has(Before, column)) when(!holds(lacks(given(Before, column))), in(Before, column))
        else nothing(values(column).target)
        when(lacks(given(After, column)), if (target.nullsAreMissing) kept else coalesce(kept, own)).otherwise(own)
      }
      val deleted = if (needed(column)) any(column) else nothing(values(column).target)
      when(col(Kind) === Delete, deleted).otherwise(value)
    }

    /** The condition under which the event does not have a value that the rule can take from another version. */
    private def lacking(column: String): Option[Column => Column] = {
      val value = values(column)
      target.placeholder.flatMap { placeholder =>
        if (target.nullsAreMissing) value.lacking(placeholder).orElse(value.isPlaceholder(placeholder))
        else if (target.fills && value.lacking(placeholder).isEmpty) value.isPlaceholder(placeholder)
        else None
      }.filter(_ => has(After, column))
    }

    /** The columns of which the event has neither the new nor the old value. */
    private def lacks: Column = present(
      for { (column, _) <- read.columns; lacks <- lacking(column).toSeq } yield {
        val isOld = if (!has(Before, column)) lit(false)
        else given(Before, column).isNotNull && !holds(lacks(given(Before, column)))
        when(lacks(given(After, column)) && !isOld, column)
      },
      StringType
    )

    /** An ordering value that is a column; where a load has none, it is the smallest. */
    private def sequenceValue(column: String): Column = {
      val value = sequenceColumn(column)
      val smallest = values.get(column).filter(_ => preset.beforeSequence.nonEmpty).map(_.target).collect {
        case _: StringType                                    => lit("")
        case kind @ (_: DecimalType | LongType | IntegerType) => lit(0).cast(kind)
      }
      smallest.fold(value)(least => when(col(IsLoad), coalesce(value, least)).otherwise(value))
    }

    /** A column of `sequence_by`: of the frame, or of the rows. */
    private def sequenceColumn(column: String): Column =
      if (read.ofFrame.exists(_._1 == column)) named(Beside + column)
      else if (values.contains(column)) any(column)
      else throw MerganserException("CHANGES_SEQUENCE_UNKNOWN", "column" -> column,
        "columns" -> read.columns.map(_._1).mkString(", "))

    /** Whether a row is of a full load. */
    private def isLoad: Column = {
      val operation = at(s"$Header.Op")
      val empty = target.sequence.map(column => nullif(sequenceColumn(column).cast(StringType), lit("")).isNull)
        .reduceOption(_ && _).getOrElse(lit(false))
      coalesce(at(s"$Header.${Preset.Load}"),
        nullif(operation, lit("")).isNull || (operation === "I" && empty))
    }

    private def any(column: String): Column =
      Seq(After, Before, Keys).filter(has(_, column)).map(in(_, column)) match {
        case Nil   => nothing(values(column).target)
        case found => coalesce(found: _*)
      }

    /** Columns that a delete must have. */
    private lazy val needed: Set[String] = {
      val columns = read.columns.map(_._1)
      (target.required ++ target.sequence.map(top)).map(column => spelled(columns, column).getOrElse(column)).toSet
    }

    private def given(image: String, column: String): Column = col(image).getField(column)

    /** The converted value of an image. */
    private def in(image: String, column: String): Column = {
      val value = values(column)
      if (has(image, column)) value.convert(given(image, column)).cast(value.target) else nothing(value.target)
    }

    private def has(image: String, column: String): Boolean = images.get(image).exists(_(column))

    /** The key of the old row, where it differs from that of the new one. */
    private def oldKey: Column = {
      val keys = target.keys.flatMap(spelled(read.columns.map(_._1), _))
      if (!read.hasBefore || keys.size < target.keys.size || !keys.forall(has(Before, _))) nothing(StringType)
      else {
        val changed = anyOf(keys.map(key => in(Before, key) =!= in(After, key)))
        val isWhole = if (preset.beforeIsPartial) lit(true) else keys.map(in(Before, _).isNotNull).reduce(_ && _)
        val old = keys.map(key =>
          key -> (if (preset.beforeIsPartial) coalesce(in(Before, key), in(After, key)) else in(Before, key)))
        when(col(Kind) === Upsert && changed && isWhole, record(old))
      }
    }

    /** Number, column and reason for which the value of each column is refused; null if it is not. */
    private def valueChecks: Seq[(Int, String, Column)] =
      for {
        ((column, value), at) <- read.columns.zipWithIndex if has(After, column)
        given = this.given(After, column)
        cases = unavailable(value, given).map(_ -> "VALUE_UNAVAILABLE") ++
          (if (value.isConverted) Some(malformed(value, given) -> "VALUE_MALFORMED") else None)
        if cases.nonEmpty
      } yield (at, column,
        cases.foldLeft(when(col(Kind) =!= Upsert, lit(null))) { case (found, (condition, reason)) =>
          found.when(condition, reason)
        })

    private def unavailable(value: Value, given: Column): Option[Column] =
      target.placeholder.filterNot(_ => target.nullsAreMissing).flatMap { placeholder =>
        value.lacking(placeholder).orElse(if (target.fills) None else value.isPlaceholder(placeholder))
      }.map(_(given))

    private def malformed(value: Value, given: Column): Column = {
      val ignored = target.placeholder.filter(_ => target.nullsAreMissing).flatMap(value.lacking)
      val broken  = given.isNotNull && value.convert(given).isNull
      ignored.fold(broken)(is => broken && !holds(is(given)))
    }

    /** Applies the conditions for deletes and truncates to the rows of a tool's events. */
    private def conditioned(typed: DataFrame): DataFrame =
      if (preset.isRows) typed
      else Seq(spec.deletes -> Delete, spec.truncates -> Truncate).foldLeft(typed) {
        case (events, (Some(condition), kind)) =>
          events.withColumn(Kind, when(condition && col(Kind) === Upsert, kind).otherwise(col(Kind)))
        case (events, _) => events
      }

    private def refined(checks: Seq[Column]): Column = {
      def isMissing(fields: Seq[String]) = anyOf(fields.map(at(_).isNull))
      val isUpsert                       = col(Kind) === Upsert
      val rowless =
        if (preset.isFlat) Nil else Seq((isUpsert && col(Rowless)) -> lit(s"${Refused}ROW_MISSING"))
      val refused =
        if (checks.isEmpty) Nil
        else Seq((isUpsert && coalesce(checks: _*).isNotNull) -> concat(lit(Refused), coalesce(checks: _*)))
      val cases = Seq(
        (col(Kind) === Truncate && isMissing(target.ordering)) -> lit(s"${Refused}ORDERING_MISSING"),
        !col(Kind).isin(Upsert, Delete) -> col(Kind)
      ) ++ rowless ++ Seq(
        isMissing(target.keys) -> lit(s"${Refused}KEY_MISSING"),
        isMissing(target.ordering) -> lit(s"${Refused}ORDERING_MISSING")
      ) ++ refused
      cases.tail.foldLeft(when(cases.head._1, cases.head._2)) { case (found, (condition, kind)) =>
        found.when(condition, kind)
      }.otherwise(col(Kind))
    }
  }
}
