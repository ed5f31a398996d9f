package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{PreviewedStep, RestoreService, ServicePreviews, ServiceScope}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.service.{LostWrite, RestoreReport, RestoredFile}
import io.merganser.table.timeline.{Instant, RestoreMetadata, Timeline}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/** CALL restore_to_instant(table => … | path => …, instant_time => …): takes back all writes after one. */
object RestoreToInstant
    extends RestoreProcedure("restore_to_instant", "restore_result", "restore",
      Parameter("instant_time", StringType,
        "requested time of the completed write to restore, or a time: the last write that had completed by then",
        isRequired = true)) {

  override protected def restore(scope: ServiceScope, time: Option[String], isPreview: Boolean): RestoreReport =
    RestoreService.restore(scope, time.get, isPreview)
}

/** CALL rollback_to_savepoint(table => … | path => …, instant_time => …): takes back all writes after a savepoint. */
object RollbackToSavepoint
    extends RestoreProcedure("rollback_to_savepoint", "rollback_savepoint_result", "restore_savepoint",
      Parameter("instant_time", StringType, "time of the savepoint; default: the newest")) {

  override protected def restore(scope: ServiceScope, time: Option[String], isPreview: Boolean): RestoreReport =
    RestoreService.restoreSavepoint(scope, time, isPreview)
}

/** CALL rollback_to_instant(table => … | path => …, instant_time => …): takes back the newest write. */
object RollbackToInstant
    extends RestoreProcedure("rollback_to_instant", "rollback_result", "rollback",
      Parameter("instant_time", StringType, "requested time of the newest completed write, which is taken back")) {

  override protected def restore(scope: ServiceScope, time: Option[String], isPreview: Boolean): RestoreReport =
    RestoreService.rollback(scope, time, isPreview)

  override protected def steps(scope: ServiceScope, lost: RestoreReport, rows: Int): Seq[PreviewedStep] =
    ServicePreviews.rolledBack(scope, lost, rows)
}

/**
 * Takes writes back.
 *
 * @param first   Hudi's column, which is true
 * @param service name of its dry run
 * @param instant of the write or the savepoint
 */
private[procedures] abstract class RestoreProcedure(
    override val name: String,
    first: String,
    service: String,
    instant: Parameter
) extends TableProcedure[RestoreReport] {

  override val parameters = Seq(
    Parameter.table,
    instant,
    Parameter.path,
    Parameter.dryRun(", and the result shows what would be lost"),
    Parameter.options
  )

  override val measures =
    Seq("commits_lost", "rows_inserted", "rows_updated", "rows_deleted", "total_files_deleted", "total_bytes_deleted")

  private val lost = ResultColumns[LostWrite](
    string("instant", _.instant),
    string("action", _.action),
    string("state", _.state),
    string("operation", _.operation.orNull),
    long("rows_inserted", _.inserted),
    long("rows_updated", _.updated),
    long("rows_deleted", _.deleted)
  )

  override val columns = ResultColumns[RestoreReport](
    boolean(first, _ => true),
    string("instant", _.instant.orNull),
    string("newest_commit", _.newest.orNull),
    long("time_taken_in_millis", _.elapsedMs),
    int("commits_lost", _.takenBack.count(_.operation.isDefined)),
    long("rows_inserted", _.takenBack.map(_.inserted).sum),
    long("rows_updated", _.takenBack.map(_.updated).sum),
    long("rows_deleted", _.takenBack.map(_.deleted).sum),
    int("total_files_deleted", _.files.size),
    long("total_bytes_deleted", _.bytes),
    nestedSeq("taken_back", lost, _.takenBack),
    nestedSeq("files", ResultColumns[RestoredFile](string("path", _.path), long("size", _.sizeBytes)), _.files),
    strings("file_groups_visible", _.groupPaths)
  )

  override val preview = Some(Preview(service, "instant", "rows") { (scope, given) =>
    val time = given.string("instant")
    if (instant.isRequired && time.isEmpty) throw given.missing("instant")
    steps(scope, restore(scope, time, isPreview = true), Preview.rows(given))
  })

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[RestoreReport] = {
    val time = arguments.string("instant_time").filter(_.nonEmpty || instant.isRequired)
    Seq(restore(arguments.scope(session, table), time, arguments.isDryRun))
  }

  /** @param time is there if its parameter is required */
  protected def restore(scope: ServiceScope, time: Option[String], isPreview: Boolean): RestoreReport

  /** What a dry run shows. */
  protected def steps(scope: ServiceScope, lost: RestoreReport, rows: Int): Seq[PreviewedStep] =
    ServicePreviews.restored(scope, lost, rows)
}

/** CALL show_restores(table => … | path => …): completed restores, newest first. */
object ShowRestores extends LazyTableProcedure[(Instant, RestoreMetadata)] {
  override val name = "show_restores"

  override val parameters = Commits.parameters

  override val columns = ResultColumns[(Instant, RestoreMetadata)](
    string("instant", _._1.requested),
    string("state_transition_time", _._1.completed.orNull),
    strings("restored_instants", _._2.instants.map(_.instant)),
    int("total_files_deleted", _._2.rollbacks.values.flatMap(_.deleted.values).map(_.size).sum),
    long("time_taken_in_millis", _._2.elapsedMs)
  )

  override protected def values(table: OpenTable, arguments: Arguments): Iterator[(Instant, RestoreMetadata)] =
    table.timeline.restores.reverseIterator.map(instant => instant -> table.timeline.restore(instant))
}

/** CALL show_rollback_detail(table => … | path => …, instant_time => …): the files that a rollback deleted. */
object ShowRollbackDetail extends LazyTableProcedure[Row] {
  override val name = "show_rollback_detail"

  override val parameters = Seq(
    Parameter.table,
    Parameter.limit(10),
    Parameter("instant_time", StringType, "requested time of the rollback", isRequired = true),
    Parameter.path,
    Parameter.filter
  )

  override val columns = ResultColumns.ofRows(
    "instant" -> StringType,
    "rollback_instant" -> StringType,
    "partition" -> StringType,
    "deleted_file" -> StringType,
    "succeeded" -> BooleanType
  )

  override protected def values(table: OpenTable, arguments: Arguments): Iterator[Row] = {
    val timeline: Timeline = table.timeline
    for {
      instant            <- timeline.rollbacks.iterator.filter(_.requested == arguments.required("instant_time"))
      done               <- Iterator(timeline.rollback(instant))
      (files, succeeded) <- Iterator(done.deleted -> true, done.failed -> false)
      (partition, names) <- files.toSeq.sortBy(_._1).iterator
      name               <- names.iterator
    } yield Row(done.startTime, done.instants.map(_.instant).mkString("[", ", ", "]"), partition, name, succeeded)
  }
}
