package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{RestoreService, ServicePreviews}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.service.RestoreReport
import io.merganser.table.timeline.Timeline
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/** CALL restore_to_instant(table => … | path => …, instant_time => …): takes back all writes after one. */
object RestoreToInstant extends TableProcedure {
  override val name = "restore_to_instant"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter("instant_time", StringType,
      "requested time of the completed write that is restored, or a time, for the last one that had completed by then",
      isRequired = true),
    Parameter.path,
    Restores.dryRun,
    Parameter.options
  )

  override val measures: Seq[String] = Restores.measures

  override val result: StructType = Restores.columns("restore_result")

  override val preview: Option[Preview] = Some(Preview("restore", "instant", "rows") { (scope, given) =>
    val time = given.string("instant").getOrElse(throw given.missing("instant"))
    val lost = RestoreService.restore(scope, time, isPreview = true)
    ServicePreviews.restored(scope, lost, Preview.rows(given))
  })

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] =
    Restores.row(RestoreService.restore(arguments.scope(session, table), arguments.required("instant_time"),
        Restores.isPreview(arguments)))
}

/** CALL rollback_to_savepoint(table => … | path => …, instant_time => …): takes back all writes after a savepoint. */
object RollbackToSavepoint extends TableProcedure {
  override val name = "rollback_to_savepoint"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter("instant_time", StringType, "time of the savepoint; without it, the newest"),
    Parameter.path,
    Restores.dryRun,
    Parameter.options
  )

  override val measures: Seq[String] = Restores.measures

  override val result: StructType = Restores.columns("rollback_savepoint_result")

  override val preview: Option[Preview] = Some(Preview("restore_savepoint", "instant", "rows") { (scope, given) =>
    val time = given.string("instant")
    val lost = RestoreService.restoreSavepoint(scope, time, isPreview = true)
    ServicePreviews.restored(scope, lost, Preview.rows(given))
  })

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] =
    Restores.row(RestoreService.restoreSavepoint(arguments.scope(session, table), Restores.instant(arguments),
        Restores.isPreview(arguments)))
}

/** CALL rollback_to_instant(table => … | path => …, instant_time => …): takes back the newest write. */
object RollbackToInstant extends TableProcedure {
  override val name = "rollback_to_instant"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter("instant_time", StringType, "requested time of the newest completed write, which is taken back"),
    Parameter.path,
    Restores.dryRun,
    Parameter.options
  )

  override val measures: Seq[String] = Restores.measures

  override val result: StructType = Restores.columns("rollback_result")

  override val preview: Option[Preview] = Some(Preview("rollback", "instant", "rows") { (scope, given) =>
    val time = given.string("instant")
    val lost = RestoreService.rollback(scope, time, isPreview = true)
    ServicePreviews.rolledBack(scope, lost, Preview.rows(given))
  })

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] =
    Restores.row(RestoreService.rollback(arguments.scope(session, table), Restores.instant(arguments),
        Restores.isPreview(arguments)))
}

/** CALL show_restores(table => … | path => …): completed restores, newest first. */
object ShowRestores extends LazyTableProcedure {
  override val name = "show_restores"

  override val parameters: Seq[Parameter] = Seq(Parameter.table, Parameter.limit(10), Parameter.path, Parameter.filter)

  override val result: StructType = Procedure.columns(
    "instant" -> StringType,
    "state_transition_time" -> StringType,
    "restored_instants" -> ArrayType(StringType),
    "total_files_deleted" -> IntegerType,
    "time_taken_in_millis" -> LongType
  )

  override protected def rows(table: OpenTable, arguments: Arguments): Iterator[Row] =
    table.timeline.restores.reverseIterator.map { instant =>
      val done = table.timeline.restore(instant)
      Row(instant.requested, instant.completed.orNull, done.instants.map(_.instant),
        done.rollbacks.values.flatMap(_.deleted.values).map(_.size).sum, done.elapsedMs)
    }
}

/** CALL show_rollback_detail(table => … | path => …, instant_time => …): the files that a rollback deleted. */
object ShowRollbackDetail extends LazyTableProcedure {
  override val name = "show_rollback_detail"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter.limit(10),
    Parameter("instant_time", StringType, "requested time of the rollback", isRequired = true),
    Parameter.path,
    Parameter.filter
  )

  override val result: StructType = Procedure.columns(
    "instant" -> StringType,
    "rollback_instant" -> StringType,
    "partition" -> StringType,
    "deleted_file" -> StringType,
    "succeeded" -> BooleanType
  )

  override protected def rows(table: OpenTable, arguments: Arguments): Iterator[Row] = {
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

/** The parameters and columns that restores and rollbacks share. */
private object Restores {

  val dryRun: Parameter =
    Parameter("dry_run", BooleanType, "true: nothing is changed, and the result shows what would be lost",
      default = Some("false"))

  val measures: Seq[String] =
    Seq("commits_lost", "rows_inserted", "rows_updated", "rows_deleted", "total_files_deleted", "total_bytes_deleted")

  def isPreview(arguments: Arguments): Boolean = arguments.boolean("dry_run").contains(true)

  def instant(arguments: Arguments): Option[String] = arguments.string("instant_time").filter(_.nonEmpty)

  /** @param first Hudi's column, which is true */
  def columns(first: String): StructType = Procedure.columns(
    first -> BooleanType,
    "instant" -> StringType,
    "newest_commit" -> StringType,
    "time_taken_in_millis" -> LongType,
    "commits_lost" -> IntegerType,
    "rows_inserted" -> LongType,
    "rows_updated" -> LongType,
    "rows_deleted" -> LongType,
    "total_files_deleted" -> IntegerType,
    "total_bytes_deleted" -> LongType,
    "taken_back" -> ArrayType(Procedure.columns("instant" -> StringType, "action" -> StringType,
        "state" -> StringType, "operation" -> StringType, "rows_inserted" -> LongType, "rows_updated" -> LongType,
        "rows_deleted" -> LongType)),
    "files" -> ArrayType(Procedure.columns("path" -> StringType, "size" -> LongType)),
    "file_groups_visible" -> ArrayType(StringType)
  )

  def row(done: RestoreReport): Seq[Row] = Seq(Row(
      true,
      done.instant.orNull,
      done.newest.orNull,
      done.elapsedMs,
      done.takenBack.count(_.operation.isDefined),
      done.takenBack.map(_.inserted).sum,
      done.takenBack.map(_.updated).sum,
      done.takenBack.map(_.deleted).sum,
      done.files.size,
      done.bytes,
      done.takenBack.map(t =>
        Row(t.instant, t.action, t.state, t.operation.orNull, t.inserted, t.updated, t.deleted)),
      done.files.map(f => Row(f.path, f.sizeBytes)),
      done.groupPaths
    ))
}
