package io.merganser.table.timeline

import java.util.concurrent.ConcurrentHashMap

import io.merganser.merge.MerganserException
import io.merganser.table.file.FileNames
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{Parallel, Storage}

import scala.collection.JavaConverters._

/**
 * The instants of a table, as of one listing of its timeline.
 *
 * @param instants one for each action, in its latest state, sorted by requested time
 * @param limit    as-of instant: instants requested later are ignored
 * @param findsArchive whether older instants may have been archived
 * @param unknownActions names of files that look like instants of unknown actions
 * @param unfinished     restores, and rollbacks of completed writes, of ours that have not completed
 * @param later          requested times of writes that completed after the completion time that the timeline is as of
 */
final class Timeline private (
    private[timeline] val storage: Storage,
    private[timeline] val config: TableConfig,
    val instants: Seq[Instant],
    private[timeline] val files: TimelineFiles,
    private[timeline] val limit: Option[String],
    private[timeline] val complete: Option[Timeline],
    findsArchive: () => Boolean,
    private[table] val unknownActions: Seq[String],
    private[table] val unfinished: Seq[UnfinishedRestore],
    later: Set[String] = Set.empty
) extends ServiceInstants with TimelineColumns {

  private val read = new ConcurrentHashMap[Instant, CommitMetadata]()

  /** Lists the history folder, which few uses of a timeline need. */
  private lazy val hasArchive: Boolean = findsArchive()

  /** Completed commits, deltacommits and replacecommits, sorted by requested time. */
  val completed: Seq[Instant] = instants.filter(i => i.isCompleted && i.action.isWrite)

  /** False if no write has ever completed. */
  def hasWrites: Boolean = completed.nonEmpty || hasArchive

  /** Instants that have not completed, including services. */
  val pending: Seq[Instant] = instants.filterNot(_.isCompleted)

  /** Writes that have not completed; in layout 1 also clusterings. */
  def pendingWrites: Seq[Instant] = pending.filter(_.action.isWrite)

  def pendingCompactions: Seq[Instant] = pending.filter(_.action == Action.Compaction)

  def pendingLogCompactions: Seq[Instant] = pending.filter(_.action == Action.LogCompaction)

  /** The newest by completion time if instants have one, else by requested time. */
  def newestCompleted: Option[Instant] = byCompletion.lastOption

  private[timeline] def byCompletion: Seq[Instant] =
    completed.sortBy(i => (i.completed.getOrElse(i.requested), i.requested))

  /**
   * The metadata of the completed writes, the last one to complete first. The first few are read when they are reached,
   * the others many at a time: a search may have to reach the oldest.
   *
   * @param since writes that this earlier timeline has completed are left out
   */
  private[table] def newestFirst(since: Option[Timeline] = None): Iterator[CommitMetadata] = {
    val known       = since.fold(Set.empty[String])(_.completed.map(_.requested).toSet)
    val (few, rest) = byCompletion.reverse.filterNot(i => known(i.requested)).splitAt(Timeline.OneByOne)
    few.iterator.map(metadata) ++ metadataOf(rest.iterator, Timeline.AtOnce).map(_._2)
  }

  /**
   * Some completed writes with their metadata, which is read when it is reached, and not kept.
   *
   * @param most how many are needed at most: so many are read in parallel
   */
  def metadataOf(writes: Iterator[Instant], most: Int): Iterator[(Instant, CommitMetadata)] =
    writes.grouped(math.max(1, math.min(most, Timeline.AtOnce))).flatMap(some =>
      Parallel.map(some)(i => i -> Option(read.get(i)).getOrElse(commit(i))))

  /**
   * Whether the instant of a file or a log block is completed. Serializable, for use in tasks.
   *
   * An instant before the first write on the timeline counts as completed, because it was archived. In a table without
   * archived instants it belongs to a failed write, one of whose tasks outlived it.
   */
  lazy val completedInstants: CompletedInstants = {
    val begin = if (hasArchive) start else None
    new CompletedInstants(completed.map(_.requested).toSet, pending.map(_.requested).toSet ++ later, begin, limit)
  }

  /** Whether the timeline has all writes of the table: none was archived. */
  private[table] def isWhole: Boolean = !hasArchive

  /** Requested time of the first write that was not archived, if any were. */
  private[table] lazy val start: Option[String] = complete.fold {
    val writes      = instants.filter(_.action.whenCompleted.isWrite)
    val savepointed = instants.filter(_.action == Action.Savepoint).map(_.requested).toSet
    // Savepointed instants stay when those around them are archived, so they do not mark the start of the timeline.
    writes.find(i => !savepointed(i.requested)).orElse {
      val newestArchived = if (writes.isEmpty) None else files.archive.newest
      writes.find(i => newestArchived.forall(_ < i.requested)).orElse(writes.lastOption)
    }.map(_.requested)
  }(_.start)

  def isCompleted(requested: String): Boolean = completedInstants(requested)

  /** Whether an instant that is not pending is that of a commit, by the timeline and its history. */
  private[table] def commitState(requested: String): CommitState =
    metadata(requested).map(CommitState.Committed(_)).getOrElse(
      if (isArchived(requested)) files.archive.commitState(requested) else CommitState.NotCommitted)

  /** The completion time of an instant on this timeline; None for archived instants and in tables of version 6. */
  def completionTime(requested: String): Option[String] = completionTimes.get(requested)

  private lazy val completionTimes: Map[String, String] =
    completed.flatMap(i => i.completed.map(i.requested -> _)).toMap

  /** Whether the instant is older than the timeline, and so counts as completed and archived. */
  def isArchived(requested: String): Boolean = completedInstants.isArchived(requested)

  /** The completion time of an instant that completes now; None in layout 1. Call under the table lock. */
  private[table] def nextCompletion: Option[String] =
    if (config.layoutVersion >= 2) Some(InstantTime.next(storage.identity, config.timelineZone, times)) else None

  /** All requested and completion times: a new one must be greater. */
  private[table] def times: Iterable[String] = instants.flatMap(i => i.requested +: i.completed.toSeq)

  /**
   * An instant that none of the timeline is later than: the one that it is as of, else the last. The instants as of a
   * time may all be archived.
   */
  private[table] def newest: String =
    limit.getOrElse(instants.foldLeft("")((last, i) => if (last < i.requested) i.requested else last))

  /** The timeline as of an instant, inclusive, by requested time. */
  def asOf(instant: String): Timeline = upTo(instant, later)

  /**
   * The timeline as of a time, inclusive, by completion time: with the writes that had completed. A compaction or a
   * clustering that had only been planned counts as completed if it has by now: its files have rows of earlier writes
   * alone, and those that it replaced may be gone. In layout 1, whose instants have no completion times, [[asOf]].
   */
  private[table] def asOfCompletion(time: String): Timeline =
    upTo(time, completedAfter(time).filterNot(metadata(_).operationType.isService).map(_.requested).toSet)

  /** The writes and services that had begun at a time and completed later. */
  private[table] def completedAfter(time: String): Seq[Instant] =
    completed.filter(i => i.requested <= time && i.completed.exists(time < _))

  private def upTo(instant: String, later: Set[String]): Timeline = {
    val included =
      instants.filter(i => i.requested <= instant && !(later(i.requested) && i.action.whenCompleted.isWrite))
    val past =
      new Timeline(storage, config, included, files, Some(limit.fold(instant)(l => if (l < instant) l else instant)),
        Some(complete.getOrElse(this)), () => hasArchive, unknownActions, unfinished, later)
    // Archived instants have no file.
    read.asScala.foreach { case (i, metadata) =>
      if (!files.has(i, InstantState.Completed)) past.keep(i, metadata)
    }
    past
  }

  /** The timeline with instants of its archive, whose metadata is not read again. */
  private[table] def withArchived(archived: Seq[(Instant, CommitMetadata)]): Timeline = {
    val older = archived.filterNot { case (instant, _) => find(instant.requested, instant.action).isDefined }
    val whole = new Timeline(storage, config, (older.map(_._1) ++ instants).sortBy(i => (i.requested, i.action.name)),
      files, limit, complete, () => hasArchive, unknownActions, unfinished, later)
    whole.reuse(this)
    older.foreach { case (instant, metadata) => whole.keep(instant, metadata) }
    whole
  }

  /**
   * The timeline with the writes that were archived since an earlier one, if any were; they have completed since then,
   * or the earlier timeline has them.
   */
  private[table] def withArchivedSince(earlier: Timeline): Timeline = {
    val here = instants.map(i => (i.requested, i.action.whenCompleted)).toSet
    val gone = earlier.instants.filter(i =>
      i.action.whenCompleted.isWrite && !here((i.requested, i.action.whenCompleted)))
    val first = gone.map(_.requested).reduceOption((a, b) => if (a < b) a else b)
    // A table that had nothing then has only writes since then.
    val from = if (earlier.instants.isEmpty && completed.nonEmpty) Some("") else first
    from.filter(_ => hasArchive).fold(this)(f => withArchived(files.archive.newestFirst(Some(f), None).toList))
  }

  /** The writes that were archived, the newest first, see [[ArchivedTimeline]]. */
  private[table] def archivedWrites: Iterator[(Instant, () => Option[CommitMetadata])] =
    if (hasArchive) files.archive.writesNewestFirst else Iterator.empty

  /**
   * Reads the metadata of completed writes in parallel, for later calls on this timeline and on those that begin with
   * it. Ignores writes that were archived since the timeline was listed.
   */
  private[table] def readAhead(writes: Seq[Instant]): Unit = {
    Parallel.map(writes.filterNot(read.containsKey))(instant => files.ifPresent(metadata(instant)))
    ()
  }

  /** Reads what pending services have planned, likewise. */
  private[table] def readPlans(): Unit = {
    Parallel.map(pendingCompactions)(instant => files.ifPresent(compactionPlan(instant)))
    Parallel.map(pendingReplaces)(_._1)
    ()
  }

  private def keep(instant: Instant, metadata: CommitMetadata): Unit = { read.put(instant, metadata); () }

  /**
   * The metadata of a completed write; read once.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def metadata(instant: Instant): CommitMetadata = {
    val known = read.get(instant)
    if (known != null) known
    else {
      val metadata = commit(instant)
      read.put(instant, metadata)
      metadata
    }
  }

  /** Takes over what was read of completed files that have not changed. */
  private def reuse(earlier: Timeline): Unit = {
    reuseHistory(earlier)
    earlier.read.asScala.foreach { case (instant, metadata) =>
      val version = files.versionOf(instant)
      if (version.isDefined && version == earlier.files.versionOf(instant)) read.put(instant, metadata)
    }
    files.reuse(earlier.files)
  }

  def metadata(requested: String): Option[CommitMetadata] = completed.find(_.requested == requested).map(metadata)

  /**
   * The files that a completed write names, by path; cached per process.
   *
   * @return None if they are unknown: the write is no longer on the timeline, or names no file
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  private[table] def committedFiles(requested: String): Option[Map[String, CommittedFile]] =
    completedByInstant.get(requested).flatMap { instant =>
      if (hasFile(instant, InstantState.Completed)) committedFiles(instant)
      else Option(read.get(instant)).map(CommittedFiles.of).filter(_.nonEmpty) // archived
    }

  /**
   * The completed writes that have a file on this timeline and the metadata of which was read, or is to be read: all
   * files that they name must exist, or have been replaced by others.
   *
   * @param reads whether to read those of a requested time that has not been read
   */
  private[table] def unarchived(reads: String => Boolean): Seq[Instant] = {
    val from = start
    completed.filter(i =>
      hasFile(i, InstantState.Completed) && from.forall(_ <= i.requested) && (read.containsKey(
        i) || reads(i.requested)))
  }

  private def committedFiles(instant: Instant): Option[Map[String, CommittedFile]] = {
    val name     = files.name(instant, InstantState.Completed)
    val version  = files.versionOf(instant).fold("") { case (_, (size, time)) => s"$size $time" }
    val cacheKey = s"$storage/${config.timelineFolder}/$name $version"
    CommittedFiles.get(cacheKey).orElse {
      val found = Option(read.get(instant)).orElse(storedMetadata(instant)).map(CommittedFiles.of)
      found.foreach(CommittedFiles.put(cacheKey, _))
      found
    }.filter(_.nonEmpty)
  }

  private lazy val completedByInstant: Map[String, Instant] = completed.map(i => i.requested -> i).toMap

  /** None if the file was removed since the timeline was listed. */
  private def storedMetadata(instant: Instant): Option[CommitMetadata] = files.ifPresent(commit(instant))

  /** Reads the file of a completed write; from the history if it was archived since the timeline was listed. */
  private def commit(instant: Instant): CommitMetadata = {
    val metadata = files.decodeCompleted(instant) { bytes =>
      val decoded = CommitMetadata.decode(bytes)
      requireOwn(instant, decoded)
      decoded
    }
    requireNoneExternal(instant, metadata)
    metadata
  }

  /** A file group of a file with another format's name has that as id. */
  private def requireNoneExternal(instant: Instant, metadata: CommitMetadata): Unit =
    (metadata.allStats.iterator.map(_.path).filter(FileNames.isExternal) ++
      metadata.replacedFileIds.valuesIterator.flatten.filter(_.endsWith(".parquet"))).take(1).foreach { name =>
      throw MerganserException("TABLE_FEATURE_UNREADABLE", "path" -> storage,
        "feature" -> s"commit ${instant.requested} names '$name', a file of a table of another format",
        "reason" -> "Apache XTable and Delta UniForm make such commits, and rows cannot be merged into these files",
        "remedy" -> "Read the table in its own format")
    }

  /**
   * The file of another commit under this one's name has other instants in the names of all files. Logs have that of
   * their slice in a table that was created in an earlier layout.
   */
  private def requireOwn(instant: Instant, metadata: CommitMetadata): Unit = {
    def instants = metadata.stats.valuesIterator.flatten.filter(stat =>
      stat.path.nonEmpty && (config.isCreatedInLayout2 || !stat.isLogFile)).flatMap(stat =>
      FileNames.instant(stat.fileName))
    if (instants.nonEmpty && !instants.contains(instant.requested))
      throw new IllegalArgumentException(
        s"it names files of ${instants.toSeq.distinct.take(3).mkString(", ")}, none of its own")
  }

  /**
   * When a completed instant completed, as an instant: in layout 1 the modification time of its file is the best
   * estimate.
   */
  private[table] def completionOf(instant: Instant): Option[String] =
    instant.completed.orElse(files.versionOf(instant).map { case (_, (_, modified)) =>
      InstantTime.format(modified, config.timelineZone)
    })

  /**
   * Whether a write of this requested time may have begun before another one completed; false where that is unknown. In
   * layout 1 the completion is a modification time, which some stores round down to the second.
   */
  private[table] def mayHaveBegunBefore(requested: String, other: String): Boolean =
    completedByInstant.get(other).flatMap(completionOf).exists { completion =>
      (if (completion.endsWith("000")) InstantTime.secondOf(requested) else requested) <= completion
    }

  private[table] def find(requested: String, action: Action): Option[Instant] =
    instants.find(i => i.requested == requested && i.action.whenCompleted == action.whenCompleted)

  private[table] def hasFile(instant: Instant, state: InstantState): Boolean = files.has(instant, state)

  /** Names of the files of all instants. */
  private[table] def fileNames: Seq[String] = files.all

  /** The newest completed write by requested time, with the path of its file, if that was not archived. */
  private[table] def newestFile: Option[(Instant, String)] =
    completed.lastOption.flatMap(i => filesIn(i, InstantState.Completed).headOption.map(i -> _))

  private[table] def nameOf(instant: Instant, state: InstantState): String = files.name(instant, state)

  /** See [[TimelineFiles]]. */
  private[table] def filesIn(instant: Instant, states: InstantState*): Seq[String] = files.paths(instant, states)

  private[table] def content(instant: Instant, state: InstantState): Array[Byte] = files.content(instant, state)

  private[table] def stateFiles(instant: Instant): Seq[StateFile] = files.ofStates(instant)

  private[table] def contents(instant: Instant): Seq[(InstantState, Array[Byte])] = files.contents(instant)
}

object Timeline {

  /** Key in the extra metadata of our commits: columns that were added after the table was created. */
  val AddedKey: String = TimelineColumns.AddedKey

  /** Newest commits that are read one after the other. */
  private[timeline] val OneByOne = 4

  /** Commits that are read at a time where many are needed. */
  private val AtOnce = 64

  /**
   * One listing of the timeline's folder. A table without the folder has an empty timeline.
   *
   * @param known an earlier timeline of the table: commits that were read from it are not read again
   */
  def load(storage: Storage, config: TableConfig, known: Option[Timeline] = None): Timeline =
    load(storage, config, known, hidesTakenBack = true)

  /** With the instants that a restore which has not completed is removing: readers and writers do not see them. */
  private[table] def loadWhole(storage: Storage, config: TableConfig): Timeline =
    load(storage, config, None, hidesTakenBack = false)

  private def load(
      storage: Storage,
      config: TableConfig,
      known: Option[Timeline],
      hidesTakenBack: Boolean
  ): Timeline = {
    val parsed = TimelineListing.of(storage, config.timelineFolder)
    val found = parsed.flatMap { case (named, status) =>
      named.map { instant =>
        // For a completed file of layout 1 in a table of layout 2, the modification time is the best estimate.
        val completed =
          if (instant.isCompleted && instant.completed.isEmpty && config.layoutVersion >= 2)
            Some(InstantTime.format(status.getModificationTime, config.timelineZone))
          else instant.completed
        instant.copy(completed = completed) -> status
      }
    }
    val byAction = found.groupBy { case (instant, _) => (instant.requested, instant.action.whenCompleted) }
    val latest = byAction.values.map { states =>
      val instant = states.map(_._1).maxBy(i => (i.state.rank, i.completed))
      instant -> states.map { case (state, status) => (instant, state.state) -> status.getPath.getName }
    }.toSeq
    val versions =
      found.map { case (_, status) => status.getPath.getName -> ((status.getLen, status.getModificationTime)) }
    val files = latest.flatMap(_._2).toMap
    UnfinishedRestore.of(storage, config, latest.map(_._1), files) match {
      // It completed since the listing, and what it took back is gone.
      case None => load(storage, config, known, hidesTakenBack)
      case Some(unfinished) =>
        val takenBack =
          if (hidesTakenBack) unfinished.filter(_.isEffective).flatMap(_.takenBack).toSet else Set.empty[String]
        val seen = latest.map(_._1).filterNot(i => i.action.whenCompleted.isWrite && takenBack(i.requested))
        val loaded = new Timeline(storage, config, seen.sortBy(i => (i.requested, i.action.name)),
          new TimelineFiles(storage, config, files, versions.toMap), None, None,
          () => mayHaveArchived(storage, config),
          parsed.collect { case (None, status) => status.getPath.getName }.filter(InstantFile.isUnknown).sorted,
          unfinished)
        known.foreach(loaded.reuse)
        loaded
    }
  }

  /** A table created in layout 2 archives only to its history folder; others may have archived elsewhere before. */
  private def mayHaveArchived(storage: Storage, config: TableConfig): Boolean =
    !config.isCreatedInLayout2 || storage.list(config.historyFolder).exists(f =>
      f.isFile && HistoryManifests.isOne(f.getPath.getName))
}
