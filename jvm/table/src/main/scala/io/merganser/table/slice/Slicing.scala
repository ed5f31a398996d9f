package io.merganser.table.slice

import io.merganser.table.Storage
import io.merganser.table.config.TableConfig
import io.merganser.table.timeline.{ArchivedTimeline, Timeline}
import org.apache.hadoop.fs.FileStatus

import scala.collection.mutable

/**
 * From the files of a partition to the slices of its file groups.
 *
 * Files that do not count are dropped before slicing: were the base file of a failed write to start a slice, later log
 * files would gather there and disappear with it.
 */
private[slice] final class Slicing(storage: Storage, config: TableConfig, timeline: Timeline) {

  private val isCompleted = timeline.completedInstants

  /** Read only when a log file's place depends on when an archived instant completed. */
  private lazy val archive = new ArchivedTimeline(storage, config)

  def newest(partition: String, files: Seq[FileStatus]): Seq[FileSlice] =
    groups(partition, files).flatMap { case (fileId, bases, logs) =>
      newest(partition, fileId, slice(partition, fileId, bases, logs))
    }

  def all(partition: String, files: Seq[FileStatus]): Seq[FileSlice] =
    groups(partition, files).flatMap { case (fileId, bases, logs) => slice(partition, fileId, bases, logs) }

  def readOptimized(partition: String, files: Seq[FileStatus]): Seq[FileSlice] =
    groups(partition, files).flatMap { case (fileId, bases, _) =>
      bases.lastOption.map(base => FileSlice(partition, fileId, base.instant, Some(base), Nil))
    }

  /** Of a group under compaction the new slice has no base file yet: it is read on top of the one before. */
  private def newest(partition: String, fileId: String, slices: Seq[FileSlice]): Option[FileSlice] =
    timeline.groupsInCompaction.get((partition, fileId)) match {
      case Some(compaction) =>
        val (before, since) = slices.partition(_.baseInstant < compaction)
        val logs            = since.flatMap(_.logs)
        before.lastOption.map(last => last.copy(logs = (last.logs ++ logs).sorted)).orElse(since.lastOption)
      case None => slices.lastOption
    }

  /** File ids of the groups that readers see, with the files that count; base files by instant, log files as read. */
  private def groups(partition: String, files: Seq[FileStatus]): Seq[(String, Seq[BaseFile], Seq[LogFile])] = {
    val bases = files.flatMap(f => FileNames.parseBase(partition, f.getPath.getName, f.getLen))
      .filter(f => isCompleted(f.instant)).groupBy(_.fileId)
    val logs = files.flatMap(f => FileNames.parseLog(partition, f.getPath.getName, f.getLen))
      .filter(f => isVisible(f)).groupBy(_.fileId)
    (bases.keySet ++ logs.keySet).toSeq.sorted
      .filterNot(fileId => timeline.replacedGroups((partition, fileId)))
      .map(fileId => (fileId, onePerInstant(bases.getOrElse(fileId, Nil)), logs.getOrElse(fileId, Nil).sorted))
  }

  /** In version 6 a log file is named after its slice, and its blocks tell which of them count. */
  private def isVisible(log: LogFile): Boolean =
    if (config.version >= 8) isCompleted(log.instant)
    else isCompleted(log.instant) || timeline.groupsInCompaction.get((log.partitionPath, log.fileId)).contains(log.instant)

  /** Two tries of one task may both have left a file; the commit names the one that counts. */
  private def onePerInstant(bases: Seq[BaseFile]): Seq[BaseFile] =
    bases.groupBy(_.instant).toSeq.sortBy(_._1).map {
      case (_, Seq(one)) => one
      case (instant, several) =>
        val committed = timeline.metadata(instant).toSeq.flatMap(_.allStats).map(_.path).toSet
        several.find(f => committed(f.path)).getOrElse(several.maxBy(_.name))
    }

  private def slice(partition: String, fileId: String, bases: Seq[BaseFile], logs: Seq[LogFile]): Seq[FileSlice] = {
    val byInstant = bases.map(f => f.instant -> f).toMap
    val starts    = mutable.TreeSet(byInstant.keySet.toSeq ++ timeline.groupsInCompaction.get((partition, fileId)): _*)
    val placed    = mutable.Map.empty[String, mutable.ArrayBuffer[LogFile]]
    logs.foreach { log =>
      val start = startOf(log, starts)
      starts += start
      placed.getOrElseUpdate(start, mutable.ArrayBuffer.empty) += log
    }
    starts.toSeq
      .filter(start => byInstant.contains(start) || placed.contains(start))
      .map(start => FileSlice(partition, fileId, start, byInstant.get(start), placed.get(start).toSeq.flatten))
  }

  /** From version 8 on the latest start up to the log's completion, else a start of its own; before, the one it is named after. */
  private def startOf(log: LogFile, starts: mutable.TreeSet[String]): String =
    if (config.version < 8) log.instant
    else {
      val completion = timeline.completionTime(log.instant).getOrElse(archivedCompletion(log.instant, starts))
      starts.iterator.takeWhile(_ <= completion).foldLeft(log.instant)((_, start) => start)
    }

  /** Matters only where a slice starts after the log was requested. */
  private def archivedCompletion(instant: String, starts: mutable.TreeSet[String]): String =
    if (starts.lastOption.exists(_ > instant)) archive.completionTime(instant).getOrElse(instant) else instant
}
