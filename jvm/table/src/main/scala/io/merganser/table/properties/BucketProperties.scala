package io.merganser.table.properties

import io.merganser.table.options.Options
import io.merganser.table.storage.Storage

/**
 * Adds properties of tables with the BUCKET index that earlier releases did not store: Hudi's procedures compare the
 * hash fields with the record key's, and fail where a table has only one of them.
 */
private[table] object BucketProperties {

  /**
   * Stores the missing properties. To be called under the table lock.
   *
   * @param config the table's properties as last read
   */
  def complete(storage: Storage, config: TableConfig): Unit =
    if (missing(config.properties).nonEmpty) {
      TableConfig.updateUnderLock(storage, now => now ++ missing(now))
      ()
    }

  private def missing(properties: Map[String, String]): Map[String, String] = {
    val keys = TableConfig(properties).recordKeyFields
    if (
      !properties.contains(Options.BucketHashFields.key) || properties.contains(Options.RecordKey.key) || keys.isEmpty
    ) Map.empty
    else Map(Options.RecordKey.key -> keys.mkString(","))
  }
}
