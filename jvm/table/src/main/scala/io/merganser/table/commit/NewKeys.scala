package io.merganser.table.commit

import java.io.FileNotFoundException
import java.util.concurrent.atomic.AtomicBoolean

import io.merganser.table.file.{FileGroupId, FileNames}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline.{Action, CommitMetadata, Instant, OperationType, Timeline, WriteStat}

import scala.collection.mutable

/**
 * Detects keys that a write inserted as new and that another writer has inserted since: each wrote them to a file group
 * of its own, and readers would see both rows.
 *
 * A write that began before a compaction completed, and appends to the log of a file group of it afterwards, may insert
 * keys, too: it found them in a base file, and the new one does not have those that were deleted.
 *
 * Key ranges of the files are compared first. If they overlap, the keys of the files are read, but only those that the
 * commit wrote. A commit is compared only once, so that most of the work is done before the table is locked. Not thread
 * safe.
 *
 * @param scope where the write looked up its keys
 * @param ours  the write's metadata
 */
private[table] final class NewKeys(
    storage: Storage,
    config: TableConfig,
    instant: String,
    scope: KeyScope,
    ours: CommitMetadata
) {

  import NewKeys._

  private val isTable    = scope == KeyScope.InTable || scope == KeyScope.InBuckets
  private val added      = if (scope == KeyScope.Nowhere) Nil else bases(ours)
  private val addsToLogs = scope == KeyScope.InBuckets && ours.allStats.exists(_.isLogFile)
  private val compared   = mutable.HashSet.empty[String]

  /** Not of buckets: a key has one. */
  private val appended =
    if (scope == KeyScope.InPartition || scope == KeyScope.InTable) ours.allStats.filter(_.isLogFile).toSeq else Nil

  private lazy val addedFiles: Seq[KeyFile] = read(added.map(instant -> _))
  private val logFiles                      = mutable.HashMap.empty[String, KeyFile]

  private def logFile(stat: WriteStat): KeyFile =
    logFiles.getOrElseUpdate(stat.path, KeyFile.read(storage, config, stat, instant))

  /** @return why the write cannot be committed, if it cannot */
  def addedByOthers(began: Timeline, now: Timeline): Option[String] =
    if (added.isEmpty && !addsToLogs && appended.isEmpty) None
    else {
      val since  = Conflicts.completedSince(began, now, instant).map(other => other -> now.metadata(other))
      val others = since.filterNot { case (other, _) => compared(other.requested) }
      val own    = appended.filter(new CompactedBases(since.map(_._2)).areNewerThanThatOf)
      val found  = addedBy(others.filter(_._2.maySetSchema), own, now)
      if (found.isEmpty) compared ++= others.map(_._1.requested)
      found
    }

  /** @param own logs of this write in file groups whose compaction completed since it began */
  private def addedBy(
      others: Seq[(Instant, CommitMetadata)],
      own: Seq[WriteStat],
      now: Timeline
  ): Option[String] = {
    val places = (added ++ own).map(_.partitionPath).toSet

    def concerns(stat: WriteStat) = if (isTable) addsToLogs || places.nonEmpty else places(stat.partitionPath)
    val unreadable = others.iterator.flatMap { case (other, done) =>
      done.allStats.find(s => isUnreadable(s) && concerns(s)).map(other -> _)
    }
    if (unreadable.hasNext) {
      val (other, log) = unreadable.next()
      Some(
        s"${other.action} ${other.requested} added rows to file '${log.path}', which may contain " +
          "keys that this write adds")
    } else {
      val files = others.flatMap { case (other, done) => bases(done).filter(concerns).map(other.requested -> _) } ++
        logsOfOlderBases(others, now, concerns)
      try {
        val theirs = read(files)
        val common = if (theirs.isEmpty) None else firstCommon(addedFiles ++ own.map(logFile), theirs)
        common.map { case (partition, by) =>
          val action =
            others.collectFirst { case (other, _) if other.requested == by => other.action }.getOrElse(Action.Commit)
          s"$action $by added a key to partition '$partition' that this write adds too"
        }
      } catch {
        case e: FileNotFoundException =>
          Some(s"a file that another writer added is gone, so its keys cannot be compared (${e.getMessage})")
      }
    }
  }

  /** Logs of others in file groups whose compaction completed after they began, and before this write did. */
  private def logsOfOlderBases(
      others: Seq[(Instant, CommitMetadata)],
      now: Timeline,
      concerns: WriteStat => Boolean
  ): Seq[(String, WriteStat)] = {
    val logs = for {
      (other, done) <- if (added.isEmpty || scope == KeyScope.InBuckets) Nil else others
      stat          <- done.allStats
      if stat.isLogFile && concerns(stat)
    } yield other.requested -> stat
    if (logs.isEmpty) Nil
    else {
      val first = logs.map(_._1).min
      val compactions =
        now.completed.filter(i => i.action == Action.Commit && now.mayHaveBegunBefore(first, i.requested))
      now.readAhead(compactions)
      val compacted = new CompactedBases(compactions.map(now.metadata))
      logs.filter { case (other, log) => compacted.mayBeNewerThanThatOf(log, now.mayHaveBegunBefore(other, _)) }
    }
  }

  private def read(files: Seq[(String, WriteStat)]): Seq[KeyFile] =
    Parallel.map(files) { case (by, stat) => KeyFile.read(storage, config, stat, by) }

  /** A file of another write whose keys are not compared with ours, as either are in a log. */
  private def isUnreadable(stat: WriteStat): Boolean = addsToLog(stat) ||
    (scope == KeyScope.InBuckets && (stat.isLogFile || (addsToLogs && isBase(stat))))

  /** @return the partition and the instant of another writer's file with one of our keys */
  private def firstCommon(mine: Seq[KeyFile], theirs: Seq[KeyFile]): Option[(String, String)] = {
    def byPlace(files: Seq[KeyFile]) = if (isTable) Map("" -> files) else files.groupBy(_.partition)
    val others                       = byPlace(theirs)
    val work = for {
      (place, own) <- byPlace(mine).toSeq
      (left, right) = KeyRange.overlapping(own, others.getOrElse(place, Nil))
      someOfOurs   <- left.grouped(Batch).toSeq
      someOfTheirs <- right.grouped(Batch).toSeq
      (some, candidates) = KeyRange.overlapping(someOfOurs, someOfTheirs)
      if some.nonEmpty
    } yield (some, candidates)
    val isFound = new AtomicBoolean
    Parallel.map(work, Threads) { case (own, candidates) =>
      if (isFound.get) None
      else {
        // Where keys are not stored, key ranges that overlap count as a common key.
        val found = if (config.storesKeys) new KeyComparison(own, candidates).common() else candidates.headOption
        if (found.isDefined) isFound.set(true)
        found
      }
    }.flatten.headOption.map(file => (file.partition, file.instant))
  }
}

private[table] object NewKeys {

  /** Files of each side that are read together, and concurrent comparisons; both bound memory. */
  private val Batch   = 16
  private val Threads = 4

  /** Base files with keys that are new in their file group. */
  private def bases(metadata: CommitMetadata): Seq[WriteStat] =
    metadata.allStats.filter(isBase)

  private def isBase(stat: WriteStat): Boolean =
    !stat.isLogFile && stat.path.nonEmpty && (stat.numInserts > 0 || isFirstOfGroup(stat))

  private def isFirstOfGroup(stat: WriteStat): Boolean =
    stat.prevCommit.isEmpty || stat.prevCommit == WriteStat.NoPrevCommit

  /** Other engines may insert new keys into logs; we do so only in buckets. */
  private def addsToLog(stat: WriteStat): Boolean = stat.isLogFile && stat.numInserts > 0

  /** The base files that compactions have written, by file group. */
  private final class CompactedBases(commits: Seq[CommitMetadata]) {
    private lazy val names: Map[FileGroupId, Set[String]] = commits.filter(_.operationType == OperationType.Compact)
      .flatMap(_.allStats).filterNot(_.isLogFile).groupBy(_.group).map { case (group, stats) =>
        group -> stats.map(_.fileName).toSet
      }

    /** Whether the write of a log found its keys in another base file of the file group than one of these. */
    def areNewerThanThatOf(log: WriteStat): Boolean = mayBeNewerThanThatOf(log, _ => false)

    /** @param mayFollow whether the write may have looked its keys up before a compaction of this requested time */
    def mayBeNewerThanThatOf(log: WriteStat, mayFollow: String => Boolean): Boolean =
      names.get(log.group).exists(_.exists(name =>
          !log.baseFileName.contains(name) || FileNames.instant(name).exists(mayFollow)))
  }
}
