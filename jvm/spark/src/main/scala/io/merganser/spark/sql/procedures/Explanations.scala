package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{RecordReport, RecordSearch, SearchedFiles}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.key.NamedKey
import io.merganser.table.explain.{GroupHistory, RecordStep}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

/** CALL explain_record(table => … | path => …, key => …): the retained versions of a key and what became of each. */
object ExplainRecord extends TableProcedure[ExplainedStep] {
  override val name = "explain_record"

  override val parameters = Seq(
    Parameter.table,
    Parameter("key", StringType,
      "the record key, the value of its only column, or a JSON object with the values of the key columns",
      isRequired = true),
    Parameter("partition", StringType, "path of a partition: only this one is searched"),
    Parameter.path,
    Parameter.filter,
    Parameter.options
  )

  private val searched = ResultColumns[SearchedFiles](
    int("partitions", _.partitions),
    int("file_groups", _.fileGroups),
    int("candidates", _.candidates),
    int("footers", _.opened.footers),
    int("base_files", _.opened.baseFiles),
    int("log_files", _.opened.logFiles)
  )

  override val columns = ResultColumns[ExplainedStep](
    string("record_key", _.report.key),
    string("partition_path", _.group.map(_.partitionPath).orNull),
    string("file_id", _.group.map(_.fileId).orNull),
    string("slice", _.step.map(_.slice).orNull),
    string("commit", _.step.map(_.commit).orNull),
    string("completed", of => of.step.flatMap(s => of.table.timeline.completionTime(s.commit)).orNull),
    string("operation",
      of =>
        of.step.flatMap(s => of.table.timeline.metadata(s.commit)).map(_.operationType.name).orNull),
    string("file", _.step.map(_.file).filter(_.nonEmpty).orNull),
    boolean("in_log", _.step.map(s => Boolean.box(s.isInLog)).orNull),
    string("version", _.step.map(_.kind.name).orNull),
    string("decision", _.step.fold("not found")(_.decision.name)),
    string("reason",
      of =>
        of.step.fold(s"no version of the key is retained: searched ${of.report.searched}")(_.reason)),
    string("ordering", _.step.flatMap(_.ordering).orNull),
    string("against", _.step.flatMap(_.against).orNull),
    string("provided", _.step.flatMap(_.values).orNull),
    string("result", _.step.flatMap(_.result).orNull),
    string("origins", _.step.flatMap(_.origins).orNull),
    boolean("is_current", _.step.exists(_.isCurrent)),
    string("next_compaction", _.group.map(_.nextCompaction).orNull),
    nested("searched", searched, _.report.searched)
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[ExplainedStep] = {
    val scope = arguments.scope(session, table).keyed
    val text  = arguments.required("key")
    val named = NamedKey.parse(session, scope.settings.keyed(table.config), table.schema, text)
      .fold(wrong => throw arguments.invalid("key", s"$text: $wrong", "a record key"), identity)
    val report = RecordSearch.explain(scope, named.key, arguments.string("partition").orElse(named.partitionPath))
    if (report.groups.isEmpty) Seq(ExplainedStep(table, report))
    else report.groups.flatMap(group => group.steps.map(s => ExplainedStep(table, report, Some(group), Some(s))))
  }
}

/** A version of a key; without a step, that none was found. */
private[procedures] final case class ExplainedStep(
    table: OpenTable,
    report: RecordReport,
    group: Option[GroupHistory] = None,
    step: Option[RecordStep] = None
)
