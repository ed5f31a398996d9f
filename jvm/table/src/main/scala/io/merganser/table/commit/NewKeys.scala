package io.merganser.table.commit

import java.io.FileNotFoundException
import java.util.concurrent.atomic.AtomicBoolean

import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline.{Action, CommitMetadata, Instant, Timeline, WriteStat}

import scala.collection.mutable

/**
 * Detects keys that a write inserted as new and that another writer has inserted since: each wrote them to a file group
 * of its own, and readers would see both rows.
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

  private val added      = if (scope == KeyScope.Nowhere) Nil else bases(ours)
  private val isTable    = scope == KeyScope.InTable || scope == KeyScope.InBuckets
  private val addsToLogs = scope == KeyScope.InBuckets && ours.allStats.exists(_.isLogFile)
  private val partitions = added.map(_.partitionPath).toSet
  private val compared   = mutable.HashSet.empty[String]

  private lazy val ownFiles: Seq[KeyFile] = Parallel.map(added)(KeyFile.read(storage, _, instant))

  /** False if the write added no key, or did not look its keys up. */
  def mayConflict: Boolean = added.nonEmpty || addsToLogs

  /** @return why the write cannot be committed, if it cannot */
  def addedByOthers(began: Timeline, now: Timeline): Option[String] =
    if (!mayConflict) None
    else {
      val others = Conflicts.completedSince(began, now, instant).filterNot(other => compared(other.requested))
      val found  = addedBy(others.map(other => other -> now.metadata(other)).filter(_._2.maySetSchema))
      if (found.isEmpty) compared ++= others.map(_.requested)
      found
    }

  private def addedBy(others: Seq[(Instant, CommitMetadata)]): Option[String] = {
    def concerns(stat: WriteStat) = isTable || partitions(stat.partitionPath)
    val unreadable = others.iterator.flatMap { case (other, done) =>
      done.allStats.find(s => isUnreadable(s) && concerns(s)).map(other -> _)
    }
    if (unreadable.hasNext) {
      val (other, log) = unreadable.next()
      Some(
        s"${other.action} ${other.requested} added rows to file '${log.path}', whose keys may be those that this " +
          "write adds")
    } else {
      val files = others.flatMap { case (other, done) => bases(done).filter(concerns).map(other -> _) }
      try {
        val theirs = Parallel.map(files) { case (other, stat) => KeyFile.read(storage, stat, other.requested) }
        (if (theirs.isEmpty) None else firstCommon(theirs)).map { case (partition, by) =>
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

  /** A file of another write whose keys are not compared with ours, as either are in a log. */
  private def isUnreadable(stat: WriteStat): Boolean = addsToLog(stat) ||
    (scope == KeyScope.InBuckets && (stat.isLogFile || (addsToLogs && isBase(stat))))

  /** @return the partition and the instant of another writer's file with one of our keys */
  private def firstCommon(theirs: Seq[KeyFile]): Option[(String, String)] = {
    def byPlace(files: Seq[KeyFile]) = if (isTable) Map("" -> files) else files.groupBy(_.partition)
    val others                       = byPlace(theirs)
    val work = for {
      (place, own) <- byPlace(ownFiles).toSeq
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
}
