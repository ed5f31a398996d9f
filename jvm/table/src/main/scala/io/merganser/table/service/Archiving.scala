package io.merganser.table.service

import io.merganser.table.commit.{AppTransactions, LockedTable, MetadataTable, Rollback}
import io.merganser.table.file.{FileNames, Markers}
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.{ArchiveConfig, TableAccess}
import io.merganser.table.storage.{Parallel, Storage, TableLock}
import io.merganser.table.timeline._
import org.slf4j.LoggerFactory

/**
 * What one archiving did.
 *
 * @param instants  instants archived, of writes and services
 * @param first     the oldest of them
 * @param last      the newest of them
 * @param remaining completed writes on the timeline
 */
final case class Archived(instants: Int, first: Option[String], last: Option[String], remaining: Int)

/**
 * Moves old instants from the timeline to its history: to Parquet files from version 8 on, to log files in version 6.
 *
 * First the history gets the instants, then their files are removed: those of the pending states, then the completed
 * ones, the oldest first. An archiving that stopped anywhere is continued by the next one. A process that loaded the
 * timeline before finds the instants in the history.
 */
final class Archiving(
    storage: Storage,
    config: TableConfig,
    settings: ArchiveConfig,
    access: TableAccess = TableAccess()
) {
  import Archiving._

  private val hasLayout2 = config.layoutVersion >= 2

  /**
   * Whether instants may be due, by a timeline that was loaded before.
   *
   * @param more writes that have completed since
   */
  def mayBeDue(timeline: Timeline, more: Int): Boolean =
    timeline.completed.size + more > settings.maxCommits &&
      ArchivingPlan.writes(timeline, settings.copy(maxCommits = 0), config.isMergeOnRead).nonEmpty

  /**
   * Archives what is due.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE, and what [[LockedTable.current]] throws
   */
  def run(): Archived = {
    val done = runOnce()
    if (done.instants == 0) done
    else {
      val rest = run()
      Archived(done.instants + rest.instants, done.first, rest.last.orElse(done.last), rest.remaining)
    }
  }

  /** What [[run]] would move now, oldest first; changes nothing, and takes no lock. */
  def preview(timeline: Timeline): Seq[Instant] = {
    val due    = ArchivingPlan.writes(timeline, settings, config.isMergeOnRead)
    val writes = if (due.isEmpty) Nil else bounded(timeline, due)
    (writes ++ ArchivingPlan.services(timeline, writes, hasLayout2)).sortBy(i => (i.requested, i.action.name))
  }

  /**
   * Archives a limited number of instants, during which other writers wait, in the layout that the table has now: an
   * upgrade since it was opened may have left instants of the other one.
   */
  def runOnce(): Archived =
    LockedTable.current(storage, access)(table => new Archiving(storage, table.config, settings, access).once(table))

  private def once(table: LockedTable): Archived = {
    import table.timeline
    val due    = ArchivingPlan.writes(timeline, settings, config.isMergeOnRead).take(MostWrites)
    val writes = if (due.isEmpty) Nil else bounded(timeline, due)
    val all = (writes ++ ArchivingPlan.services(timeline, writes, hasLayout2)).sortBy(i => (i.requested, i.action.name))
    if (all.nonEmpty) {
      removeRemains(table, writes)
      move(timeline, all, table.lock)
    }
    Archived(all.size, all.headOption.map(_.requested), all.lastOption.map(_.requested),
      timeline.completed.size - writes.size)
  }

  /** Whether a write is not needed on the timeline any more, by the content of the timeline. */
  private[service] def mayMove(timeline: Timeline, write: Instant): Boolean = {
    val metadata = timeline.metadata(write)
    !hasFiles(write, metadata) && !timeline.schemaInstant.contains(write) &&
    listing(timeline, Seq(write -> metadata)).isEmpty
  }

  /** Moves completed instants of the timeline to the history. Call under the table lock. */
  private[service] def move(timeline: Timeline, instants: Seq[Instant], held: TableLock): Unit = {
    held.requireHeld()
    addToHistory(timeline, instants)
    held.requireHeld()
    removeFiles(timeline, instants)
    if (hasLayout2) history.compact()
    Log.info(s"archived ${instants.size} instants of $storage up to ${instants.last.requested}")
  }

  private def history = new HistoryWriter(storage, config.historyFolder, settings.history)

  // --- what has to stay ----------------------------------------------------------------------------------------------

  /** The writes before the first one that is still needed, by the content of the timeline. */
  private def bounded(timeline: Timeline, due: Seq[Instant]): Seq[Instant] = {
    def before(bound: Option[String], writes: Seq[Instant]) = writes.filter(i => bound.forall(i.requested < _))
    val named =
      Seq(retainedByClean(timeline), rolledBack(timeline), metadataTable, timeline.schemaInstant.map(_.requested))
    val within     = named.foldLeft(due)((writes, bound) => before(bound, writes))
    val unreplaced = before(replacing(timeline, within), within)
    before(listing(timeline, Parallel.map(unreplaced, "read commits")(i => i -> timeline.metadata(i))), unreplaced)
  }

  private def retainedByClean(timeline: Timeline): Option[String] =
    if (settings.cleans) timeline.lastClean.flatMap(timeline.cleaned).flatMap(_.earliest) else None

  /** Instants that pending rollbacks are about to remove. */
  private def rolledBack(timeline: Timeline): Option[String] =
    timeline.pending.filter(_.action == Action.Rollback).flatMap { rollback =>
      timeline.stateFiles(rollback).filter(f => f.state == InstantState.Requested && f.content.nonEmpty).map(f =>
        RollbackPlan.decode(f.content).instant)
    }.filter(_.nonEmpty).sorted.headOption

  /**
   * Another engine's metadata table has files of instants that it finds on the timeline, and of compacted ones.
   *
   * @return the oldest instant, where it has not been compacted
   */
  private def metadataTable: Option[String] = if (!MetadataTable.isMaintained(config)) None
  else {
    val folder = s"${MetadataTable.Folder}/${config.timelineFolder}"
    storage.list(folder).flatMap(f => InstantFile.parse(f.getPath.getName)).filter(i =>
      i.isCompleted && i.action == Action.Commit).map(_.requested.take(InstantLength)).sorted.lastOption.orElse(
      Some(""))
  }

  /** The first replacecommit whose replaced file groups still have files: without it, readers would see them again. */
  private def replacing(timeline: Timeline, writes: Seq[Instant]): Option[String] = {
    val replacing = writes.filter(_.action == Action.ReplaceCommit)
    // A clean by number of file versions deletes all replaced groups.
    lazy val cleaned =
      timeline.lastClean.map(c => timeline.cleaned(c).flatMap(_.earliest).getOrElse(c.requested)).getOrElse("")
    replacing.find { instant =>
      val metadata = timeline.metadata(instant)
      metadata.replaced.nonEmpty && (cleaned <= instant.requested || hasFiles(instant, metadata))
    }.map(_.requested)
  }

  /** Whether there are files of the replaced groups; later ones are of groups that got the same ids. */
  private def hasFiles(instant: Instant, metadata: CommitMetadata): Boolean =
    metadata.replaced.groupBy(_.partitionPath).exists { case (partition, groups) =>
      val fileIds = groups.map(_.fileId)
      storage.list(partition).map(_.getPath.getName).exists(name =>
        FileNames.fileId(name).exists(fileIds) && FileNames.instant(name).forall(i =>
          instant.completed.forall(i < _)))
    }

  /** The write that has the newest list of the applications' transactions, unless a later one of ours stays. */
  private def listing(timeline: Timeline, writes: Seq[(Instant, CommitMetadata)]): Option[String] = {
    def time(i: Instant) = i.completed.getOrElse(i.requested)
    val archived         = writes.map(_._1).toSet
    val holders          = writes.filter { case (_, metadata) => AppTransactions.isListed(metadata) }.map(_._1)
    holders.sortBy(time).lastOption.filterNot { holder =>
      timeline.completed.reverseIterator.exists(i =>
        !archived(i) && time(i) > time(holder) && AppTransactions.isOurs(timeline.metadata(i)))
    }.map(_.requested)
  }

  // --- steps ---------------------------------------------------------------------------------------------------------

  /**
   * Files that the commits do not name, and those of failed writes, which tasks wrote that outlived them: once the
   * timeline begins after them, all files with their instants count.
   */
  private def removeRemains(table: LockedTable, writes: Seq[Instant]): Unit = {
    val pending = table.timeline.pending.map(_.requested).toSet
    writes.lastOption.foreach { last =>
      Markers.instants(storage).filter(instant =>
        InstantTime.parse(instant).isDefined && instant <= last.requested && !pending(instant)).foreach(
        Rollback.removeRemains(table, _))
    }
  }

  private def addToHistory(timeline: Timeline, all: Seq[Instant]): Unit =
    if (hasLayout2) {
      val added = missing(all, history.known(all.head.requested, all.last.requested))
      if (added.nonEmpty) history.add(added.head.requested, added.last.requested,
        added.grouped(AtOnce).flatMap(some => Parallel.map(some, "read instants")(entry(timeline, _))))
    } else {
      val log   = new HistoryLog(storage, config)
      val added = missing(all, log.known)
      if (added.nonEmpty)
        log.add(Parallel.map(added, "read instants")(i => i -> timeline.stateFiles(i)), settings.batch)
    }

  /** Those that an archiving that stopped has not added. */
  private def missing(all: Seq[Instant], known: Set[(String, Action)]): Seq[Instant] =
    all.filterNot(i => known((i.requested, i.action.whenCompleted)))

  private def entry(timeline: Timeline, instant: Instant): HistoryEntry = {
    val done = timeline.content(instant, InstantState.Completed)
    // Of a table that was upgraded, a commit may be JSON.
    val metadata =
      if (instant.action.isWrite && !AvroRecords.isContainer(done))
        CommitMetadata.encodeAvro(CommitMetadata.decode(done), instant.action == Action.ReplaceCommit)
      else done
    val plan = if (hasPlan(timeline, instant)) Some(timeline.content(instant, InstantState.Requested)) else None
    HistoryEntry(instant.requested, instant.completed, instant.action, Some(metadata).filter(_.nonEmpty),
      plan.filter(_.nonEmpty))
  }

  /** The requested files of commits and delta commits are empty. */
  private def hasPlan(timeline: Timeline, instant: Instant): Boolean =
    timeline.hasFile(instant, InstantState.Requested) &&
      InstantFile.parse(timeline.nameOf(instant, InstantState.Requested)).map(_.action).forall(action =>
        action != Action.Commit && action != Action.DeltaCommit)

  private def removeFiles(timeline: Timeline, all: Seq[Instant]): Unit = {
    def files(states: InstantState*) = all.flatMap(timeline.filesIn(_, states: _*))
    Parallel.map(files(InstantState.Requested, InstantState.Inflight), "delete instants")(f => storage.delete(f))
    files(InstantState.Completed).foreach(f => storage.delete(f))
  }
}

object Archiving {

  private val Log = LoggerFactory.getLogger(classOf[Archiving])

  /** Writes that are archived while the table is locked once. */
  private val MostWrites = 200

  /** Instants whose files are read at a time. */
  private val AtOnce = 32

  /** Digits of an instant; those of a metadata table's services have more. */
  private val InstantLength = 17
}
