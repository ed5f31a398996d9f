package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{RuleService, ServiceScope}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.rule.RuleChange
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/**
 * CALL change_rule(table => … | path => …, options => …): gives a table another rule of columns, by which later
 * versions merge. Logs are compacted by the rule of before; with `dry_run` nothing is changed.
 */
object ChangeRule extends TableProcedure {
  override val name = "change_rule"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter.options.copy(
      meaning = "options of the rule to change, such as map('merganser.rule.column.qty', 'sum'), of which the others " +
        "stay; and settings of the compaction",
      isRequired = true
    ),
    Parameter("dry_run", BooleanType, "true: nothing is changed, and the result is what would be",
      default = Some("false")),
    Parameter.path
  )

  override val result: StructType = Procedure.columns(
    "option" -> StringType,
    "before" -> StringType,
    "after" -> StringType,
    "file_slices_compacted" -> IntegerType
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val (rule, others) =
      arguments.options(Parameter.options.name).partition { case (key, _) => RuleChange.isOfRule(key) }
    val settings = arguments.settings(session, table, others)
    val found =
      if (arguments.boolean("dry_run").contains(true)) RuleService.preview(table, rule)
      else RuleService.compactAndChange(ServiceScope(session, table, settings), rule)
    found.parts.map(part => Row(part.option, part.before.orNull, part.after.orNull, found.compacted))
  }
}
