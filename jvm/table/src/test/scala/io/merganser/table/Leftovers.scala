package io.merganser.table

import io.merganser.table.file.FileNames
import io.merganser.table.properties.TableConfig
import io.merganser.table.slice.TableView
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Timeline

/** Files and instants of a table that belong to no completed write. */
object Leftovers {

  /** Pending instants, temporary folders, heartbeats, the lock, and data files that no commit names. */
  def of(storage: Storage): Seq[String] = {
    val config    = TableConfig.load(storage)
    val timeline  = Timeline.load(storage, config)
    val committed = timeline.completed.flatMap(timeline.metadata(_).allStats.map(_.path)).toSet
    val files =
      new TableView(storage, config, timeline).partitions.flatMap(p => names(storage, p).map(FileNames.path(p, _)))
    timeline.pending.map(_.toString) ++
      names(storage, ".hoodie/.temp").filterNot(_.startsWith("unpublished-")) ++
      names(storage, ".hoodie/.heartbeat") ++
      names(storage, ".hoodie").filter(_ == "lock") ++
      files.filterNot(file => committed(file) || file.contains(".hoodie"))
  }

  private def names(storage: Storage, folder: String): Seq[String] =
    storage.list(folder).map(_.getPath.getName).filterNot(_.endsWith(".crc"))
}
