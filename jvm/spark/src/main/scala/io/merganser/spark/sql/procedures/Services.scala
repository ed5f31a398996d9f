package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{BackgroundServices, ServiceStatus}
import io.merganser.spark.snapshot.OpenTable
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/** CALL start_services(table => … | path => …): services of a table run in the background of the application. */
object StartServices extends TableProcedure {
  override val name = "start_services"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter.path,
    Parameter("services", StringType,
      "compaction, log compaction, clustering, clean, archiving, comma separated; without it, all but log compaction " +
        "and clustering"),
    Parameter("interval_seconds", IntegerType, "time between runs; a write of this application starts one as well",
      default = Some(BackgroundServices.EverySeconds.toString)),
    Parameter.options
  )

  override val result: StructType = Services.columns

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] =
    BackgroundServices.start(
      session,
      table,
      arguments.string("services").map(_.split(",").toSeq.map(_.trim).filter(_.nonEmpty)),
      arguments.int("interval_seconds").map(_.toLong),
      arguments.settings(session, _)
    ).map(Services.row)
}

/** CALL stop_services(table => … | path => …): ends them after the work that writes have requested. */
object StopServices extends TableProcedure {
  override val name = "stop_services"

  override val parameters: Seq[Parameter] = Seq(Parameter.table, Parameter.path)

  override val result: StructType = Procedure.columns("stopped" -> BooleanType)

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] =
    Seq(Row(BackgroundServices.stop(table)))
}

/** CALL show_services(table => … | path => …): those of a table, or without arguments of all tables. */
object ShowServices extends Procedure {
  override val name = "show_services"

  override val parameters: Seq[Parameter] = Seq(Parameter.table, Parameter.path, Parameter.filter)

  override val result: StructType = Services.columns

  override protected def run(session: SparkSession, arguments: Arguments): Seq[Row] = {
    val isOfAll = arguments.string("table").isEmpty && arguments.string("path").isEmpty
    val found =
      if (isOfAll) BackgroundServices.all
      else BackgroundServices.of(OpenTable.load(session, arguments.tablePath(session)))
    found.map(Services.row)
  }
}

private[procedures] object Services {

  val columns: StructType = Procedure.columns(
    "path" -> StringType,
    "service" -> StringType,
    "state" -> StringType,
    "interval_seconds" -> LongType,
    "runs" -> LongType,
    "failures" -> IntegerType,
    "last_run" -> LongType,
    "last_instant" -> StringType,
    "waits_for" -> StringType,
    "last_error" -> StringType
  )

  def row(status: ServiceStatus): Row = Row(
    status.path,
    status.service,
    status.state,
    status.everySeconds.map(Long.box).orNull,
    status.runs,
    status.failures,
    status.lastRunMs.map(Long.box).orNull,
    status.lastInstant.orNull,
    status.waitsFor.orNull,
    status.lastError.orNull
  )
}
