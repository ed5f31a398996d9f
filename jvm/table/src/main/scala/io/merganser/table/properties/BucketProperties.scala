package io.merganser.table.properties

import io.merganser.table.options.Options
import io.merganser.table.storage.Storage

/**
 * Properties of tables with the BUCKET index that earlier releases did not store: Hudi's procedures compare the hash fields with the record
 * key's, and fail where a table has the one without the other.
 */
private[table] object BucketProperties {

  /**
   * Stores what is lacking. To call under the table lock.
   *
   * @param config the table's properties as they were when they were last read
   */
  def complete(storage: Storage, config: TableConfig): Unit =
    if (lacking(config.properties).nonEmpty) {
      TableConfig.updateUnderLock(storage, now => now ++ lacking(now))
      ()
    }

  private def lacking(properties: Map[String, String]): Map[String, String] = {
    val keys = TableConfig(properties).recordKeyFields
    if (
      !properties.contains(Options.BucketHashFields.key) || properties.contains(Options.RecordKey.key) || keys.isEmpty
    ) Map.empty
    else Map(Options.RecordKey.key -> keys.mkString(","))
  }
}
