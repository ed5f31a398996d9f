package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.commit.{Rollback, Transaction}
import io.merganser.table.options.FailedWrites
import io.merganser.table.service.{CleanPreview, CleanReport, Cleaning}
import io.merganser.table.settings.WriteConfig

/** Cleans of a table: after its writes, and on request. */
object CleaningService {

  /** After a write. */
  def inline(table: OpenTable, settings: WriteConfig): Unit =
    if (settings.cleaning.automatic) { of(table, settings).automatic(); () }

  /** If enough commits have completed since the last clean. */
  private[service] def due(table: OpenTable, settings: WriteConfig): Seq[CleanReport] = of(table, settings).automatic()

  /**
   * Rolls back failed writes that may have left files, where that is not done by each write, and cleans.
   *
   * @param schedules   false: only pending cleans are run
   * @param ifTriggered only if enough commits have completed since the last clean
   */
  def run(
      table: OpenTable,
      settings: WriteConfig,
      schedules: Boolean = true,
      ifTriggered: Boolean = false
  ): Seq[CleanReport] = {
    if (settings.failedWrites != FailedWrites.Eager)
      Rollback.failed(table.storage, table.config, Transaction.Options.of(settings))
    of(table, settings).onRequest(schedules, ifTriggered)
  }

  /** What a clean would delete; changes nothing. */
  def preview(table: OpenTable, settings: WriteConfig): CleanPreview = of(table, settings).preview()

  private def of(table: OpenTable, settings: WriteConfig): Cleaning =
    new Cleaning(table.storage, table.config, settings.cleaning, settings.access, Some(table.timeline))
}
