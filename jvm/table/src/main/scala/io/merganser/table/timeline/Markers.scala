package io.merganser.table.timeline

import io.merganser.table.Storage
import io.merganser.table.slice.FileNames

/**
 * Empty files in `.hoodie/.temp/<instant>` that announce each data file before it is created, so that a write that fails
 * can be cleaned up by whoever comes next, of any engine. Serializable: tasks make them.
 */
final class Markers(storage: Storage, val instant: String) extends Serializable {

  private val folder = Markers.folder(instant)

  /**
   * To call before the file is created.
   *
   * @param kind CREATE for a new base file and for log files, MERGE for a base file that replaces one
   */
  def create(partitionPath: String, fileName: String, kind: String): Unit = {
    if (!Markers.Kinds(kind)) throw new IllegalArgumentException(s"marker kind '$kind'")
    storage.touch(s"$folder/${FileNames.path(partitionPath, fileName)}.marker.$kind")
  }

  /**
   * Partition path, file name and kind of every file announced, in either of the two styles markers come in. Names alone
   * that a data file in a partition of the table may have: whoever may write markers is not to have other files deleted.
   * Base files are of this instant; a log file may bear another in its name, see [[own]].
   */
  def all: Seq[(String, String, String)] = (direct(folder) ++ listed).distinct

  /** Those with this instant in the file's name: all, but for logs that this instant appended to in version 6. */
  private[timeline] def own: Seq[(String, String, String)] = all.filter { case (_, name, _) => FileNames.instant(name).contains(instant) }

  private[timeline] def exist: Boolean = storage.exists(folder)

  private[timeline] def prepare(): Unit = storage.makeFolder(folder)

  private[timeline] def deleteAll(): Unit = { storage.deleteFolder(folder); () }

  private def direct(below: String): Seq[(String, String, String)] = storage.list(below).flatMap { file =>
    val path = s"$below/${file.getPath.getName}"
    if (file.isDirectory) direct(path) else parse(path.drop(folder.length + 1))
  }

  /** Other engines may keep one marker a line in files MARKERS0, MARKERS1, ... */
  private def listed: Seq[(String, String, String)] =
    storage.list(folder).map(_.getPath.getName).filter(_.matches("MARKERS\\d+"))
      .flatMap(name => storage.readText(s"$folder/$name").split('\n').toSeq).map(_.trim).filter(_.nonEmpty).flatMap(parse)

  private def parse(marker: String): Option[(String, String, String)] = marker match {
    case Markers.Name(path, kind) =>
      val at = path.lastIndexOf('/')
      val (partition, name) = (path.take(math.max(at, 0)), path.drop(at + 1))
      val isData            = FileNames.isLog(name) || FileNames.instant(name).contains(instant)
      if (isData && at != 0 && Markers.isPartition(partition)) Some((partition, name, kind)) else None
    case _ => None
  }
}

object Markers {

  private[timeline] val Folder = ".hoodie/.temp"

  private val Kinds = Set("CREATE", "MERGE", "APPEND")
  private val Name  = """^(.*)\.marker\.(CREATE|MERGE|APPEND)$""".r

  private def isPartition(path: String): Boolean = {
    val levels = path.split("/", -1).toSeq
    path.isEmpty || (levels.head != ".hoodie" && levels.forall(level => level.nonEmpty && level != "." && level != ".."))
  }

  private[timeline] def folder(instant: String): String = s"$Folder/$instant"
}
