package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{RuleService, ServiceScope}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.rule.{ChangedPart, RuleChange}
import org.apache.spark.sql.SparkSession

/**
 * CALL change_rule(table => … | path => …, options => …): gives a table another rule of columns, by which later
 * versions merge. Logs are compacted by the earlier rule; with `dry_run` nothing is changed.
 */
object ChangeRule extends TableProcedure[(ChangedPart, Int)] {
  override val name = "change_rule"

  override val parameters = Seq(
    Parameter.table,
    Parameter.options.copy(
      meaning = "options of the rule to change, such as map('merganser.rule.column.qty', 'sum'), while the others " +
        "stay; and settings of the compaction",
      isRequired = true
    ),
    Parameter.dryRun(", and the result shows what would change"),
    Parameter.path
  )

  override val columns = ResultColumns[(ChangedPart, Int)](
    string("option", _._1.option),
    string("before", _._1.before.orNull),
    string("after", _._1.after.orNull),
    int("file_slices_compacted", _._2)
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[(ChangedPart, Int)] = {
    val (rule, others) =
      arguments.options(Parameter.options.name).partition { case (key, _) => RuleChange.isOfRule(key) }
    val settings = arguments.settings(session, table, others)
    val found =
      if (arguments.isDryRun) RuleService.preview(table, rule)
      else RuleService.compactAndChange(ServiceScope(session, table, settings), rule)
    found.parts.map(_ -> found.compacted)
  }
}
