package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.place.StoredKeyForm
import io.merganser.table.settings.WriteConfig
import org.apache.spark.sql.SparkSession

/** What a service works on. */
final case class ServiceScope(session: SparkSession, table: OpenTable, settings: WriteConfig) {

  /** With the form of keys that the table's rows have. */
  def keyed: ServiceScope = copy(settings = StoredKeyForm.settled(settings, table))

  /** With the table as it is now. */
  def refreshed: ServiceScope = copy(table = table.refreshed())
}
