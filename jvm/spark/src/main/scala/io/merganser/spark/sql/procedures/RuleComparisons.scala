package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{ComparisonReport, RuleComparison}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.verify.RuleDifference
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

/** CALL compare_rule(table => … | path => …, rule => …): the rows that would differ under another merge rule. */
object CompareRule extends TableProcedure[Either[ComparedRows, RuleDifference]] {
  override val name = "compare_rule"

  override val parameters = Seq(
    Parameter.table,
    Parameter("rule", Parameter.OptionsType,
      "the other rule, as options of a write that creates a table: merge mode, ordering fields, payload class, " +
        "merger classes, functions of columns", isRequired = true),
    Parameter("rows", IntegerType, "maximum number of rows to show", default = Some("20")),
    Parameter.path,
    Parameter.filter,
    Parameter.options
  )

  private val measure = ResultColumns[ComparedRows](
    string("measure", _.measure),
    long("value", _.value.map(Long.box).orNull),
    string("detail", _.detail)
  )

  override val columns = measure.or(ResultColumns[RuleDifference](
      string("record_key", _.key),
      string("partition_path", _.partitionPath),
      strings("columns", _.columns),
      string("stored", _.stored.orNull),
      string("other", _.other.orNull),
      int("versions", _.versions)
    ))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments) = {
    val rows = arguments.int("rows", least = 0).getOrElse(20)
    val rule = arguments.options("rule")
    if (rule.isEmpty) throw arguments.invalid("rule", "no options", "options of a rule")
    val report = RuleComparison.of(arguments.scope(session, table).keyed, rule, rows)
    measures(report).map(Left(_)) ++ report.found.examples.map(Right(_))
  }

  private def measures(report: ComparisonReport): Seq[ComparedRows] = Seq(
    ComparedRows("rules", None, s"${report.stored} -> ${report.other}"),
    ComparedRows("rows", Some(report.found.rows), "under the table's rule"),
    ComparedRows("rows_compared", Some(report.found.compared), "with several retained versions"),
    ComparedRows("rows_differing", Some(report.found.differing), null),
    ComparedRows("file_groups", Some(report.fileGroups.toLong),
      report.oldest.fold("no file")(i => s"files from $i on"))
  ) ++ report.notes.map(ComparedRows("note", None, _))
}

/** A measure of a comparison. */
private[procedures] final case class ComparedRows(measure: String, value: Option[Long], detail: String)
