package io.merganser.table.commit

import io.merganser.merge.MerganserException
import io.merganser.table.options.Permits
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{Parallel, Storage}

/**
 * The metadata table in `.hoodie/metadata`, which we do not maintain. A stale one would hide our commits from other
 * engines' readers, so it is dropped before our first commit; engines that use it rebuild it completely.
 */
private[table] object MetadataTable {

  val Folder = ".hoodie/metadata"

  /** Partitions that engines rebuild; the others are indexes that a user created. */
  private val Rebuildable = Set("files", "column_stats", "partition_stats", "bloom_filters")

  /** @throws io.merganser.merge.MerganserException METADATA_INDEX_PRESENT, METADATA_TABLE_PRESENT */
  def requireDroppable(storage: Storage, config: TableConfig, permits: Permits): Unit = {
    val (rebuildable, indexes) = config.metadataPartitions.partition(Rebuildable)
    if (rebuildable.nonEmpty && !permits.dropMetadataTable)
      throw MerganserException("METADATA_TABLE_PRESENT", "path" -> storage, "partitions" -> rebuildable.mkString(", "))
    if (indexes.nonEmpty && !permits.dropIndexes)
      throw MerganserException("METADATA_INDEX_PRESENT", "path" -> storage, "indexes" -> indexes.mkString(", "))
  }

  /** Whether another engine maintains one. */
  def isMaintained(config: TableConfig): Boolean = config.metadataPartitions.nonEmpty

  /** Call under the table lock. Properties change first: from then on readers ignore the folder. */
  def drop(storage: Storage, permits: Permits): Unit = {
    val (config, isThere) = Parallel.both(TableConfig.load(storage), storage.exists(Folder))
    requireDroppable(storage, config, permits)
    if (config.metadataPartitions.nonEmpty)
      TableConfig.updateUnderLock(storage, _ - TableConfig.MetadataPartitions - TableConfig.MetadataPartitionsInflight)
    if (isThere) { storage.deleteFolder(Folder); () }
  }
}
