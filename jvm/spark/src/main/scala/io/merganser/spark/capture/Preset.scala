package io.merganser.spark.capture

import com.fasterxml.jackson.databind.JsonNode
import io.merganser.merge.{Json, MerganserException}

import scala.collection.JavaConverters._
import scala.util.Try

/**
 * A column that a preset fills from the envelope.
 *
 * @param dataType as in SQL
 * @param sql      its value, from the envelope's fields; `{load}` stands for whether the row is of a full load
 */
final case class EventColumn(name: String, dataType: String, sql: String)

/** How to read one tool's change events, by the settings of docs/follow-a-database.md#settings-of-a-preset. */
final case class Preset(
    name: String,
    header: Seq[(String, String)],
    kind: String,
    ordering: Seq[EventColumn] = Nil,
    stored: Seq[EventColumn] = Nil,
    known: Seq[EventColumn] = Nil,
    beforeSequence: Seq[EventColumn] = Nil,
    loads: Option[String] = None,
    after: Option[String] = Some("after"),
    before: Option[String] = Some("before"),
    beforeIsPartial: Boolean = false,
    rowPrefixes: Seq[String] = Nil,
    rows: Option[String] = None,
    sourceTable: Option[String] = None,
    recordKey: Option[String] = None,
    hasSchema: Boolean = false,
    placeholder: Option[String] = None,
    timestampUnit: String = "micros",
    decimals: String = "text",
    binaries: String = "base64",
    texts: Boolean = false,
    types: Option[String] = None,
    omitsNulls: Boolean = false,
    tombstones: String = "skip",
    options: Map[String, String] = Map.empty
) {

  /** Whether the rows of a frame are the table's rows, and not a tool's events. */
  def isRows: Boolean = name.isEmpty

  /** Whether the event itself is the row. */
  def isFlat: Boolean = after.isEmpty && rows.isEmpty

  /** All columns that the preset can fill. */
  def columns: Seq[EventColumn] = beforeSequence ++ ordering ++ stored ++ known

  /** Whether a field of an event's row is a column: of a flat event, some belong to the envelope. */
  def isRowColumn(column: String): Boolean =
    !isFlat || (!header.exists(_._1 == column) && !rowPrefixes.exists(column.startsWith))
}

object Preset {

  /** A column of frames, true for rows of a full load. */
  private[capture] val Load = "__merganser_load"

  private[capture] val RowKind = "__merganser_kind"

  /** Rows of a frame as they are, with keys and a sequence: the preset that is none. */
  val Rows: Preset = Preset(name = "", header = Seq(RowKind -> "string"), kind = s"e.$RowKind",
    after = None, before = None, rowPrefixes = Seq("__merganser_"))

  /**
   * A preset by its name or, where other settings of it are given, by a JSON object with its `name` and these.
   *
   * @throws MerganserException CHANGES_PRESET_UNKNOWN, CHANGES_PRESET_INVALID
   */
  def named(nameOrJson: String): Preset =
    if (!nameOrJson.trim.startsWith("{")) known(nameOrJson)
    else {
      val settings = Try(Json.readTree(nameOrJson)).getOrElse(
        throw invalid("preset", nameOrJson, "a name, or a JSON object with a name and settings"))
      val name = settings.path("name").asText
      val own  = All.find(_.name == name).orElse(if (settings.has("kind")) Some(Preset(name, Nil, "")) else None)
      configured(own.getOrElse(known(name)), settings)
    }

  /** All presets; one that extends another one has its settings, except those that it names. */
  private[capture] lazy val All: Seq[Preset] =
    Json.readTree(getClass.getResource("/io/merganser/spark/capture/presets.json")).elements().asScala
      .foldLeft(Seq.empty[Preset]) { (earlier, settings) =>
        val start = earlier.find(_.name == settings.path("extends").asText).getOrElse(Preset("", Nil, ""))
        earlier :+ configured(start.copy(name = settings.path("name").asText), settings)
      }

  private[capture] def names: String = All.map(_.name).sorted.mkString(", ")

  private def known(name: String): Preset = All.find(_.name == name).getOrElse(
    throw MerganserException("CHANGES_PRESET_UNKNOWN", "preset" -> name, "presets" -> names))

  private def configured(preset: Preset, settings: JsonNode): Preset =
    settings.fields().asScala.filterNot(setting => Set("name", "extends")(setting.getKey)).foldLeft(preset) {
      case (configured, setting) => configuredIn(configured, setting.getKey, setting.getValue)
    }

  /** SQL, which may be an array of lines. */
  private def sql(node: JsonNode): String =
    if (node.isArray) node.elements().asScala.map(_.asText).mkString(" ") else node.asText

  private def configuredIn(preset: Preset, setting: String, value: JsonNode): Preset = {
    def text   = if (value.isNull) None else Some(value.asText)
    def fields = value.fields().asScala.map(field => field.getKey -> field.getValue.asText).toList
    def columns = value.elements().asScala.map(one =>
      EventColumn(one.path("name").asText, one.path("type").asText, sql(one.path("sql")))).toList
    def oneOf(values: String*) =
      text.filter(values.contains).getOrElse(throw invalid(setting, value.asText, values.mkString(", ")))
    setting match {
      case "header"            => preset.copy(header = fields)
      case "kind"              => preset.copy(kind = sql(value))
      case "ordering"          => preset.copy(ordering = columns)
      case "stored"            => preset.copy(stored = columns)
      case "known"             => preset.copy(known = columns)
      case "before_sequence"   => preset.copy(beforeSequence = columns)
      case "loads"             => preset.copy(loads = text)
      case "after"             => preset.copy(after = text)
      case "before"            => preset.copy(before = text)
      case "before_is_partial" => preset.copy(beforeIsPartial = value.asBoolean)
      case "row_prefixes"      => preset.copy(rowPrefixes = value.elements().asScala.map(_.asText).toList)
      case "rows"              => preset.copy(rows = text)
      case "source_table"      => preset.copy(sourceTable = text)
      case "record_key"        => preset.copy(recordKey = text)
      case "has_schema"        => preset.copy(hasSchema = value.asBoolean)
      case "placeholder"       => preset.copy(placeholder = text)
      case "timestamp_unit"    => preset.copy(timestampUnit = oneOf(Values.Units.keys.toSeq.sorted: _*))
      case "decimals"          => preset.copy(decimals = oneOf("base64", "text"))
      case "binaries"          => preset.copy(binaries = oneOf(Values.Binaries: _*))
      case "texts"             => preset.copy(texts = value.asBoolean)
      case "types"             => preset.copy(types = text)
      case "omits_nulls"       => preset.copy(omitsNulls = value.asBoolean)
      case "tombstones"        => preset.copy(tombstones = oneOf("skip", "refuse"))
      case "options"           => preset.copy(options = fields.toMap)
      case other               => throw invalid("preset", other, "the settings of a preset")
    }
  }

  private def invalid(setting: String, value: String, allowed: String): MerganserException =
    MerganserException("CHANGES_PRESET_INVALID", "setting" -> setting, "value" -> value, "allowed" -> allowed)
}
