package io.merganser.table.file

import io.merganser.table.storage.{DiscardedFiles, Parallel, Storage}
import org.apache.hadoop.fs.FileStatus

/**
 * Empty files in `.hoodie/.temp/<instant>` that announce each data file before it is created, so that the next writer
 * of any engine can clean up a failed write, and a file beside them that is there until the write ends. Serializable:
 * tasks create them.
 */
final class Markers(storage: Storage, val instant: String) extends Serializable {

  private val folder = Markers.folder(instant)

  /** Beside the folder: other engines take each file in it for a marker. */
  private val openFile = folder + Markers.Open

  /** To be called before the file is created. */
  def create(marker: Marker): Unit = storage.touch(file(marker))

  /**
   * The markers of all announced files, in either of the two marker formats. Only names that data files in the table's
   * partitions may have: a marker must not cause other files to be deleted. Base files are of this instant; a log file
   * may have another in its name, see [[own]].
   */
  def all: Seq[Marker] = {
    val (listed, single) = files(Seq(folder)).map(_._1.drop(folder.length + 1)).partition(_.matches("MARKERS\\d+"))
    (single.flatMap(parse) ++ listed.flatMap(named)).distinct
  }

  /** Those with this instant in the file's name: all except logs that this instant appended to in version 6. */
  private[table] def own: Seq[Marker] = all.filter(marker => FileNames.instant(marker.fileName).contains(instant))

  /** Whether a file was announced; each write of ours that is open has a file beside the folder, too. */
  private[table] def exist: Boolean = storage.exists(folder)

  /**
   * Whether the write has been neither committed nor rolled back, by a file that no task creates: a marker that an
   * attempt creates later brings the folder back. A dry run is neither, and has no markers.
   */
  private[table] def areOpen: Boolean = DiscardedFiles.are(storage) || storage.exists(openFile)

  /** Whether a marker is there: those of a write go when it is committed or rolled back. */
  private[table] def has(marker: Marker): Boolean = DiscardedFiles.are(storage) || storage.exists(file(marker))

  /** The folder comes with its first marker. */
  private[table] def open(): Unit = storage.touch(openFile)

  /**
   * From now on no attempt announces a file that stays: to be called before the markers are listed for the last time.
   *
   * @return whether the write was open
   */
  private[table] def close(): Boolean = storage.delete(openFile)

  /** To be called once the write is closed. */
  private[table] def deleteAll(): Unit = { storage.deleteFolder(folder); () }

  private[table] def delete(marker: Marker): Unit = { storage.delete(file(marker)); () }

  /** Closes the write and deletes the folder if it announces nothing. */
  private[table] def deleteIfEmpty(): Unit = if (files(Seq(folder)).isEmpty) { close(); deleteAll() }

  /** When the newest of them was created, in milliseconds since 1970. */
  private[table] def newestMs: Option[Long] =
    files(Seq(folder)).map(_._2.getModificationTime).reduceOption(math.max(_, _))

  private def file(marker: Marker): String = s"$folder/${marker.path}.marker.${marker.kind.name}"

  /** Files below some folders with their paths; the folders of one level are listed in parallel. */
  private def files(folders: Seq[String]): Seq[(String, FileStatus)] = if (folders.isEmpty) Nil
  else {
    val listed =
      Parallel.map(folders)(below => storage.list(below).map(f => s"$below/${f.getPath.getName}" -> f)).flatten
    val (deeper, found) = listed.partition(_._2.isDirectory)
    found ++ files(deeper.map(_._1))
  }

  /** Markers that other engines may write one per line to files MARKERS0, MARKERS1, ... */
  private def named(list: String): Seq[Marker] =
    storage.readText(s"$folder/$list").split('\n').toSeq.map(_.trim).filter(_.nonEmpty).flatMap(parse)

  private def parse(marker: String): Option[Marker] = marker match {
    case Markers.Name(path, kind) =>
      val at                = path.lastIndexOf('/')
      val (partition, name) = (path.take(math.max(at, 0)), path.drop(at + 1))
      val isData            = FileNames.isLog(name) || FileNames.instant(name).contains(instant)
      if (isData && at != 0 && Markers.isPartition(partition)) MarkerKind.parse(kind).map(Marker(partition, name, _))
      else None
    case _ => None
  }
}

object Markers {

  private[table] val Folder = ".hoodie/.temp"

  private val Open = ".open"

  private val Name = """^(.*)\.marker\.(\w+)$""".r

  private def isPartition(path: String): Boolean = {
    val levels = path.split("/", -1).toSeq
    path.isEmpty || (levels.head != ".hoodie" && levels.forall(level =>
      level.nonEmpty && level != "." && level != ".."))
  }

  private[table] def folder(instant: String): String = s"$Folder/$instant"

  /** The instants of writes that have left something in [[Folder]]. */
  private[table] def instants(storage: Storage): Seq[String] = instantsOf(storage.list(Folder))

  /** The same of a listing of that folder. */
  private[table] def instantsOf(found: Seq[FileStatus]): Seq[String] =
    found.flatMap(f => instantOf(f.getPath.getName)).distinct

  /** The instant of a file or folder in [[Folder]]; None for those that are of no write. */
  private def instantOf(name: String): Option[String] =
    Some(name.stripSuffix(Open)).filter(instant => instant.nonEmpty && instant.forall(_.isDigit))

  /** The files that writes have announced and that are neither removed nor committed yet, by path in the table. */
  private[table] def announced(storage: Storage): Set[String] =
    storage.list(Folder).filter(_.isDirectory).flatMap(f => new Markers(storage, f.getPath.getName).all).map(_.path)
      .toSet
}
