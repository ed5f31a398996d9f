package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{CleaningService, ServicePreviews}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.options.{OptionEntry, Options}
import io.merganser.table.service.{CleanFile, CleanPreview, CleanReport}
import io.merganser.table.timeline.{Action, ArchivedTimeline, CleanMetadata, CleanPlan, CleanedPartition, Instant}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

/**
 * CALL run_clean(table => … | path => …): deletes files that no read inside the retention needs; with `dry_run` it
 * lists them.
 */
object RunClean extends TableProcedure[Either[CleanPreview, CleanReport]] {
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

  override val parameters = Seq(
    Parameter.table,
    Parameter.flag("skip_locking", "accepted for compatibility with Hudi; the table is always locked"),
    Parameter("schedule_in_line", BooleanType, "false: runs only cleans that were already planned",
      default = Some("true")),
    of("clean_policy", StringType),
    of("retain_commits", IntegerType),
    of("hours_retained", IntegerType),
    of("file_versions_retained", IntegerType),
    of("trigger_strategy", StringType),
    Parameter("trigger_max_commits", IntegerType,
      "cleans only if that many commits have completed since the last clean; default: always"),
    Parameter.options,
    Parameter.path,
    Parameter.dryRun(", and the result lists what would be deleted")
  )

  override val measures = Seq("total_files_deleted", "total_bytes_deleted")

  override val columns = ResultColumns[Either[CleanPreview, CleanReport]](
    string("start_clean_time", _.fold(_ => null, _.instant)),
    long("time_taken_in_millis", _.fold(_ => null, _.elapsedMs)),
    int("total_files_deleted", _.fold(_.files.size, _.filesDeleted)),
    string("earliest_commit_to_retain", _.fold(_.earliest, _.earliest).orNull),
    string("bootstrap_part_metadata", _.fold(_ => null, _ => "{}")),
    int("version", _.fold(_ => null, _ => CleanPlan.Version)),
    long("total_bytes_deleted", _.fold(_.files.map(_.sizeBytes).sum, _.bytesDeleted)),
    strings("partitions_deleted", _.fold(_.partitions, _.partitionsRemoved)),
    nestedSeq("files", ResultColumns[CleanFile](string("path", _.path), long("size", _.sizeBytes)),
      _.fold(_.files, _ => null))
  )

  override val preview = Some(Preview("clean")((scope, _) => ServicePreviews.clean(scope)))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments) = {
    val settings = arguments.settings(session, table, options(arguments))
    if (arguments.isDryRun) Seq(Left(CleaningService.preview(table, settings)))
    else CleaningService.run(table, settings, arguments.flag("schedule_in_line"),
      ifTriggered = arguments.int("trigger_max_commits").isDefined).map(Right(_))
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
}

/** CALL show_cleans(table => … | path => …): completed cleans, newest first. */
object ShowCleans extends LazyTableProcedure[(Instant, CleanMetadata)] {
  override val name = "show_cleans"

  override val parameters = Cleans.parameters

  override val columns = ResultColumns[(Instant, CleanMetadata)](
    Commits.instant("clean_time").of(_._1),
    string("start_clean_time", _._2.startTime),
    long("time_taken_in_millis", _._2.elapsedMs),
    int("total_files_deleted", _._2.filesDeleted),
    string("earliest_commit_to_retain", _._2.earliest.getOrElse("")),
    string("last_completed_commit_timestamp", _._2.lastCompleted),
    int("version", _._2.version)
  )

  override protected def values(table: OpenTable, arguments: Arguments): Iterator[(Instant, CleanMetadata)] =
    Cleans.completed(table, arguments)
}

/** CALL show_cleans_metadata(table => … | path => …): completed cleans by partition, newest first. */
object ShowCleansMetadata extends LazyTableProcedure[CleanOfPartition] {
  override val name = "show_cleans_metadata"

  override val parameters = Cleans.parameters

  override val columns = ResultColumns[CleanOfPartition](
    Commits.instant("clean_time").of(_.clean),
    string("start_clean_time", _.done.startTime),
    string("partition_path", _.path),
    string("policy", _.part.policy),
    int("delete_path_patterns", c => c.part.deleted.size + c.part.failed.size),
    int("success_delete_files", _.part.deleted.size),
    int("failed_delete_files", _.part.failed.size),
    boolean("is_partition_deleted", _.part.isRemoved),
    long("time_taken_in_millis", _.done.elapsedMs),
    int("total_files_deleted", _.done.filesDeleted)
  )

  override protected def values(table: OpenTable, arguments: Arguments): Iterator[CleanOfPartition] =
    for {
      (clean, done) <- Cleans.completed(table, arguments)
      (path, part)  <- done.partitions.toSeq.sortBy(_._1)
    } yield CleanOfPartition(clean, done, path, part)
}

/** A partition in one clean. */
private[procedures] final case class CleanOfPartition(
    clean: Instant,
    done: CleanMetadata,
    path: String,
    part: CleanedPartition
)

/** CALL show_clean_plans(table => … | path => …): plans of cleans, pending ones too, newest first. */
object ShowCleanPlans extends LazyTableProcedure[(Instant, Option[CleanPlan])] {
  override val name = "show_clean_plans"

  override val parameters = Cleans.parameters

  private val plan = ResultColumns[CleanPlan](
    string("earliest_instant_to_retain", _.earliest.map(_.requested).orNull),
    string("last_completed_commit_timestamp", _.lastCompleted),
    string("policy", _.policy),
    int("version", _.version),
    int("total_partitions_to_clean", _.files.size),
    int("total_partitions_to_delete", _.partitions.size),
    string("extra_metadata", p => if (p.extra.isEmpty) null else extra(p))
  )

  override val columns = ResultColumns[(Instant, Option[CleanPlan])](
    string("plan_time", _._1.requested),
    string("state", _._1.state.shown),
    string("action", _._1.action.name),
    plan.optional.of(_._2)
  )

  private def extra(plan: CleanPlan): String =
    plan.extra.toSeq.sorted.map { case (key, value) => s"$key=$value" }.mkString(", ")

  override protected def values(table: OpenTable, arguments: Arguments): Iterator[(Instant, Option[CleanPlan])] =
    Cleans.ofTimeline(table).map(clean => clean -> table.timeline.cleanPlan(clean)) ++
      Cleans.archived(table, arguments)(_.cleanPlans.reverseIterator).map { case (clean, plan) => clean -> Some(plan) }
}

private[procedures] object Cleans {

  val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter.limit(10),
    Parameter.flag("showArchived", "whether to show archived ones too"),
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
        T)] = if (arguments.flag("showArchived")) {
    lazy val active = ofTimeline(table).map(_.requested).toSet
    of(new ArchivedTimeline(table.storage, table.config)).filterNot(c => active(c._1.requested))
  } else Iterator.empty
}
