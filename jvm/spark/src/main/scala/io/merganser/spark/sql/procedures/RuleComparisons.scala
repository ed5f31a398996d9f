package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{ComparisonReport, RuleComparison}
import io.merganser.spark.snapshot.OpenTable
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/** CALL compare_rule(table => … | path => …, rule => …): the rows that another merge rule would have made otherwise. */
object CompareRule extends TableProcedure {
  override val name = "compare_rule"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter("rule", Parameter.OptionsType,
      "the other rule, as options of a write that creates a table: merge mode, ordering fields, payload class, " +
        "merger classes, functions of columns", isRequired = true),
    Parameter("rows", IntegerType, "most rows to show", default = Some("20")),
    Parameter.path,
    Parameter.filter,
    Parameter.options
  )

  override val result: StructType = Procedure.columns(
    "measure" -> StringType,
    "value" -> LongType,
    "detail" -> StringType,
    "record_key" -> StringType,
    "partition_path" -> StringType,
    "columns" -> ArrayType(StringType),
    "stored" -> StringType,
    "other" -> StringType,
    "versions" -> IntegerType
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val rows = arguments.int("rows").getOrElse(20)
    if (rows < 0) throw arguments.invalid("rows", rows.toString, "0 or more")
    val rule = arguments.options("rule")
    if (rule.isEmpty) throw arguments.invalid("rule", "no options", "options of a rule")
    val report = RuleComparison.of(arguments.scope(session, table).keyed, rule, rows)
    measures(report) ++ report.found.examples.map(d =>
      Row(null, null, null, d.key, d.partitionPath, d.columns, d.stored.orNull, d.other.orNull, d.versions))
  }

  private def measures(report: ComparisonReport): Seq[Row] = {
    def row(name: String, value: Any, detail: String) = Row(name, value, detail, null, null, null, null, null, null)
    Seq(
      row("rules", null, s"${report.stored} -> ${report.other}"),
      row("rows", report.found.rows, "under the table's rule"),
      row("rows_compared", report.found.compared, "with several retained versions"),
      row("rows_differing", report.found.differing, null),
      row("file_groups", report.fileGroups.toLong, report.oldest.fold("no file")(i => s"files from $i on"))
    ) ++ report.notes.map(row("note", null, _))
  }
}
