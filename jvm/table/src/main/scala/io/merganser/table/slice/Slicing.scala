package io.merganser.table.slice

import io.merganser.merge.MerganserException
import io.merganser.table.file.{BaseFile, FileGroupId, FileNames, LogFile}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{Action, ArchivedTimeline, CommittedFile, Timeline}

import scala.annotation.tailrec
import scala.collection.mutable

/**
 * Groups the files of a partition into the slices of its file groups.
 *
 * Files that are not committed are dropped before slicing: if the base file of a failed write started a slice, later
 * log files would be assigned to it and disappear with it. So are files that [[CommittedNames]] does not have.
 *
 * Holds the names of the files of all commits that it has read: use one for a question, not for the time of a table.
 *
 * @param archive used only if the slice of a log file, or its place among others, depends on the completion time of an
 *                archived instant, or two attempts of a task have left files of one
 */
private[slice] final class Slicing(
    storage: Storage,
    config: TableConfig,
    timeline: Timeline,
    archive: => ArchivedTimeline
) {

  private val isCompleted = timeline.completedInstants

  private val names = new CommittedNames(config, timeline, archive)

  /**
   * The newest slice of each group of some partitions.
   *
   * @param listed  the partitions with their files
   * @param isWhole whether they are all partitions of the table
   * @param chosen  the groups whose slices are returned, with their files; others are not looked at
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING
   */
  def newest(
      listed: Seq[(String, Seq[ListedFile])],
      isWhole: Boolean,
      chosen: FileGroupId => Boolean = _ => true
  ): Seq[FileSlice] = {
    val slices = committedSlices(listed, chosen)(newestOf)
    requireNoneMissing(listed, isWhole, slices, withLogs = true, chosen)
    requireBases(slices)
    requireNoneTakenBack()
    slices
  }

  def readOptimized(listed: Seq[(String, Seq[ListedFile])], isWhole: Boolean): Seq[FileSlice] = {
    val slices = committedSlices(listed)(group =>
      group.bases.lastOption.map(base => FileSlice(group.partitionPath, group.fileId, base.instant, Some(base), Nil)))
    requireNoneMissing(listed, isWhole, slices, withLogs = false)
    requireNoneTakenBack()
    slices
  }

  def all(partition: String, files: Seq[ListedFile]): Seq[FileSlice] = {
    val found = groups(partition, files)
    names.readAhead(found.flatMap(g => g.bases.map(_.instant) ++ g.logs.map(_.instant)))
    found.map(g => g.copy(bases = g.bases.filter(names.has), logs = g.logs.filter(names.has))).flatMap(slices).map(
      withSizes)
  }

  /** See [[TableView.committed]]. */
  def asCommitted(slices: Seq[FileSlice]): Seq[FileSlice] = {
    names.readAhead(slices.flatMap(instants))
    slices.map { slice =>
      val logs = names.ofAttempts(slice.logs.filter(names.has).map(withCompletion).sorted)
      withSizes(slice.copy(base = slice.base.filter(names.has), logs = logs))
    }
  }

  /** Whether a partition has a group that readers see; groups after the first one are skipped. */
  def hasGroup(partition: String, files: Seq[ListedFile]): Boolean =
    groups(partition, files).exists(group => committedSlices(group, newestOf(group), newestOf).isDefined)

  /** A base or log file in a folder that readers would see if the folder were a partition. */
  def anyCommitted(folder: String, files: Seq[ListedFile]): Option[DataFile] =
    DataFile.of(folder, files).find(file =>
      isCompleted(file.instant) && !timeline.replacedGroups(file.group) &&
        names.names(file.instant, FileNames.path(folder, file.name)))

  /** Reads only the commits of chosen slices. A group with a file that its commit does not name is sliced again. */
  private def committedSlices(
      listed: Seq[(String, Seq[ListedFile])],
      isChosen: FileGroupId => Boolean = _ => true
  )(choose: GroupFiles => Option[FileSlice]): Seq[FileSlice] = {
    val chosen = listed.flatMap { case (partition, files) =>
      groups(partition, files).filter(g => isChosen(FileGroupId(partition, g.fileId))).map(group =>
        (group, choose(group)))
    }
    names.readAhead(chosen.flatMap(_._2).flatMap(instants))
    val slices = chosen.flatMap { case (group, slice) => committedSlices(group, slice, choose) }.map(withSizes)
    slices.foreach(_.base.foreach(requireSize))
    slices
  }

  /** A file that was swapped with another, or cut short, may be a file of the format still. */
  private def requireSize(base: BaseFile): Unit =
    names.filesOf(base.instant).flatMap(_.get(base.path)).map(_.sizeBytes).filter(size =>
      size > 0 && size != base.sizeBytes).foreach { committed =>
      throw MerganserException("BASE_FILE_UNREADABLE", "file" -> storage.path(base.path), "bytes" -> base.sizeBytes,
        "reason" -> s"commit ${base.instant} wrote $committed bytes")
    }

  @tailrec
  private def committedSlices(
      group: GroupFiles,
      slice: Option[FileSlice],
      choose: GroupFiles => Option[FileSlice]
  ): Option[FileSlice] = {
    val uncommitted =
      slice.toSeq.flatMap(s => s.base.toSeq.filterNot(names.has).map(_.name) ++ s.logs.filterNot(names.has).map(_.name))
    if (uncommitted.isEmpty) slice
    else {
      val rest = group.without(uncommitted.toSet)
      committedSlices(rest, choose(rest), choose)
    }
  }

  private def withCompletion(log: LogFile): LogFile =
    if (config.version < 8) log else log.copy(completed = timeline.completionTime(log.instant))

  /**
   * Logs of writes that overlapped are in the order in which these completed. Only those of non-blocking writers can,
   * which have buckets.
   */
  private def inOrder(slice: FileSlice): Seq[LogFile] = {
    val mayOverlap =
      slice.logs.exists(_.completed.isEmpty) && slice.logs.exists(_.instant != slice.logs.head.instant) &&
        FileNames.bucketOf(slice.fileId).isDefined
    if (!mayOverlap) slice.logs
    else slice.logs.map(log =>
      if (log.completed.isDefined) log else log.copy(completed = archive.completionTime(log.instant))).sorted
  }

  private def withSizes(slice: FileSlice): FileSlice =
    if (config.version < 8 || slice.logs.isEmpty) slice
    else slice.copy(logs = inOrder(slice).toVector.map { log =>
      val committed = names.commitOf(log).filter(_.sizeBytes > 0)
      committed.fold(log)(file =>
        log.copy(committedBytes = Some(file.sizeBytes), checksums = Some(file.checksums).filter(_.nonEmpty),
          isOfOneWrite = config.isCreatedInLayout2 && !file.isOfLogCompaction))
    })

  /** In version 6 the instant of a log file is that of its base file. */
  private def instants(slice: FileSlice): Seq[String] =
    if (config.version < 8) Seq(slice.baseInstant) else slice.base.toSeq.map(_.instant) ++ slice.logs.map(_.instant)

  /**
   * Every file that the commits of the slices name and that no newer slice replaces must exist: otherwise rows would be
   * missing or older versions would reappear. So must those of other commits that were read, as the newest one was for
   * the schema, and of the commits that have no file left in the whole table.
   */
  private def requireNoneMissing(
      listed: Seq[(String, Seq[ListedFile])],
      isWhole: Boolean,
      slices: Seq[FileSlice],
      withLogs: Boolean,
      isChosen: FileGroupId => Boolean = _ => true
  ): Unit = {
    val here    = listed.map { case (partition, files) => partition -> files.map(_.name).toSet }.toMap
    val byGroup = slices.map(s => s.group -> s).toMap
    val others  = timeline.unarchived(reads = if (isWhole && hasInstantsInNames) without(listed) else _ => false)
    val commits = (slices.flatMap(instants) ++ others.map(_.requested)).distinct
    names.readAhead(commits)
    for {
      instant <- commits
      files   <- names.filesOf(instant).toSeq
      file    <- files.values
      if here.get(file.partitionPath).exists(names => !names(file.name)) &&
        FileNames.fileId(file.name).forall(id => isChosen(FileGroupId(file.partitionPath, id))) &&
        isNeeded(file, byGroup, withLogs)
    } throw missing(file.partitionPath, file.name, instant)
    requireNoneLost((commits ++ ontoLost(listed)).distinct, here, byGroup)
  }

  /**
   * A write replaces files of completed writes alone: where one has replaced that of another write, the completed file
   * of that write is lost. Its other rows would be missing, or those that it replaced would be there again.
   */
  private def requireNoneLost(
      commits: Seq[String],
      here: Map[String, Set[String]],
      slices: Map[FileGroupId, FileSlice]
  ): Unit = {
    // A writer of another engine may have taken the file of a failed write for a base file, beside an older one.
    def isBegin(file: CommittedFile, base: String) =
      slices.get(FileGroupId(file.partitionPath, FileNames.fileId(base).getOrElse(""))).forall(_.base.isEmpty) &&
        here.get(file.partitionPath).exists(_(base))
    for {
      instant <- commits
      files   <- names.filesOf(instant).toSeq
      file    <- files.values
      if !FileNames.fileId(file.name).exists(id => timeline.replacedGroups(FileGroupId(file.partitionPath, id)))
      lost <- file.replaced.filter(isLost) ++ file.baseFile.flatMap(base =>
        FileNames.instant(base).filter(i => isLost(i) && (isReplacing(i) || isBegin(file, base))))
    } throw LostCommits.error(storage, config, lost, instant, file)
  }

  /** In version 6 logs on the base file of a lost write are hidden with it: the writes since then, if there are any. */
  private def ontoLost(listed: Seq[(String, Seq[ListedFile])]): Seq[String] = if (config.version >= 8) Nil
  else {
    def slicesOf(files: Seq[ListedFile], isOne: String => Boolean) = files.map(_.name).filter(isOne).flatMap(name =>
      FileNames.instant(name).filter(isLost).map(FileNames.fileId(name) -> _)).toSet
    val lost = listed.flatMap { case (_, files) =>
      slicesOf(files, FileNames.isLog).intersect(slicesOf(files, !FileNames.isLog(_))).map(_._2)
    }
    if (lost.isEmpty) Nil else timeline.completed.map(_.requested).filter(lost.min < _)
  }

  /** Instants before the timeline are not known: other engines have had names of their own for the first ones. */
  private def isLost(instant: String): Boolean =
    !isCompleted(instant) && !isCompacting(instant) && timeline.start.forall(_ <= instant)

  private lazy val isCompacting: Set[String] =
    (timeline.pendingCompactions ++ timeline.pendingLogCompactions).map(_.requested).toSet

  private lazy val isReplacing: Set[String] =
    timeline.pending.filter(_.action.whenCompleted == Action.ReplaceCommit).map(_.requested).toSet

  /**
   * A restore removes the newest instant from the timeline before it removes a data file. If that instant is there
   * after the partitions were listed, no file was missing in them.
   */
  private def requireNoneTakenBack(): Unit =
    timeline.newestFile.filterNot { case (_, file) => storage.exists(file) }.foreach { case (newest, _) =>
      if (!Timeline.load(storage, config).isCompleted(newest.requested))
        throw MerganserException("READ_TAKEN_BACK", "table" -> config.name, "instant" -> newest.requested)
    }

  /** False if files of several commits may have the name of one, as logs have in version 6. */
  private def hasInstantsInNames: Boolean = config.isCreatedInLayout2 || !config.isMergeOnRead

  /** The instants that are not in the name of a file. */
  private def without(listed: Seq[(String, Seq[ListedFile])]): String => Boolean = {
    val found = mutable.HashSet.empty[String]
    listed.foreach { case (_, files) => files.foreach(f => found ++= FileNames.instant(f.name)) }
    instant => !found(instant)
  }

  private def missing(partition: String, name: String, instant: String): MerganserException =
    MerganserException("SLICE_FILE_MISSING", "table" -> config.name, "file" -> FileNames.path(partition, name),
      "by" -> s"commit $instant")

  /** The commit of a log names the base file that it belongs to, also if that file's own commit was archived. */
  private def requireBases(slices: Seq[FileSlice]): Unit = if (config.version >= 8) for {
    slice <- slices
    log   <- slice.logs
    name  <- names.commitOf(log).flatMap(_.baseFile)
    base  <- FileNames.parseBase(slice.partitionPath, name, 0L)
  } if (isMissing(base, slice)) throw missing(slice.partitionPath, name, log.instant)

  /** A writer of another engine may have taken the file of a failed write for a base file. */
  private def isMissing(base: BaseFile, slice: FileSlice): Boolean =
    base.fileId == slice.fileId && slice.base.forall(_.instant < base.instant) && isCompleted(base.instant) &&
      names.has(base)

  private def isNeeded(
      file: CommittedFile,
      slices: Map[FileGroupId, FileSlice],
      withLogs: Boolean
  ): Boolean = {
    def newest(fileId: String) = slices.get(FileGroupId(file.partitionPath, fileId))
    def isLive(fileId: String) = !timeline.replacedGroups(FileGroupId(file.partitionPath, fileId))
    FileNames.parseBase(file.partitionPath, file.name, 0L).exists { base =>
      isLive(base.fileId) &&
      newest(base.fileId).forall(s => base.instant > s.baseInstant || (base.instant == s.baseInstant && s.base.isEmpty))
    } || (withLogs && config.isCreatedInLayout2 && FileNames.parseLog(file.partitionPath, file.name, 0L).exists { log =>
      // A log of a bucket that was to be split is named after the clustering, which may have been rolled back.
      // A log compaction may have completed while an overwrite of its slice ran, which is archived before it.
      isLive(log.fileId) && isCompleted(log.instant) &&
      newest(log.fileId).fold(!file.isOfLogCompaction)(s =>
        s.base.isEmpty || timeline.completionTime(log.instant).exists(s.baseInstant <= _))
    })
  }

  /** The new slice of a group under compaction has no base file yet: its logs are read on top of the previous slice. */
  private def newestOf(group: GroupFiles): Option[FileSlice] = {
    val found = slices(group)
    timeline.groupsInCompaction.get(FileGroupId(group.partitionPath, group.fileId)) match {
      case Some(compaction) =>
        val (before, since) = found.partition(_.baseInstant < compaction)
        val logs            = since.flatMap(_.logs)
        before.lastOption.map(last => last.copy(logs = (last.logs ++ logs).sorted)).orElse(since.lastOption)
      case None => found.lastOption
    }
  }

  /** The groups that readers see. */
  private def groups(partition: String, files: Seq[ListedFile]): Seq[GroupFiles] = {
    val bases = files.flatMap(f => FileNames.parseBase(partition, f.name, f.sizeBytes))
      .filter(f => isCompleted(f.instant)).groupBy(_.fileId)
    val logs = files.flatMap(f => FileNames.parseLog(partition, f.name, f.sizeBytes))
      .filter(f => isVisible(f)).map(withCompletion).groupBy(_.fileId)
    (bases.keySet ++ logs.keySet).toSeq.sorted
      .filterNot(fileId => timeline.replacedGroups(FileGroupId(partition, fileId)))
      .map(fileId =>
        GroupFiles(partition, fileId, names.onePerInstant(bases.getOrElse(fileId, Nil)),
          names.ofAttempts(logs.getOrElse(fileId, Nil).sorted)))
  }

  /** In version 6 a log file is named after its slice; whether a block is visible depends on the block's instant. */
  private def isVisible(log: LogFile): Boolean =
    if (config.version >= 8) isCompleted(log.instant)
    else
      isCompleted(log.instant) || timeline.groupsInCompaction.get(FileGroupId(log.partitionPath, log.fileId)).contains(
        log.instant)

  private def slices(group: GroupFiles): Seq[FileSlice] = {
    val byInstant   = group.bases.map(f => f.instant -> f).toMap
    val compacted   = timeline.groupsInCompaction.get(FileGroupId(group.partitionPath, group.fileId))
    val starts      = mutable.TreeSet(byInstant.keySet.toSeq ++ compacted: _*)
    val logsByStart = mutable.Map.empty[String, mutable.ArrayBuffer[LogFile]]
    group.logs.sorted(LogFile.byInstant).foreach { log =>
      val start = startOf(log, starts)
      starts += start
      logsByStart.getOrElseUpdate(start, mutable.ArrayBuffer.empty) += log
    }
    starts.toSeq
      .filter(start => byInstant.contains(start) || logsByStart.contains(start))
      .map(start =>
        FileSlice(group.partitionPath, group.fileId, start, byInstant.get(start),
          logsByStart.get(start).toSeq.flatten.sorted))
  }

  /** The latest start up to the log's completion, if there is one, else its own instant; in version 6 always that. */
  private def startOf(log: LogFile, starts: mutable.TreeSet[String]): String =
    if (config.version < 8) log.instant
    else {
      val completion = timeline.completionTime(log.instant).getOrElse(archivedCompletion(log.instant, starts))
      starts.iterator.takeWhile(_ <= completion).foldLeft(log.instant)((_, start) => start)
    }

  /** The completion time is needed only if a slice starts after the log was requested. */
  private def archivedCompletion(instant: String, starts: mutable.TreeSet[String]): String =
    if (starts.lastOption.exists(_ > instant)) archive.completionTime(instant).getOrElse(instant) else instant
}

/** The files of a group whose instants are completed; base files sorted by instant, log files in reading order. */
private final case class GroupFiles(partitionPath: String, fileId: String, bases: Seq[BaseFile], logs: Seq[LogFile]) {
  def without(names: Set[String]): GroupFiles =
    copy(bases = bases.filterNot(f => names(f.name)), logs = logs.filterNot(f => names(f.name)))
}
