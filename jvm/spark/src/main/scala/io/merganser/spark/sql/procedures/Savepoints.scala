package io.merganser.spark.sql.procedures

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.service.{SavepointService, ServicePreviews}
import io.merganser.table.service.Savepoint
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/** CALL create_savepoint(table => … | path => …, commit_time => …): retains the files of a write. */
object CreateSavepoint extends TableProcedure {
  override val name = "create_savepoint"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter("commit_time", StringType,
      "requested time of the write, or a time, for the last one that had completed by then; without it, the newest"),
    Parameter("user", StringType, "who creates it"),
    Parameter("comments", StringType, "why"),
    Parameter.path,
    Parameter.options
  )

  /** Hudi's column, and the savepoint. */
  override val result: StructType = Procedure.columns(
    ("create_savepoint_result" -> BooleanType) +: SavepointColumns.columns: _*)

  override val preview: Option[Preview] = Some(Preview("savepoint", "instant")((scope, given) =>
      ServicePreviews.savepoint(scope.table, given.string("instant"))))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val created = SavepointService.of(table, arguments.settings(session, table)).create(
      arguments.string("commit_time").filter(_.nonEmpty),
      arguments.string("user").getOrElse(""), arguments.string("comments").getOrElse(""))
    Seq(Row.fromSeq(true +: SavepointColumns.row(created)))
  }
}

/** CALL delete_savepoint(table => … | path => …, instant_time => …): lets cleans delete the files of a savepoint. */
object DeleteSavepoint extends TableProcedure {
  override val name = "delete_savepoint"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter("instant_time", StringType, "times of the savepoints, comma separated; without it, the newest"),
    Parameter.path,
    Parameter.options
  )

  override val result: StructType = Procedure.columns("delete_savepoint_result" -> BooleanType)

  override val preview: Option[Preview] = Some(Preview("delete_savepoint", "instant")((scope, given) =>
      ServicePreviews.deletedSavepoint(scope.table, given.string("instant"))))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val service = SavepointService.of(table, arguments.settings(session, table))
    val named   = arguments.string("instant_time").toSeq.flatMap(_.split(',')).map(_.trim).filter(_.nonEmpty)
    if (named.isEmpty) service.delete(None) else named.foreach(time => service.delete(Some(time)))
    Seq(Row(true))
  }
}

/** CALL show_savepoints(table => … | path => …): the completed savepoints, newest first. */
object ShowSavepoints extends TableProcedure {
  override val name = "show_savepoints"

  override val parameters: Seq[Parameter] = Seq(Parameter.table, Parameter.path)

  override val result: StructType = Procedure.columns(SavepointColumns.columns: _*)

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] =
    SavepointService.of(table).all.map(s => Row.fromSeq(SavepointColumns.row(s)))
}

/** The columns of a savepoint in results. */
private object SavepointColumns {

  val columns: Seq[(String, DataType)] = Seq(
    "savepoint_time" -> StringType,
    "savepointed_by" -> StringType,
    "savepointed_at" -> LongType,
    "comments" -> StringType,
    "files" -> IntegerType
  )

  def row(s: Savepoint): Seq[Any] =
    Seq(s.instant, s.metadata.createdBy, s.metadata.createdAtMs, s.metadata.comments, s.files)
}
