package io.merganser.spark.sql.procedures

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.service.{SavepointService, ServicePreviews}
import io.merganser.table.service.Savepoint
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

/** CALL create_savepoint(table => … | path => …, commit_time => …): retains the files of a write. */
object CreateSavepoint extends TableProcedure[Savepoint] {
  override val name = "create_savepoint"

  override val parameters = Seq(
    Parameter.table,
    Parameter("commit_time", StringType,
      "requested time of the write, or a time: the last write that had completed by then; default: the newest"),
    Parameter("user", StringType, "who creates it"),
    Parameter("comments", StringType, "why"),
    Parameter.path,
    Parameter.options
  )

  /** Hudi's column, and the savepoint. */
  override val columns = ResultColumns[Savepoint](boolean("create_savepoint_result", _ => true), ShowSavepoints.columns)

  override val preview = Some(Preview("savepoint", "instant")((scope, given) =>
      ServicePreviews.savepoint(scope.table, given.string("instant"))))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Savepoint] =
    Seq(SavepointService.of(table, arguments.settings(session, table)).create(
        arguments.string("commit_time").filter(_.nonEmpty),
        arguments.string("user").getOrElse(""), arguments.string("comments").getOrElse("")))
}

/** CALL delete_savepoint(table => … | path => …, instant_time => …): lets cleans delete the files of a savepoint. */
object DeleteSavepoint extends TableProcedure[Boolean] {
  override val name = "delete_savepoint"

  override val parameters = Seq(
    Parameter.table,
    Parameter("instant_time", StringType, "times of the savepoints, comma separated; default: the newest"),
    Parameter.path,
    Parameter.options
  )

  override val columns = ResultColumns[Boolean](boolean("delete_savepoint_result", identity(_)))

  override val preview = Some(Preview("delete_savepoint", "instant")((scope, given) =>
      ServicePreviews.deletedSavepoint(scope.table, given.string("instant"))))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Boolean] = {
    val service = SavepointService.of(table, arguments.settings(session, table))
    val named   = arguments.names("instant_time")
    if (named.isEmpty) service.delete(None) else named.foreach(time => service.delete(Some(time)))
    Seq(true)
  }
}

/** CALL show_savepoints(table => … | path => …): the completed savepoints, newest first. */
object ShowSavepoints extends TableProcedure[Savepoint] {
  override val name = "show_savepoints"

  override val parameters = Seq(Parameter.table, Parameter.path)

  override val columns = ResultColumns[Savepoint](
    string("savepoint_time", _.instant),
    string("savepointed_by", _.metadata.createdBy),
    long("savepointed_at", _.metadata.createdAtMs),
    string("comments", _.metadata.comments),
    int("files", _.files)
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Savepoint] =
    SavepointService.of(table).all
}
