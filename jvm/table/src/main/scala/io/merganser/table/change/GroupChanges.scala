package io.merganser.table.change

import io.merganser.merge.MerganserException
import io.merganser.table.file.{FileGroupId, FileNames, LogFile}
import io.merganser.table.options.{ChangeLogging, Options}
import io.merganser.table.properties.TableConfig
import io.merganser.table.slice.{FileSlice, LogVisibility, TableView, TimeTravel}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{ArchivedTimeline, CommitMetadata, Instant, InstantTime, Timeline, WriteStat}

import scala.collection.JavaConverters._
import scala.collection.mutable

/**
 * A state of the table between two of its writes.
 *
 * @param slice the slice of one file group, if the group had one
 */
final case class GroupState(slice: Option[FileSlice], visibility: LogVisibility) {

  /** What a reader of the state has to read, in bytes. */
  def sizeBytes: Long = slice.fold(0L)(_.sizeBytes)
}

/**
 * What one write did to one file group.
 *
 * @param instant     requested time of the write
 * @param completed   its completion time; in layout 1, which has none, the requested time
 * @param changeFiles files with all of the changes; the states are not read then
 */
final case class GroupChange(
    instant: String,
    completed: String,
    group: FileGroupId,
    before: GroupState,
    after: GroupState,
    changeFiles: Seq[LogFile]
) {

  def sizeBytes: Long =
    if (changeFiles.nonEmpty) changeFiles.map(_.sizeBytes).sum else before.sizeBytes + after.sizeBytes

  /**
   * The logs that the write added, if it did nothing else to the slice: no other key has changed than theirs.
   *
   * @param areShared whether several writes may have blocks in a log, whose name then does not tell which: all logs of
   *                  the slice count as added
   */
  def addedLogs(areShared: Boolean): Option[FileSlice] = (before.slice, after.slice) match {
    case (Some(older), Some(newer)) if older.base == newer.base =>
      val known = if (areShared) Set.empty[String] else older.logs.map(_.name).toSet
      if (older.logs.forall(log => newer.logs.exists(_.name == log.name)))
        Some(newer.copy(logs = newer.logs.filterNot(log => known(log.name))))
      else None
    case _ => None
  }
}

/**
 * Finds, for the writes of a window, the file groups that each has changed, with their slices before and after it.
 * Services change no row, and are left out.
 *
 * @param timeline of the table as of now
 */
final class GroupChanges(storage: Storage, config: TableConfig, timeline: Timeline, archive: ArchivedTimeline) {

  def this(storage: Storage, config: TableConfig, timeline: Timeline) =
    this(storage, config, timeline, new ArchivedTimeline(storage, config))

  private val files  = new TableView(storage, config, timeline)
  private val travel = new TimeTravel(storage, config, timeline, archive)

  private val hasTimes = config.layoutVersion >= 2

  /**
   * @param commits   completed writes and services with their metadata, in any order
   * @param mayMatter whether changes in a partition are needed, by its path
   * @throws io.merganser.merge.MerganserException CHANGES_CLEANED if a file that is needed was cleaned
   */
  def of(
      commits: Seq[(Instant, CommitMetadata)],
      mayMatter: String => Boolean = _ => true
  ): Seq[GroupChange] = {
    val writes     = commits.filterNot(_._2.operationType.isService).sortBy { case (i, _) => (timeOf(i), i.requested) }
    var last       = Option.empty[State]
    lazy val times = new java.util.TreeSet[String](commits.map(c => timeOf(c._1)).asJava)
    writes.flatMap { case (instant, metadata) =>
      val groups = changedGroups(metadata).filter(group => mayMatter(group.partitionPath))
      val stored = groups.map(group => group -> changeFiles(metadata, group)).toMap
      val read   = groups.filter(stored(_).isEmpty)
      val (before, after) =
        if (read.isEmpty) (None, None)
        else {
          val before = stateBefore(instant, times, last)
          last = Some(new State(timeOf(instant)))
          (Some(before), last)
        }
      val partitions = read.map(_.partitionPath).distinct
      groups.map { group =>
        def state(of: Option[State]) = if (stored(group).nonEmpty) GroupState(None, visibility)
        else GroupState(of.flatMap(_.slices(partitions).get(group)), of.fold(visibility)(_.visibility))
        val found =
          GroupChange(instant.requested, timeOf(instant), group, state(before), state(after), stored(group))
        if (stored(group).isEmpty) requireWhole(found, metadata)
        found
      }
    }
  }

  /**
   * The rows of a snapshot as inserts of its newest commit.
   *
   * @param view the timeline of the snapshot
   * @param time completion time of that commit
   */
  def inserts(view: Timeline, slices: Seq[FileSlice], time: String): Seq[GroupChange] = {
    // The columns are read as they are called now.
    val past    = LogVisibility(view).copy(history = timeline.history)
    val instant = instantAt(time)
    slices.map(slice =>
      GroupChange(instant, time, slice.group, GroupState(None, past), GroupState(Some(slice), past), Nil))
  }

  /** Requested time of the commit that completed at a time. */
  private def instantAt(time: String): String = {
    def archived = archive.completedAfter(InstantTime.preceding(time)).find(_._2 == time).map(_._1)
    timeline.completed.find(timeOf(_) == time).map(_.requested).orElse(archived).getOrElse(time)
  }

  /** Fails where the states lack a file that the write replaced or wrote: it was cleaned. */
  private def requireWhole(change: GroupChange, metadata: CommitMetadata): Unit = {
    def has(state: GroupState)(of: FileSlice => Boolean) = state.slice.exists(of)
    def hasBase(name: String)(slice: FileSlice)          = slice.base.exists(_.name == name)
    val stats = metadata.stats.getOrElse(change.group.partitionPath, Nil).filter(s =>
      s.fileId == change.group.fileId && s.path.nonEmpty)
    val isWhole = stats.forall { stat =>
      // In version 6 the name of a log does not tell its write, but its slice goes as a whole.
      if (stat.isLogFile) has(change.after)(slice => !hasTimes || slice.logs.exists(_.name == stat.fileName))
      else
        (metadata.replaced(change.group) || has(change.after)(hasBase(stat.fileName))) &&
        stat.prevBaseFile.filter(_.nonEmpty).forall(name => has(change.before)(hasBase(name)))
    }
    if (!isWhole || (metadata.replaced(change.group) && change.before.slice.isEmpty))
      throw GroupChanges.cleaned(config.name, change.completed)
  }

  private lazy val visibility = LogVisibility(timeline)

  private def timeOf(instant: Instant): String =
    if (hasTimes) instant.completed.getOrElse(instant.requested) else instant.requested

  private def changedGroups(metadata: CommitMetadata): Seq[FileGroupId] =
    metadata.touched.toSeq.sortBy(g => (g.partitionPath, g.fileId))

  /** The change files of a group, if they have all of its changes. */
  private def changeFiles(metadata: CommitMetadata, group: FileGroupId): Seq[LogFile] =
    if (!config.changeLogging.contains(ChangeLogging.BeforeAfter) || metadata.replaced(group)) Nil
    else {
      val stats = metadata.stats.getOrElse(group.partitionPath, Nil).filter(s =>
        s.fileId == group.fileId && s.path.nonEmpty)
      if (stats.isEmpty || stats.exists(_.cdcStats.isEmpty)) Nil
      else stats.flatMap(filesOf)
    }

  private def filesOf(stat: WriteStat): Seq[LogFile] =
    stat.cdcStats.toSeq.flatMap { case (path, size) => FileNames.parseChanges(path, size) }.sorted

  /** @param times of the window's commits */
  private def stateBefore(instant: Instant, times: java.util.TreeSet[String], last: Option[State]): State = {
    val own                 = timeOf(instant)
    def isOlder(i: Instant) = timeOf(i) < own
    def isFirst = !timeline.completed.exists(isOlder) &&
      (timeline.isWhole || !archive.writesNewestFirst.exists { case (i, _) => isOlder(i) })
    val time = Option(times.lower(own)).getOrElse(if (isFirst) "" else InstantTime.preceding(own))
    last.filter(_.time == time).getOrElse(new State(time))
  }

  /** The table at a time. */
  private final class State(val time: String) {

    /**
     * A clean leaves the slices that its oldest retained commit replaced, so time travel is stricter: here it is seen
     * at the files whether a state is whole.
     */
    private lazy val past =
      if (timeline.start.forall(InstantTime.preceding(_) <= time)) travel.anyCompletion(time)
      else cleanedNamed(travel.toCompletion(time))
    private lazy val view   = files.asOf(past)
    private val known       = mutable.Map.empty[FileGroupId, FileSlice]
    private val knownFolder = mutable.Set.empty[String]

    /** The columns are read as they are called now: a past history has no later names. */
    lazy val visibility: LogVisibility =
      if (time.isEmpty) GroupChanges.this.visibility else LogVisibility(past).copy(history = timeline.history)

    def slices(partitions: Seq[String]): collection.Map[FileGroupId, FileSlice] = {
      val more = partitions.filterNot(knownFolder)
      if (more.nonEmpty && time.nonEmpty) {
        cleanedNamed(view.slicesOf(more)).foreach(slice => known(slice.group) = slice)
        knownFolder ++= more
      }
      known
    }

    private def cleanedNamed[T](read: => T): T =
      try read
      catch {
        case e: MerganserException if e.condition == "AS_OF_TOO_EARLY" || e.condition == "SLICE_FILE_MISSING" =>
          throw GroupChanges.cleaned(config.name, time).causedBy(e)
      }
  }
}

object GroupChanges {

  /** A file with a state of the table, or with changes, is gone. */
  def cleaned(table: String, time: String): MerganserException =
    MerganserException("CHANGE_DATA_CLEANED", "table" -> table, "time" -> time,
      "settings" -> Seq(Options.CleanCommits, Options.CleanHours, Options.CleanVersions).map(_.key).mkString(" or "))
}
