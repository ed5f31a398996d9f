package io.merganser.table.file

import io.merganser.table.storage.{Parallel, Storage}
import org.apache.hadoop.fs.FileStatus

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
  def all: Seq[(String, String, String)] = (direct ++ listed).distinct

  /** Those with this instant in the file's name: all, but for logs that this instant appended to in version 6. */
  private[table] def own: Seq[(String, String, String)] = all.filter { case (_, name, _) =>
    FileNames.instant(name).contains(instant)
  }

  private[table] def exist: Boolean = storage.exists(folder)

  private[table] def prepare(): Unit = storage.makeFolder(folder)

  private[table] def deleteAll(): Unit = { storage.deleteFolder(folder); () }

  private[table] def delete(partitionPath: String, fileName: String, kind: String): Unit = {
    storage.delete(s"$folder/${FileNames.path(partitionPath, fileName)}.marker.$kind")
    ()
  }

  /** Deletes the folder if it announces nothing. */
  private[table] def deleteIfEmpty(): Unit = if (files(Seq(folder)).isEmpty) deleteAll()

  /** When the newest of them was made, in milliseconds since 1970. */
  private[table] def newestMs: Option[Long] =
    files(Seq(folder)).map(_._2.getModificationTime).reduceOption(math.max(_, _))

  private def direct: Seq[(String, String, String)] = files(Seq(folder)).flatMap { case (path, _) =>
    parse(path.drop(folder.length + 1))
  }

  /** Files below some folders with their paths; the folders of one level are listed side by side. */
  private def files(folders: Seq[String]): Seq[(String, FileStatus)] = if (folders.isEmpty) Nil
  else {
    val listed =
      Parallel.map(folders)(below => storage.list(below).map(f => s"$below/${f.getPath.getName}" -> f)).flatten
    val (deeper, found) = listed.partition(_._2.isDirectory)
    found ++ files(deeper.map(_._1))
  }

  /** Other engines may keep one marker a line in files MARKERS0, MARKERS1, ... */
  private def listed: Seq[(String, String, String)] =
    storage.list(folder).map(_.getPath.getName).filter(_.matches("MARKERS\\d+"))
      .flatMap(name => storage.readText(s"$folder/$name").split('\n').toSeq).map(_.trim).filter(_.nonEmpty).flatMap(
        parse)

  private def parse(marker: String): Option[(String, String, String)] = marker match {
    case Markers.Name(path, kind) =>
      val at                = path.lastIndexOf('/')
      val (partition, name) = (path.take(math.max(at, 0)), path.drop(at + 1))
      val isData            = FileNames.isLog(name) || FileNames.instant(name).contains(instant)
      if (isData && at != 0 && Markers.isPartition(partition)) Some((partition, name, kind)) else None
    case _ => None
  }
}

object Markers {

  private[table] val Folder = ".hoodie/.temp"

  private val Kinds = Set("CREATE", "MERGE", "APPEND")
  private val Name  = """^(.*)\.marker\.(CREATE|MERGE|APPEND)$""".r

  private def isPartition(path: String): Boolean = {
    val levels = path.split("/", -1).toSeq
    path.isEmpty || (levels.head != ".hoodie" && levels.forall(level =>
      level.nonEmpty && level != "." && level != ".."))
  }

  private[table] def folder(instant: String): String = s"$Folder/$instant"

  /** The files that writes have announced and that nobody has removed or committed yet, by their paths in the table. */
  private[table] def announced(storage: Storage): Set[String] =
    storage.list(Folder).filter(_.isDirectory).flatMap(f => new Markers(storage, f.getPath.getName).all)
      .map { case (partition, name, _) => FileNames.path(partition, name) }.toSet
}
