package io.merganser.table

import io.merganser.table.file.FileNames
import io.merganser.table.index.HashRing
import io.merganser.table.properties.TableConfig
import io.merganser.table.slice.TableView
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Timeline

/** Files and instants of a table that belong to no completed write. */
object Leftovers {

  private val Rings = ".hoodie/.bucket_index/consistent_hashing_metadata"

  /** Two hours, in milliseconds: writers remove temporary files of others after one. */
  private val Aged = 7200000L

  /**
   * Pending instants, temporary files and folders, heartbeats, the lock, the backup of the properties, instants of a
   * layout that the table had before, versions of columns and of buckets without a commit, and data files that no
   * commit names.
   */
  def of(storage: Storage): Seq[String] = {
    val config    = TableConfig.load(storage)
    val timeline  = Timeline.load(storage, config)
    val completed = timeline.completed.map(_.requested).toSet
    val committed = timeline.completed.flatMap(timeline.metadata(_).allStats).flatMap(stat =>
      stat.path +: stat.cdcStats.keys.toSeq).toSet
    val files =
      new TableView(storage, config, timeline).partitions.flatMap(p => names(storage, p).map(FileNames.path(p, _)))
    val rings = deepNames(storage, Rings).filter(_.endsWith(HashRing.Suffix))
    timeline.pending.map(_.toString) ++
      names(storage, ".hoodie/.temp") ++
      names(storage, ".hoodie/.heartbeat") ++
      names(storage, ".hoodie").filter(name => name == "lock" || name.endsWith(".backup")) ++
      (if (config.layoutVersion >= 2) names(storage, ".hoodie").filter(_.matches("\\d{17}.*")) else Nil) ++
      (if (config.layoutVersion < 2) names(storage, ".hoodie/timeline").filterNot(_ == "history") else Nil) ++
      names(storage, ".hoodie/.schema").filterNot(name => completed(name.takeWhile(_.isDigit))) ++
      rings.filterNot(name => name.startsWith(HashRing.First) || completed(name.takeWhile(_.isDigit))) ++
      files.filterNot(file => committed(file) || file.contains(".hoodie"))
  }

  /** Makes temporary files and heartbeats of a writer that died as old as they are some time later. */
  def age(storage: Storage): Unit =
    for (folder <- Seq(".hoodie/.temp", ".hoodie/.heartbeat"); file <- storage.list(folder) if file.isFile)
      storage.fs.setTimes(file.getPath, System.currentTimeMillis() - Aged, -1)

  private def names(storage: Storage, folder: String): Seq[String] =
    storage.list(folder).map(_.getPath.getName).filterNot(_.endsWith(".crc"))

  private def deepNames(storage: Storage, folder: String): Seq[String] = storage.list(folder).flatMap { found =>
    if (found.isDirectory) deepNames(storage, s"$folder/${found.getPath.getName}") else Seq(found.getPath.getName)
  }
}
