package io.merganser.table.commit

import io.merganser.merge.MerganserException
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage

/**
 * `.hoodie/metadata`, which other engines keep and we do not: once a commit of ours is missing in it, their readers would
 * not see that commit. So it is removed before our first one; who keeps it builds it anew with everything in it.
 */
private[table] object MetadataTable {

  private val Folder = ".hoodie/metadata"

  /** Partitions that anybody can build anew; the others are indexes that somebody created on purpose. */
  private val Rebuilt = Set("files", "column_stats", "partition_stats", "bloom_filters")

  /** @throws io.merganser.merge.MerganserException METADATA_INDEX_PRESENT */
  def requireDroppable(storage: Storage, config: TableConfig, dropIndexes: Boolean): Unit = {
    val indexes = config.metadataPartitions.filterNot(Rebuilt)
    if (indexes.nonEmpty && !dropIndexes)
      throw MerganserException("METADATA_INDEX_PRESENT", "path" -> storage, "indexes" -> indexes.mkString(", "))
  }

  /** To call under the table lock. First the properties: from then on readers do not look at the folder. */
  def drop(storage: Storage, dropIndexes: Boolean): Unit = {
    val config = TableConfig.load(storage)
    requireDroppable(storage, config, dropIndexes)
    if (config.metadataPartitions.nonEmpty)
      TableConfig.updateUnderLock(storage, _ - TableConfig.MetadataPartitions - TableConfig.MetadataPartitionsInflight)
    if (storage.exists(Folder)) { storage.deleteFolder(Folder); () }
  }
}
