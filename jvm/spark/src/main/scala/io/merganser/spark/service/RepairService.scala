package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.service.{CleanFilesRepair, InvalidBaseFiles, OrphanFile, OrphanFiles, PartitionRepair}
import io.merganser.table.settings.WriteConfig
import org.apache.hadoop.fs.Path

/** Repairs of a table's files. */
object RepairService {

  /** Age from which on a file may be an orphan by default: Iceberg's three days. */
  val OrphanAgeMs: Long = 3L * 24 * 3600 * 1000

  /** @param olderThanMs see [[OrphanFiles.find]]; None: by [[OrphanAgeMs]] */
  def orphans(table: OpenTable, olderThanMs: Option[Long]): Seq[OrphanFile] =
    new OrphanFiles(table.storage, table.config).find(before(olderThanMs))

  /** @param backup see [[OrphanFiles.remove]] */
  def removeOrphans(
      table: OpenTable,
      settings: WriteConfig,
      olderThanMs: Option[Long],
      backup: Option[String]
  ): Seq[OrphanFile] =
    new OrphanFiles(table.storage, table.config, settings.access).remove(before(olderThanMs),
      backup.map(new Path(_)))

  def partitions(table: OpenTable, settings: WriteConfig): PartitionRepair =
    new PartitionRepair(table.storage, settings.access)

  def cleanFiles(table: OpenTable, settings: WriteConfig): CleanFilesRepair =
    new CleanFilesRepair(table.storage, settings.access)

  /** Paths of the base files that cannot be read. */
  def invalidBaseFiles(table: OpenTable): Seq[String] =
    InvalidBaseFiles.of(table.storage, table.view).map(path => table.storage.path(path).toString)

  private def before(olderThanMs: Option[Long]): Long =
    olderThanMs.getOrElse(System.currentTimeMillis() - OrphanAgeMs)
}
