package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{RecordReport, RecordSearch, SearchedFiles}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.key.NamedKey
import io.merganser.table.explain.{GroupHistory, RecordStep}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/** CALL explain_record(table => … | path => …, key => …): the retained versions of a key and what became of each. */
object ExplainRecord extends TableProcedure {
  override val name = "explain_record"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter("key", StringType,
      "the record key; the value of its one column; or a JSON object of the key columns' values", isRequired = true),
    Parameter("partition", StringType, "path of the one partition to search"),
    Parameter.path,
    Parameter.filter,
    Parameter.options
  )

  private val searched = Procedure.columns(
    "partitions" -> IntegerType,
    "file_groups" -> IntegerType,
    "candidates" -> IntegerType,
    "footers" -> IntegerType,
    "base_files" -> IntegerType,
    "log_files" -> IntegerType
  )

  override val result: StructType = Procedure.columns(
    "record_key" -> StringType,
    "partition_path" -> StringType,
    "file_id" -> StringType,
    "slice" -> StringType,
    "commit" -> StringType,
    "completed" -> StringType,
    "operation" -> StringType,
    "file" -> StringType,
    "in_log" -> BooleanType,
    "version" -> StringType,
    "decision" -> StringType,
    "reason" -> StringType,
    "ordering" -> StringType,
    "against" -> StringType,
    "provided" -> StringType,
    "result" -> StringType,
    "origins" -> StringType,
    "is_current" -> BooleanType,
    "next_compaction" -> StringType,
    "searched" -> searched
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val scope = arguments.scope(session, table).keyed
    val text  = arguments.required("key")
    val named = NamedKey.parse(session, scope.settings.keyed(table.config), table.schema, text)
      .fold(wrong => throw arguments.invalid("key", s"$text: $wrong", "a record key"), identity)
    val report = RecordSearch.explain(scope, named.key, arguments.string("partition").orElse(named.partitionPath))
    if (report.groups.isEmpty) Seq(notFound(report))
    else report.groups.flatMap(group => group.steps.map(row(table, report, group, _)))
  }

  private def row(table: OpenTable, report: RecordReport, group: GroupHistory, step: RecordStep): Row = Row(
    report.key,
    group.partitionPath,
    group.fileId,
    step.slice,
    step.commit,
    table.timeline.completionTime(step.commit).orNull,
    table.timeline.metadata(step.commit).map(_.operationType.name).orNull,
    if (step.file.isEmpty) null else step.file,
    step.isInLog,
    step.kind.name,
    step.decision.name,
    step.reason,
    step.ordering.orNull,
    step.against.orNull,
    step.values.orNull,
    step.result.orNull,
    step.origins.orNull,
    step.isCurrent,
    group.nextCompaction,
    searchedRow(report.searched)
  )

  private def notFound(report: RecordReport): Row = {
    val values = result.fieldNames.map {
      case "record_key" => report.key
      case "decision"   => "not found"
      case "reason"     => s"no version of the key is retained: searched ${report.searched}"
      case "is_current" => false
      case "searched"   => searchedRow(report.searched)
      case _            => null
    }
    Row.fromSeq(values.toSeq)
  }

  private def searchedRow(of: SearchedFiles): Row =
    Row(of.partitions, of.fileGroups, of.candidates, of.opened.footers, of.opened.baseFiles, of.opened.logFiles)
}
