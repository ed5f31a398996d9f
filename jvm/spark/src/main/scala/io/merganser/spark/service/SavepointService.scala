package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.service.Savepoints
import io.merganser.table.settings.WriteConfig

/** Savepoints of a table that is open. */
object SavepointService {

  /** To list them. */
  def of(table: OpenTable): Savepoints = new Savepoints(table.storage, table.config)

  /** To change them. */
  def of(table: OpenTable, settings: WriteConfig): Savepoints =
    new Savepoints(table.storage, table.config, settings.access)
}
