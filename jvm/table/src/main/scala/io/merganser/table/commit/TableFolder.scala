package io.merganser.table.commit

import io.merganser.merge.MerganserException
import io.merganser.table.file.{FileNames, Markers}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import org.apache.hadoop.fs.FileStatus

/** The folder of a table, also of one that is to be created. */
object TableFolder {

  /** The names of the files and folders in its folder of metadata. */
  private[commit] def names(storage: Storage): Set[String] = storage.list(".hoodie").map(_.getPath.getName).toSet

  /**
   * Refuses a folder that is not a table but contains files: they would be mixed with the table's.
   *
   * Ignored are names that begin with a dot (except log files), `_SUCCESS`, and files left by tasks of a failed write,
   * which the next write removes.
   *
   * @throws io.merganser.merge.MerganserException FOLDER_NOT_EMPTY, or TABLE_EXISTS if another writer created a table
   */
  def requireEmpty(storage: Storage): Unit = {
    lazy val leftovers = Markers.announced(storage)
    files(storage, "").find(file => !leftovers(file)).foreach { found =>
      if (TableConfig.exists(storage)) throw MerganserException("TABLE_EXISTS", "path" -> storage)
      throw MerganserException("FOLDER_NOT_EMPTY", "path" -> storage, "found" -> found)
    }
  }

  private def files(storage: Storage, folder: String): Iterator[String] = {
    val (folders, files) =
      storage.list(folder).filter(entry => isRelevant(entry.getPath.getName)).partition(_.isDirectory)
    def paths(entries: Seq[FileStatus]) = entries.map(entry => FileNames.path(folder, entry.getPath.getName)).sorted
    paths(files).iterator ++ paths(folders).iterator.flatMap(this.files(storage, _))
  }

  private def isRelevant(name: String): Boolean = FileNames.isLog(name) || (!name.startsWith(".") && name != "_SUCCESS")
}
