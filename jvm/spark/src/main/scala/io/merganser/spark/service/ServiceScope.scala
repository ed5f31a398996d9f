package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.settings.WriteConfig
import org.apache.spark.sql.SparkSession

/** What a service works on. */
final case class ServiceScope(session: SparkSession, table: OpenTable, settings: WriteConfig) {

  /** With the table as it is now. */
  def refreshed: ServiceScope = copy(table = table.refreshed())
}
