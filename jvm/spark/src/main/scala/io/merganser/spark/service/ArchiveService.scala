package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.service.{Archived, Archiving}
import io.merganser.table.settings.{ArchiveConfig, WriteConfig}
import org.apache.spark.sql.SparkSession

/** Moves old instants from a table's timeline to its history. */
object ArchiveService {

  /** Archives all that is due. */
  def run(
      session: SparkSession,
      path: String,
      settings: WriteConfig,
      limits: ArchiveConfig => ArchiveConfig = identity
  ): Archived = {
    val table = OpenTable.load(session, path)
    archiving(table, settings.copy(archive = limits(settings.archive))).run()
  }

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

  private def archiving(table: OpenTable, settings: WriteConfig) =
    new Archiving(table.storage, table.config, settings.archive, settings.lock, settings.permits)
}
