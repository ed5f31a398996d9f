package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.commit.Transaction
import io.merganser.table.service.{RestoreReport, Restoring}
import io.merganser.table.settings.WriteConfig
import org.apache.spark.sql.SparkSession

/** Takes completed writes of a table back, and registers the table as it is then. */
object RestoreService {

  /**
   * @param time      that of the write to restore, see [[io.merganser.table.slice.TimeTravel.writeAt]]
   * @param isPreview changes nothing
   */
  def restore(
      session: SparkSession,
      table: OpenTable,
      settings: WriteConfig,
      time: String,
      isPreview: Boolean
  ): RestoreReport = {
    val service = of(table, settings, isPreview)
    if (isPreview) service.previewRestore(time) else registered(session, table, settings, service.restore(time))
  }

  /** @param savepoint requested time of its write; None: the newest */
  def restoreSavepoint(
      session: SparkSession,
      table: OpenTable,
      settings: WriteConfig,
      savepoint: Option[String],
      isPreview: Boolean
  ): RestoreReport =
    restore(session, table, settings, SavepointService.of(table).find(savepoint).requested, isPreview)

  /** @param instant requested time of the newest write; None: whichever it is */
  def rollback(
      session: SparkSession,
      table: OpenTable,
      settings: WriteConfig,
      instant: Option[String],
      isPreview: Boolean
  ): RestoreReport = {
    val service = of(table, settings, isPreview)
    if (isPreview) service.previewRollback(instant)
    else registered(session, table, settings, service.rollback(instant))
  }

  private def of(table: OpenTable, settings: WriteConfig, isPreview: Boolean): Restoring = {
    if (!isPreview) settings.requireNoDryRun("restore", table.config.name)
    new Restoring(table.storage, table.config, Transaction.Options.of(settings).copy(opened = Some(table.timeline)))
  }

  private def registered(
      session: SparkSession,
      table: OpenTable,
      settings: WriteConfig,
      done: RestoreReport
  ): RestoreReport = {
    done.instant.filter(_ => done.newest.isDefined).foreach(Registration.after(session, table, settings, _))
    done
  }
}
