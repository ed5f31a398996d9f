package io.merganser.table.commit

import java.io.FileNotFoundException
import java.util.concurrent.atomic.AtomicBoolean

import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline.{Action, CommitMetadata, Instant, Timeline, WriteStat}

import scala.collection.mutable

/**
 * Keys that a write found to be new and that another writer has added since: each put them into a file group of its own,
 * and readers would see both rows.
 *
 * Ranges of keys are compared first, of each file once. Where they overlap, the keys of the files are read, those alone
 * that the commit wrote. Commits that were compared once are not compared again, so that most of the work is done before
 * the table is locked. Not thread safe.
 *
 * @param scope where the write looked for its keys
 * @param ours  what it wrote
 */
private[table] final class NewKeys(storage: Storage, instant: String, scope: KeyScope, ours: CommitMetadata) {

  import NewKeys._

  private val added    = if (scope == KeyScope.Nowhere) Nil else bases(ours)
  private val places   = added.map(_.partitionPath).toSet
  private val compared = mutable.HashSet.empty[String]

  private lazy val ownFiles: Seq[KeyFile] = Parallel.map(added)(KeyFile.read(storage, _, instant))

  /** False where the write added no key, or did not look whether it was there. */
  def mayConflict: Boolean = added.nonEmpty

  /** @return why the write cannot be committed, if it cannot */
  def broughtByOthers(began: Timeline, now: Timeline): Option[String] =
    if (added.isEmpty) None
    else {
      val others = Conflicts.completedSince(began, now, instant).filterNot(other => compared(other.requested))
      val found  = broughtBy(others.map(other => other -> now.metadata(other)).filter(_._2.maySetSchema))
      if (found.isEmpty) compared ++= others.map(_.requested)
      found
    }

  private def broughtBy(others: Seq[(Instant, CommitMetadata)]): Option[String] = {
    def concerns(stat: WriteStat) = scope == KeyScope.InTable || places(stat.partitionPath)
    val unreadable = others.iterator.flatMap { case (other, done) =>
      done.allStats.find(s => addsToLog(s) && concerns(s)).map(other -> _)
    }
    if (unreadable.hasNext) {
      val (other, log) = unreadable.next()
      Some(
        s"${other.action} ${other.requested} added rows to log file '${log.path}', whose keys may be those that this write adds")
    } else {
      val files = others.flatMap { case (other, done) => bases(done).filter(concerns).map(other -> _) }
      try {
        val theirs = Parallel.map(files) { case (other, stat) => KeyFile.read(storage, stat, other.requested) }
        pairs(theirs).map { case (partition, by) =>
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

  /** @return the partition and the instant of a file of others that holds one of our keys */
  private def pairs(theirs: Seq[KeyFile]): Option[(String, String)] = {
    def byPlace(files: Seq[KeyFile]) = if (scope == KeyScope.InTable) Map("" -> files) else files.groupBy(_.partition)
    val others                       = byPlace(theirs)
    val work = for {
      (place, own) <- byPlace(ownFiles).toSeq
      (left, right) = KeyRange.overlapping(own, others.getOrElse(place, Nil))
      someOfOurs   <- left.grouped(Batch).toSeq
      someOfTheirs <- right.grouped(Batch).toSeq
      (some, further) = KeyRange.overlapping(someOfOurs, someOfTheirs)
      if some.nonEmpty
    } yield (some, further)
    val isFound = new AtomicBoolean
    Parallel.map(work, Threads) { case (own, further) =>
      if (isFound.get) None
      else {
        val found = new KeyComparison(own, further).common()
        if (found.isDefined) isFound.set(true)
        found
      }
    }.flatten.headOption.map(file => (file.partition, file.instant))
  }
}

private[table] object NewKeys {

  /** Files of each side that are read beside one another, and comparisons that go on at a time: they take memory. */
  private val Batch   = 16
  private val Threads = 4

  /** Base files with keys that are new in their group. */
  private def bases(metadata: CommitMetadata): Seq[WriteStat] =
    metadata.allStats.filter(s => !s.isLogFile && s.path.nonEmpty && (s.numInserts > 0 || isFirstOfGroup(s)))

  private def isFirstOfGroup(stat: WriteStat): Boolean =
    stat.prevCommit.isEmpty || stat.prevCommit == WriteStat.NoPrevCommit

  /** Other engines may put new keys into logs, we do so in buckets alone. */
  private def addsToLog(stat: WriteStat): Boolean = stat.isLogFile && stat.numInserts > 0
}
