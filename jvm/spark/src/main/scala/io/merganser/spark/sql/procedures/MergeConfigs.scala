package io.merganser.spark.sql.procedures

import io.merganser.merge.MerganserException
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.options.{OptionScope, Options}
import io.merganser.table.rule.CompiledRule
import io.merganser.table.schema.SchemaEvolution
import io.merganser.table.settings.{EffectiveSetting, EffectiveSettings}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

/**
 * CALL show_merge_config(table => … | path => …, options => …): every setting that holds for writes of a table, with
 * its source, and what contradicts it; with `columns => …` also whether the table has these columns.
 */
object ShowMergeConfig extends TableProcedure[EffectiveSetting] {
  override val name = "show_merge_config"

  override val parameters = Seq(
    Parameter.table,
    Parameter.path,
    Parameter("options", Parameter.OptionsType, "options of a write, to show what would hold for it"),
    Parameter("columns", StringType, "columns that the table is expected to have, as for create_table"),
    Parameter.filter
  )

  override val columns = ResultColumns[EffectiveSetting](
    string("setting", _.key),
    string("value", _.value.orNull),
    string("source", _.source),
    string("scope", one => if (one.scope == OptionScope.OfTable) "table" else "write"),
    string("conflict", _.conflict.orNull),
    string("meaning", _.doc)
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[EffectiveSetting] = {
    val warning = CompiledRule.warning(table.config, table.schema)
    val columns = arguments.string("columns").flatMap(text =>
      SchemaEvolution.contradiction(table.config.name, table.schema, CreateTable.schema(arguments, text)))
    columns.map(ofColumns(table, _)).toSeq ++ EffectiveSettings.of(table.config, arguments.options("options"),
      FrameWrite.sessionConf(session)).map { one =>
      val conflict = one.conflict.orElse(warning.filter(_ => one.key == Options.MergeModeOption.key))
      withoutSecrets(session, one.copy(conflict = conflict))
    }
  }

  private def ofColumns(table: OpenTable, reason: String): EffectiveSetting = {
    val conflict = MerganserException("COLUMNS_CONFLICT", "table" -> table.config.name, "reason" -> reason).getMessage
    EffectiveSetting("columns", Some(table.schema.toDDL), "table", OptionScope.OfTable, Some(conflict),
      "Columns of the table, where others are declared.")
  }

  /** No secrets, whatever the option is called: `partitionpath.urlencode` has "url" in its name. */
  private val Flags = Set("true", "false")

  /** A value whose name is one of those that Spark takes for secrets is replaced, also where a message has it. */
  private def withoutSecrets(session: SparkSession, one: EffectiveSetting): EffectiveSetting = {
    val shown = session.sessionState.conf.redactOptions(Map(one.key -> ""))(one.key)
    one.value.filter(value => shown.nonEmpty && value.nonEmpty && !Flags(value)).fold(one) { value =>
      one.copy(value = Some(shown), conflict = one.conflict.map(_.replace(value, shown)))
    }
  }
}
