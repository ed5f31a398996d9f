package io.merganser.table.config

import io.merganser.merge.MerganserException
import io.merganser.table.Storage

/** The folder of a table that is to be. */
object TableFolder {

  /**
   * Refuses a folder that is no table and holds files: they would lie among the table's from then on.
   *
   * Files and folders whose names begin with a dot do not count, nor does the marker of a finished job.
   *
   * @throws io.merganser.merge.MerganserException FOLDER_NOT_EMPTY, or TABLE_EXISTS if another writer made a table by now
   */
  def requireEmpty(storage: Storage): Unit = firstFile(storage, "").foreach { found =>
    if (TableConfig.exists(storage)) throw MerganserException("TABLE_EXISTS", "path" -> storage)
    throw MerganserException("FOLDER_NOT_EMPTY", "path" -> storage, "found" -> found)
  }

  private def firstFile(storage: Storage, folder: String): Option[String] = {
    val (folders, files) = storage.list(folder)
      .filterNot(entry => entry.getPath.getName.startsWith(".") || entry.getPath.getName == "_SUCCESS")
      .partition(_.isDirectory)
    def inside(name: String) = if (folder.isEmpty) name else s"$folder/$name"
    files.map(entry => inside(entry.getPath.getName)).sorted.headOption.orElse {
      folders.iterator.map(entry => firstFile(storage, inside(entry.getPath.getName))).collectFirst { case Some(found) => found }
    }
  }
}
