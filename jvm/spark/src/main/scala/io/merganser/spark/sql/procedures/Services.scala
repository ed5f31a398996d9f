package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{BackgroundServices, ServiceStatus}
import io.merganser.spark.snapshot.OpenTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

/** CALL start_services(table => … | path => …): services of a table run in the background of the application. */
object StartServices extends TableProcedure[ServiceStatus] {
  override val name = "start_services"

  override val parameters = Seq(
    Parameter.table,
    Parameter.path,
    Parameter("services", StringType,
      "compaction, log compaction, clustering, clean, archiving, comma separated; default: all but log compaction " +
        "and clustering"),
    Parameter("interval_seconds", IntegerType, "seconds between runs; a write of this application also starts one",
      default = Some(BackgroundServices.EverySeconds.toString)),
    Parameter.options
  )

  override val columns = ShowServices.columns

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[ServiceStatus] =
    BackgroundServices.start(
      session,
      table,
      arguments.string("services").map(_ => arguments.names("services")),
      arguments.int("interval_seconds").map(_.toLong),
      arguments.settings(session, _)
    )
}

/** CALL stop_services(table => … | path => …): ends them after the work that writes have requested. */
object StopServices extends TableProcedure[Boolean] {
  override val name = "stop_services"

  override val parameters = Seq(Parameter.table, Parameter.path)

  override val columns = ResultColumns[Boolean](boolean("stopped", identity(_)))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Boolean] =
    Seq(BackgroundServices.stop(table))
}

/** CALL show_services(table => … | path => …): those of a table, or without arguments of all tables. */
object ShowServices extends Procedure[ServiceStatus] {
  override val name = "show_services"

  override val parameters = Seq(Parameter.table, Parameter.path, Parameter.filter)

  override val columns = ResultColumns[ServiceStatus](
    string("path", _.path),
    string("service", _.service),
    string("state", _.state),
    long("interval_seconds", _.everySeconds.map(Long.box).orNull),
    long("runs", _.runs),
    int("failures", _.failures),
    long("last_run", _.lastRunMs.map(Long.box).orNull),
    string("last_instant", _.lastInstant.orNull),
    string("waits_for", _.waitsFor.orNull),
    string("last_error", _.lastError.orNull)
  )

  override protected def run(session: SparkSession, arguments: Arguments): Seq[ServiceStatus] = {
    val isOfAll = arguments.string("table").isEmpty && arguments.string("path").isEmpty
    if (isOfAll) BackgroundServices.all
    else BackgroundServices.of(OpenTable.load(session, arguments.tablePath(session)))
  }
}
