package io.merganser.spark.sql.procedures

import io.merganser.merge.MerganserException
import io.merganser.spark.capture.{AppliedChanges, ApplyChanges, ChangeSpec, ChangeTables, NullUpdates, Preset}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.options.OptionKind
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.types._

/**
 * CALL apply_changes(source => …, table => … | path => …, preset => 'debezium_postgres'): applies changes of another
 * database, and returns what they were and what the commit changed.
 */
object ApplySourceChanges extends Procedure[AppliedChanges] {
  override val name = "apply_changes"

  override val parameters = Seq(
    Parameter("source", StringType, "events or rows, as in a FROM clause: a table, a view or a query in parentheses",
      isRequired = true, takesFrame = true),
    Parameter.table,
    ChangeArguments.preset,
    ChangeArguments.keys,
    ChangeArguments.sequenceBy,
    Parameter("apply_as_deletes", StringType, "condition that makes a row a delete"),
    Parameter("apply_as_truncates", StringType, "condition that makes a row delete all rows up to it"),
    Parameter("source_table", StringType,
      "name of the source table whose events are applied, or the last parts of the name"),
    Parameter("quarantine", StringType,
      "table for events that cannot be applied, or its path; without it they are an error")
  ) ++ ChangeArguments.columns ++ Seq(Parameter.path, Parameter.options)

  override val columns = ResultColumns[AppliedChanges](
    string("preset", _.preset.orNull),
    long("events", _.events),
    long("upserts", _.upserts),
    long("deletes", _.deletes),
    long("truncates", _.truncates),
    long("key_changes", _.keyChanges),
    longsByName("skipped", _.skipped),
    longsByName("quarantined", _.quarantined),
    string("quarantine", _.quarantine.orNull),
    WriteRows.columns.optional.of(_.commit)
  )

  override val measures = Seq("events", "upserts", "deletes", "truncates", "key_changes")

  override def run(session: SparkSession, arguments: Arguments): Seq[AppliedChanges] =
    arguments.frame("source")(ChangeArguments.source(session, _)).toSeq.map(applied(session, arguments, _))

  private def applied(session: SparkSession, arguments: Arguments, events: DataFrame): AppliedChanges = {
    val spec = ChangeArguments.spec(arguments).copy(
      deletes = arguments.condition("apply_as_deletes"),
      truncates = arguments.condition("apply_as_truncates"),
      sourceTable = arguments.string("source_table"),
      quarantine = arguments.string("quarantine"),
      options = arguments.options("options")
    )
    ApplyChanges(session, OpenTable.absolute(session, arguments.tablePath(session)), events, spec)
  }
}

/**
 * CALL create_table_for_changes(path => …, source => … | schema => …, preset => …): an empty table with the columns and
 * the rule that apply_changes needs.
 */
object CreateTableForChanges extends Procedure[(OpenTable, String)] {
  override val name = "create_table_for_changes"

  override val parameters = Seq(
    Parameter("path", StringType, "path of the new table", isRequired = true),
    Parameter("source", StringType, "some events, as in a FROM clause, from which the columns and the key are taken",
      takesFrame = true),
    ChangeArguments.preset,
    ChangeArguments.keys,
    ChangeArguments.sequenceBy,
    Parameter("schema", StringType, "the columns, instead of events: as in CREATE TABLE, or the JSON of a schema")
  ) ++ ChangeArguments.columns :+ Parameter.options

  override val columns = DescribeTable.columns

  override def run(session: SparkSession, arguments: Arguments): Seq[(OpenTable, String)] = {
    val events = arguments.frame("source")(ChangeArguments.source(session, _))
    val path   = OpenTable.absolute(session, arguments.required("path"))
    val rows = (events, arguments.string("schema")) match {
      case (Some(frame), None) => Left(frame)
      case (None, Some(ddl))   => Right(CreateTable.schema(arguments, ddl))
      case _                   => throw MerganserException("CHANGES_NEED_SOURCE_OR_SCHEMA")
    }
    ChangeTables.create(session, path, rows, ChangeArguments.spec(arguments), arguments.options("options"))
    Seq(OpenTable.load(session, path) -> path)
  }
}

/** Arguments that both calls have. Names are separated by commas, or are a JSON array. */
private object ChangeArguments {

  val preset: Parameter = Parameter("preset", StringType,
    "name of the events' envelope, such as debezium_postgres, or a JSON object with its name and other settings")

  val keys: Parameter = Parameter("keys", StringType, "record key columns; default: those of the table")

  val sequenceBy: Parameter = Parameter("sequence_by", StringType,
    "columns with larger values in later changes of a key, instead of the preset's")

  val columns: Seq[Parameter] = Seq(
    Parameter("ignore_null_updates", BooleanType, "whether null keeps the stored value; default: as in the table"),
    Parameter("columns", StringType, "the columns to apply; others keep their stored values"),
    Parameter("column_types", StringType, "types of columns for events without a schema, as in CREATE TABLE"),
    Parameter("except_columns", StringType, "columns not to apply"),
    Parameter("ignore_null_updates_columns", StringType, "the columns in which null keeps the stored value"),
    Parameter("ignore_null_updates_except_columns", StringType, "the columns in which null replaces the stored value")
  )

  def source(session: SparkSession, text: String): DataFrame = session.sql(s"SELECT * FROM $text")

  def spec(arguments: Arguments): ChangeSpec = {
    def names(parameter: String) = arguments.string(parameter).map(text =>
      if (text.trim.startsWith("[")) OptionKind.JsonStrings.split(text) else OptionKind.NameList.split(text))
    ChangeSpec(
      preset = arguments.string("preset").fold(Preset.Rows)(Preset.named(_)),
      keys = names("keys").getOrElse(Nil),
      sequenceBy = names("sequence_by").getOrElse(Nil),
      nulls = NullUpdates(arguments.boolean("ignore_null_updates"), names("ignore_null_updates_columns"),
        names("ignore_null_updates_except_columns")),
      only = names("columns"),
      types = arguments.string("column_types").fold(new StructType)(CreateTable.schema(arguments, _)),
      except = names("except_columns").getOrElse(Nil)
    )
  }
}
