package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{CleaningService, ServicePreviews}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.options.{OptionEntry, Options}
import io.merganser.table.service.{CleanFile, CleanPreview, CleanReport}
import io.merganser.table.timeline.{Action, ArchivedTimeline, CleanMetadata, CleanPlan, Instant}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/**
 * CALL run_clean(table => … | path => …): deletes files that no read inside the retention needs; with `dry_run` it
 * lists them.
 */
object RunClean extends TableProcedure {
  override val name = "run_clean"

  private val Numbers: Seq[(String, OptionEntry)] = Seq(
    "retain_commits" -> Options.CleanCommits,
    "hours_retained" -> Options.CleanHours,
    "file_versions_retained" -> Options.CleanVersions,
    "trigger_max_commits" -> Options.CleanTriggerCommits
  )

  private val Strings: Seq[(String, OptionEntry)] =
    Seq("clean_policy" -> Options.CleanPolicy, "trigger_strategy" -> Options.CleanTrigger)

  private def of(parameter: String, dataType: DataType): Parameter = Parameter(parameter, dataType,
    s"instead of ${(Numbers ++ Strings).toMap.apply(parameter).key}")

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter("skip_locking", BooleanType, "accepted for Hudi's callers; the table is locked in any case",
      default = Some("false")),
    Parameter("schedule_in_line", BooleanType, "false: only cleans that were planned before are run",
      default = Some("true")),
    of("clean_policy", StringType),
    of("retain_commits", IntegerType),
    of("hours_retained", IntegerType),
    of("file_versions_retained", IntegerType),
    of("trigger_strategy", StringType),
    Parameter("trigger_max_commits", IntegerType,
      "cleans only if so many commits have completed since the last clean; without it in any case"),
    Parameter.options,
    Parameter.path,
    Parameter("dry_run", BooleanType, "true: nothing is changed, and the result lists what would be deleted",
      default = Some("false"))
  )

  override val measures: Seq[String] = Seq("total_files_deleted", "total_bytes_deleted")

  override val result: StructType = Procedure.columns(
    "start_clean_time" -> StringType,
    "time_taken_in_millis" -> LongType,
    "total_files_deleted" -> IntegerType,
    "earliest_commit_to_retain" -> StringType,
    "bootstrap_part_metadata" -> StringType,
    "version" -> IntegerType,
    "total_bytes_deleted" -> LongType,
    "partitions_deleted" -> ArrayType(StringType),
    "files" -> ArrayType(Procedure.columns("path" -> StringType, "size" -> LongType))
  )

  override val preview: Option[Preview] =
    Some(Preview("clean")((scope, _) => ServicePreviews.clean(scope)))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val settings = arguments.settings(session, table, options(arguments))
    if (arguments.boolean("dry_run").contains(true)) Seq(row(CleaningService.preview(table, settings)))
    else CleaningService.run(table, settings, arguments.boolean("schedule_in_line").getOrElse(true),
      ifTriggered = arguments.int("trigger_max_commits").isDefined).map(row)
  }

  /** A parameter takes precedence over its option. */
  private def options(arguments: Arguments): Map[String, String] = {
    val named = Numbers.flatMap { case (name, entry) => arguments.int(name).map(n => entry -> n.toString) } ++
      Strings.flatMap { case (name, entry) => arguments.string(name).map(entry -> _) }
    val replaced = named.flatMap(_._1.names).toSet
    arguments.options("options").filterNot(o => replaced(o._1)) ++ named.map { case (entry, value) =>
      entry.key -> value
    }
  }

  private def row(done: CleanReport): Row =
    Row(done.instant, done.elapsedMs, done.filesDeleted, done.earliest.orNull, "{}", CleanPlan.Version,
      done.bytesDeleted, done.partitionsRemoved, null)

  private def row(preview: CleanPreview): Row = {
    def size(file: CleanFile) = Row(file.path, file.sizeBytes)
    Row(null, null, preview.files.size, preview.earliest.orNull, null, null, preview.files.map(_.sizeBytes).sum,
      preview.partitions, preview.files.map(size))
  }
}

/** CALL show_cleans(table => … | path => …): completed cleans, newest first. */
object ShowCleans extends LazyTableProcedure {
  override val name = "show_cleans"

  override val parameters: Seq[Parameter] = Cleans.parameters

  override val result: StructType = Procedure.columns(
    "clean_time" -> StringType,
    "state_transition_time" -> StringType,
    "action" -> StringType,
    "start_clean_time" -> StringType,
    "time_taken_in_millis" -> LongType,
    "total_files_deleted" -> IntegerType,
    "earliest_commit_to_retain" -> StringType,
    "last_completed_commit_timestamp" -> StringType,
    "version" -> IntegerType
  )

  override protected def rows(table: OpenTable, arguments: Arguments): Iterator[Row] =
    Cleans.completed(table, arguments).map { case (clean, done) =>
      Row(clean.requested, clean.completed.orNull, clean.action.name, done.startTime, done.elapsedMs, done.filesDeleted,
        done.earliest.getOrElse(""), done.lastCompleted, done.version)
    }
}

/** CALL show_cleans_metadata(table => … | path => …): completed cleans by partition, newest first. */
object ShowCleansMetadata extends LazyTableProcedure {
  override val name = "show_cleans_metadata"

  override val parameters: Seq[Parameter] = Cleans.parameters

  override val result: StructType = Procedure.columns(
    "clean_time" -> StringType,
    "state_transition_time" -> StringType,
    "action" -> StringType,
    "start_clean_time" -> StringType,
    "partition_path" -> StringType,
    "policy" -> StringType,
    "delete_path_patterns" -> IntegerType,
    "success_delete_files" -> IntegerType,
    "failed_delete_files" -> IntegerType,
    "is_partition_deleted" -> BooleanType,
    "time_taken_in_millis" -> LongType,
    "total_files_deleted" -> IntegerType
  )

  override protected def rows(table: OpenTable, arguments: Arguments): Iterator[Row] =
    for {
      (clean, done) <- Cleans.completed(table, arguments)
      (path, part)  <- done.partitions.toSeq.sortBy(_._1)
    } yield Row(clean.requested, clean.completed.orNull, clean.action.name, done.startTime, path, part.policy,
      part.deleted.size + part.failed.size, part.deleted.size, part.failed.size, part.isRemoved, done.elapsedMs,
      done.filesDeleted)
}

/** CALL show_clean_plans(table => … | path => …): plans of cleans, also of those that are not done, newest first. */
object ShowCleanPlans extends LazyTableProcedure {
  override val name = "show_clean_plans"

  override val parameters: Seq[Parameter] = Cleans.parameters

  override val result: StructType = Procedure.columns(
    "plan_time" -> StringType,
    "state" -> StringType,
    "action" -> StringType,
    "earliest_instant_to_retain" -> StringType,
    "last_completed_commit_timestamp" -> StringType,
    "policy" -> StringType,
    "version" -> IntegerType,
    "total_partitions_to_clean" -> IntegerType,
    "total_partitions_to_delete" -> IntegerType,
    "extra_metadata" -> StringType
  )

  override protected def rows(table: OpenTable, arguments: Arguments): Iterator[Row] = {
    def row(clean: Instant, plan: CleanPlan) = {
      val extra = plan.extra.toSeq.sorted.map { case (key, value) => s"$key=$value" }.mkString(", ")
      Row(clean.requested, clean.state.shown, clean.action.name, plan.earliest.map(_.requested).orNull,
        plan.lastCompleted, plan.policy, plan.version, plan.files.size, plan.partitions.size,
        if (extra.isEmpty) null else extra)
    }
    def empty(clean: Instant) =
      Row(clean.requested, clean.state.shown, clean.action.name, null, null, null, null, null, null, null)
    val active =
      Cleans.ofTimeline(table).map(clean => table.timeline.cleanPlan(clean).fold(empty(clean))(row(clean, _)))
    active ++ Cleans.archived(table, arguments)(_.cleanPlans.reverseIterator).map { case (clean, plan) =>
      row(clean, plan)
    }
  }
}

private[procedures] object Cleans {

  val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter.limit(10),
    Parameter("showArchived", BooleanType, "also those that were archived", default = Some("false")),
    Parameter.filter,
    Parameter.path
  )

  /** Newest first. */
  def ofTimeline(table: OpenTable): Iterator[Instant] =
    table.timeline.instants.reverseIterator.filter(_.action == Action.Clean)

  /** Completed cleans, newest first. */
  def completed(table: OpenTable, arguments: Arguments): Iterator[(Instant, CleanMetadata)] =
    ofTimeline(table).filter(_.isCompleted).flatMap(clean => table.timeline.cleanMetadata(clean).map(clean -> _)) ++
      archived(table, arguments)(_.cleanMetadata.reverseIterator)

  def archived[T](table: OpenTable, arguments: Arguments)(of: ArchivedTimeline => Iterator[(Instant, T)]): Iterator[(
        Instant,
        T)] = if (arguments.boolean("showArchived").contains(true)) {
    lazy val active = ofTimeline(table).map(_.requested).toSet
    of(new ArchivedTimeline(table.storage, table.config)).filterNot(c => active(c._1.requested))
  } else Iterator.empty
}
