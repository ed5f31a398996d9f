package io.merganser.table.commit

import io.merganser.merge.MerganserException
import io.merganser.table.file.{FileNames, Markers}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import org.apache.hadoop.fs.FileStatus

/** The folder of a table that is to be. */
object TableFolder {

  /**
   * Refuses a folder that is no table and holds files: they would lie among the table's from then on.
   *
   * Names that begin with a dot do not count, but for logs; nor do the marker of a finished job, and what tasks of a failed
   * write left, for the next write removes that.
   *
   * @throws io.merganser.merge.MerganserException FOLDER_NOT_EMPTY, or TABLE_EXISTS if another writer made a table by now
   */
  def requireEmpty(storage: Storage): Unit = {
    lazy val left = Markers.announced(storage)
    files(storage, "").find(file => !left(file)).foreach { found =>
      if (TableConfig.exists(storage)) throw MerganserException("TABLE_EXISTS", "path" -> storage)
      throw MerganserException("FOLDER_NOT_EMPTY", "path" -> storage, "found" -> found)
    }
  }

  private def files(storage: Storage, folder: String): Iterator[String] = {
    val (folders, files) = storage.list(folder).filter(entry => counts(entry.getPath.getName)).partition(_.isDirectory)
    def paths(entries: Seq[FileStatus]) = entries.map(entry => FileNames.path(folder, entry.getPath.getName)).sorted
    paths(files).iterator ++ paths(folders).iterator.flatMap(this.files(storage, _))
  }

  private def counts(name: String): Boolean = FileNames.isLog(name) || (!name.startsWith(".") && name != "_SUCCESS")
}
