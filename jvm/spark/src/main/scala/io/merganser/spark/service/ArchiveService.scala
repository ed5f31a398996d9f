package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.service.{Archived, Archiving}
import io.merganser.table.settings.{ArchiveConfig, WriteConfig}
import io.merganser.table.timeline.Instant

/** Moves old instants from a table's timeline to its history. */
object ArchiveService {

  /** Archives all that is due. */
  def run(
      table: OpenTable,
      settings: WriteConfig,
      limits: ArchiveConfig => ArchiveConfig
  ): Archived = archiving(table, settings.copy(archive = limits(settings.archive))).run()

  /** The instants that [[run]] would move; changes nothing. */
  def preview(table: OpenTable, settings: WriteConfig): Seq[Instant] =
    archiving(table, settings).preview(table.timeline)

  /**
   * After a write: archives if the timeline is longer than configured. Of a very long one a limited number of instants,
   * the next write continues.
   *
   * @param table as the write opened it
   */
  def inline(table: OpenTable, settings: WriteConfig): Unit =
    if (settings.archive.automatic) {
      val service = archiving(table, settings)
      if (service.mayBeDue(table.timeline, more = 1)) { service.runOnce(); () }
    }

  /** Archives all that is due by a timeline that was just loaded. */
  private[service] def due(table: OpenTable, settings: WriteConfig): Archived = {
    val service = archiving(table, settings)
    if (service.mayBeDue(table.timeline, more = 0)) service.run()
    else Archived(0, None, None, table.timeline.completed.size)
  }

  private def archiving(table: OpenTable, settings: WriteConfig) =
    new Archiving(table.storage, table.config, settings.archive, settings.access)
}
