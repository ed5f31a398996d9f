package io.merganser.table.slice

import io.merganser.table.file.{BaseFile, FileNames, LogFile}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Parallel
import io.merganser.table.timeline.{Action, ArchivedTimeline, CommittedFile, Timeline}

import java.util.concurrent.ConcurrentHashMap

/**
 * Which files the completed writes name. Others with their instants are not committed: a retried task has left them, or
 * one that outlived the write.
 *
 * Holds the names of the files of all commits that it has read. Archived commits are read only where two attempts of a
 * task have left a file, or a folder with files has no partition metadata.
 */
private[slice] final class CommittedNames(config: TableConfig, timeline: Timeline, archive: => ArchivedTimeline) {
  import CommittedNames._

  private val committed = new ConcurrentHashMap[String, Option[Files]]()

  /** Of writes that are not on the timeline. */
  private val archived = new ConcurrentHashMap[String, Option[Files]]()

  /** The logs that writes name, by the instant from which on these are. */
  private val logged = new ConcurrentHashMap[String, Seq[(String, Map[String, Boolean])]]()

  /** The files that a commit on the timeline names, by path; None if they are unknown. */
  def filesOf(instant: String): Option[Files] =
    Option(committed.get(instant)).getOrElse {
      val files = timeline.committedFiles(instant)
      committed.put(instant, files)
      files
    }

  /** Reads commits in parallel. */
  def readAhead(instants: Seq[String]): Unit = {
    Parallel.map(instants.distinct.filterNot(committed.containsKey))(filesOf)
    ()
  }

  /** True if the files of its commit are unknown, too. */
  def has(base: BaseFile): Boolean = filesOf(base.instant).forall(_.contains(base.path))

  /**
   * In version 6 several writes share a log file, which is named after its slice. An upgraded table may still have such
   * files beside the base file of the same instant.
   *
   * While buckets are split or merged, rows are also written to logs of the new buckets, which are named after that
   * clustering; commits of other instants name those files.
   */
  def has(log: LogFile): Boolean =
    config.version < 8 || timeline.isReplace(log.instant) || filesOf(log.instant).forall { files =>
      files.contains(log.path) || (!config.isCreatedInLayout2 && files.valuesIterator.exists(file =>
        FileNames.fileId(file.name).contains(log.fileId)))
    }

  /** Whether the write of a file names it; false if the files of that write are unknown. Archived writes are read. */
  def names(instant: String, path: String): Boolean = known(instant).exists(_.contains(path))

  /** How the commit of a log names it. */
  def commitOf(log: LogFile): Option[CommittedFile] =
    filesOf(log.instant).flatMap(_.get(log.path)).orElse {
      // Of a bucket that was split meanwhile: a later write names it.
      if (!timeline.isReplace(log.instant)) None
      else timeline.completed.iterator.filter(_.requested > log.instant)
        .flatMap(i => filesOf(i.requested).flatMap(_.get(log.path)).iterator).take(1).toList.headOption
    }

  /** One of the base files of a group for each instant: of those that two attempts have left the committed one. */
  def onePerInstant(bases: Seq[BaseFile]): Seq[BaseFile] =
    bases.groupBy(_.instant).toSeq.sortBy(_._1).map {
      case (_, Seq(one)) => one
      case (instant, several) =>
        val named = several.filter(base => known(instant).forall(_.contains(base.path)))
        (if (named.isEmpty) several else named).maxBy(_.name)
    }

  /**
   * The logs of a group, without those that other attempts of a task have left: their names differ in the write token
   * alone.
   *
   * Of a log that one write has, [[has]] decides, or the history where that write was archived. Where several writes
   * may share a log, the blocks of a write do not count in it if the write names that of another attempt. It is left
   * out if no write names it; unless it may have blocks of an archived write, or of a rollback, which no write names.
   *
   * @param logs in reading order
   */
  def ofAttempts(logs: Seq[LogFile]): Seq[LogFile] = {
    val isUsual = logs.lengthCompare(2) < 0 || !logs.iterator.zip(logs.iterator.drop(1)).exists {
      case (log, next) => log.isOfOtherAttempt(next)
    }
    if (isUsual) logs
    else logs.flatMap { log =>
      val others = logs.filter(log.isOfOtherAttempt)
      if (others.isEmpty) Some(log)
      else if (isShared(log)) asFarAsCounted(log, others)
      else if (
        known(log.instant).forall(files => files.contains(log.path) || !others.exists(o => files.contains(o.path)))
      )
        Some(log)
      else None
    }
  }

  private def isShared(log: LogFile): Boolean =
    config.version < 8 || !config.isCreatedInLayout2 || timeline.isReplace(log.instant)

  private def asFarAsCounted(log: LogFile, others: Seq[LogFile]): Option[LogFile] = {
    // Hudi also names logs that failed attempts have left, with no rows.
    def isNamed(logs: Map[String, Boolean]) =
      logs.get(log.path).exists(hasRows => hasRows || !others.exists(o => logs.getOrElse(o.path, false)))
    val writes      = loggedSince(log.instant)
    val (own, rest) = writes.partition(w => isNamed(w._2))
    val ofOthers    = rest.filter(w => others.exists(o => w._2.contains(o.path))).map(_._1).toSet
    val isUnnamed   = own.isEmpty && ofOthers.nonEmpty
    val mayHaveMore = timeline.isArchived(log.instant) || mayBeRevoked(log.instant)
    if (isUnnamed && !mayHaveMore) None else Some(log.copy(uncounted = ofOthers))
  }

  /** Whether a rollback or a restore may have revoked blocks of the slice, by one that hides them. */
  private def mayBeRevoked(since: String): Boolean = timeline.instants.exists(i =>
    (i.action == Action.Rollback || i.action == Action.Restore) && since <= i.requested)

  /** The logs that the writes from an instant on name, by write and path, and whether they have rows. */
  private def loggedSince(instant: String): Seq[(String, Map[String, Boolean])] = logged.computeIfAbsent(instant,
    _ => {
      val writes = timeline.completed.map(_.requested).filter(instant <= _)
      readAhead(writes)
      val older = if (timeline.isArchived(instant)) archive.committedFiles(instant, None) else Iterator.empty
      val later = writes.iterator.flatMap(write => filesOf(write).map(write -> _))
      (older ++ later).map { case (write, files) => write -> logsOf(files) }.toList
    })

  private def logsOf(files: Files): Map[String, Boolean] =
    files.valuesIterator.filter(file => FileNames.isLog(file.name)).map(file => file.path -> file.hasRows).toMap

  /** [[filesOf]] an instant, also if it was archived. */
  private def known(instant: String): Option[Files] = filesOf(instant).orElse {
    if (!timeline.isArchived(instant)) None
    else archived.computeIfAbsent(instant,
      _ => archive.committedFiles(instant, Some(instant)).map(_._2).find(_.nonEmpty))
  }
}

private object CommittedNames {
  type Files = Map[String, CommittedFile]
}
