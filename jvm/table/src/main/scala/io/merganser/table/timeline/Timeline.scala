package io.merganser.table.timeline

import java.io.FileNotFoundException
import java.util.concurrent.ConcurrentHashMap

import io.merganser.merge.MerganserException
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.file.{FileGroupId, FileNames}
import io.merganser.table.properties.{PropertiesFile, TableConfig}
import io.merganser.table.schema.{MetaColumns, SchemaHistory}
import io.merganser.table.storage.{Parallel, Storage}
import org.apache.spark.sql.types.StructType

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

/**
 * The instants of a table, as of one listing of its timeline.
 *
 * @param instants one for each action, in its latest state, sorted by requested time
 * @param files    name of the file of each instant and state
 * @param limit    as-of instant: instants requested later are ignored
 * @param findsArchive whether older instants may have been archived
 * @param versions size and time of the files, by name
 * @param unknownActions names of files that look like instants of unknown actions
 * @param unfinished     restores, and rollbacks of completed writes, of ours that have not completed
 * @param later          requested times of writes that completed after the completion time that the timeline is as of
 */
final class Timeline private (
    storage: Storage,
    config: TableConfig,
    val instants: Seq[Instant],
    files: Map[(Instant, InstantState), String],
    limit: Option[String],
    complete: Option[Timeline],
    findsArchive: () => Boolean,
    private val versions: Map[String, (Long, Long)],
    private[table] val unknownActions: Seq[String],
    private[table] val unfinished: Seq[UnfinishedRestore],
    later: Set[String] = Set.empty
) {

  private val read = new ConcurrentHashMap[Instant, CommitMetadata]()

  /** Plans, requests and cleans that were read, by the name of their file. */
  private val decoded = new ConcurrentHashMap[String, AnyRef]()

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

  private def byCompletion: Seq[Instant] = completed.sortBy(i => (i.completed.getOrElse(i.requested), i.requested))

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
  private[table] def start: Option[String] = {
    val all         = complete.getOrElse(this).instants
    val writes      = all.filter(_.action.whenCompleted.isWrite)
    val savepointed = all.filter(_.action == Action.Savepoint).map(_.requested).toSet
    // Savepointed instants stay when those around them are archived, so they do not mark the start of the timeline.
    writes.find(i => !savepointed(i.requested)).orElse(writes.headOption).map(_.requested)
  }

  def isCompleted(requested: String): Boolean = completedInstants(requested)

  /** Whether an instant that is not pending is that of a commit, by the timeline and its history. */
  private[table] def commitState(requested: String): CommitState =
    metadata(requested).map(CommitState.Committed(_)).getOrElse(
      if (isArchived(requested)) archive.commitState(requested) else CommitState.NotCommitted)

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

  /** The timeline as of an instant, inclusive, by requested time. */
  def asOf(instant: String): Timeline = upTo(instant, later)

  /**
   * The timeline as of a time, inclusive, by completion time: with the writes that had completed. A compaction or a
   * clustering that had only been planned counts as completed if it has by now: its files have rows of earlier writes
   * alone, and those that it replaced may be gone. In layout 1, whose instants have no completion times, [[asOf]].
   *
   * @param archived requested times of archived writes that completed later
   */
  private[table] def asOfCompletion(time: String, archived: Set[String] = Set.empty): Timeline =
    upTo(time, archived ++ completedAfter(time).filterNot(metadata(_).operationType.isService).map(_.requested))

  /** The writes and services that had begun at a time and completed later. */
  private[table] def completedAfter(time: String): Seq[Instant] =
    completed.filter(i => i.requested <= time && i.completed.exists(time < _))

  private def upTo(instant: String, later: Set[String]): Timeline = {
    val included =
      instants.filter(i => i.requested <= instant && !(later(i.requested) && i.action.whenCompleted.isWrite))
    val past =
      new Timeline(storage, config, included, files, Some(limit.fold(instant)(l => if (l < instant) l else instant)),
        Some(complete.getOrElse(this)), () => hasArchive, versions, unknownActions, unfinished, later)
    // Archived instants have no file.
    read.asScala.foreach { case (i, metadata) =>
      if (!files.contains((i, InstantState.Completed))) past.keep(i, metadata)
    }
    past
  }

  /** The timeline with instants of its archive, whose metadata is not read again. */
  private[table] def withArchived(archived: Seq[(Instant, CommitMetadata)]): Timeline = {
    val older = archived.filterNot { case (instant, _) => find(instant.requested, instant.action).isDefined }
    val whole = new Timeline(storage, config, (older.map(_._1) ++ instants).sortBy(i => (i.requested, i.action.name)),
      files, limit, complete, () => hasArchive, versions, unknownActions, unfinished, later)
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
    from.filter(_ => hasArchive).fold(this)(f => withArchived(archive.newestFirst(Some(f), None).toList))
  }

  /** The writes that were archived, the newest first, see [[ArchivedTimeline]]. */
  private[table] def archivedWrites: Iterator[(Instant, () => Option[CommitMetadata])] =
    if (hasArchive) archive.writesNewestFirst else Iterator.empty

  /** The instant of the commit whose schema is the table's. */
  private[table] def schemaInstant: Option[Instant] = schemaCommit.map(_._1)

  /**
   * Reads the metadata of completed writes in parallel, for later calls on this timeline and on those that begin with
   * it. Ignores writes that were archived since the timeline was listed.
   */
  private[table] def readAhead(writes: Seq[Instant]): Unit = {
    Parallel.map(writes.filterNot(read.containsKey))(instant => ifPresent(metadata(instant)))
    ()
  }

  /** Reads what pending services have planned, likewise. */
  private[table] def readPlans(): Unit = {
    Parallel.map(pendingCompactions)(instant => ifPresent(compactionPlan(instant)))
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
    knownHistory =
      if (earlier.isHistoryKnown) Some(earlier.completed.toSet -> earlier.history) else earlier.knownHistory
    earlier.read.asScala.foreach { case (instant, metadata) =>
      if (versionOf(instant).isDefined && versionOf(instant) == earlier.versionOf(instant)) read.put(instant, metadata)
    }
    earlier.decoded.asScala.foreach { case (name, content) =>
      if (versions.contains(name) && versions.get(name) == earlier.versions.get(name)) decoded.put(name, content)
    }
  }

  /** Name, size and time of the completed file. */
  private def versionOf(instant: Instant): Option[(String, (Long, Long))] =
    files.get((instant, InstantState.Completed)).flatMap(name => versions.get(name).map(name -> _))

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
    val name = fileName(instant, InstantState.Completed)
    val cacheKey =
      s"$storage/${config.timelineFolder}/$name ${versions.get(name).fold("") { case (size, time) => s"$size $time" }}"
    CommittedFiles.get(cacheKey).orElse {
      val found = Option(read.get(instant)).orElse(storedMetadata(instant)).map(CommittedFiles.of)
      found.foreach(CommittedFiles.put(cacheKey, _))
      found
    }.filter(_.nonEmpty)
  }

  private lazy val completedByInstant: Map[String, Instant] = completed.map(i => i.requested -> i).toMap

  /** None if the file was removed since the timeline was listed. */
  private def storedMetadata(instant: Instant): Option[CommitMetadata] = ifPresent(commit(instant))

  /** None if the file was removed since the timeline was listed, by a rollback of its instant. */
  private def ifPresent[T](read: => T): Option[T] =
    try Some(read)
    catch {
      case e: MerganserException if e.getCause.isInstanceOf[FileNotFoundException] => None
    }

  /** Reads the file of a completed write; from the history if it was archived since the timeline was listed. */
  private def commit(instant: Instant): CommitMetadata = decodeCompleted(instant) { bytes =>
    val metadata = CommitMetadata.decode(bytes)
    requireOwn(instant, metadata)
    metadata
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
   * The plan of a compaction or log compaction, whatever state the instant has: on an earlier timeline it may have had
   * another one.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def compactionPlan(instant: Instant): CompactionPlan = {
    val now = find(instant.requested, instant.action).getOrElse(instant)
    decodeOnce(fileName(now, InstantState.Requested), archive.plan(now))(CompactionPlan.decode)
  }

  /**
   * What a completed rollback deleted.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def rollback(instant: Instant): RollbackMetadata =
    decodeCompleted(instant)(RollbackMetadata.decode)

  /**
   * What a completed restore took back.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def restore(instant: Instant): RestoreMetadata = decodeCompleted(instant)(RestoreMetadata.decode)

  /** Completed restores, the oldest first. */
  def restores: Seq[Instant] = instants.filter(i => i.isCompleted && i.action == Action.Restore)

  /** Completed rollbacks, the oldest first. */
  def rollbacks: Seq[Instant] = instants.filter(i => i.isCompleted && i.action == Action.Rollback)

  /**
   * What completed cleans deleted and what pending ones will delete.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  private[table] def cleans: Seq[Cleaned] =
    Parallel.map(instants.filter(_.action == Action.Clean))(cleaned).flatten

  /** [[cleans]] without those that an earlier timeline has completed, with their instants. */
  private[table] def cleansSince(earlier: Timeline): Seq[(Instant, Cleaned)] = {
    val known = earlier.instants.filter(i => i.action == Action.Clean && i.isCompleted).toSet
    instants.filter(i => i.action == Action.Clean && !known(i)).flatMap(i => cleaned(i).map(i -> _))
  }

  /** What a clean deleted, or will. */
  private[table] def cleaned(clean: Instant): Option[Cleaned] =
    if (clean.isCompleted)
      Some(decodeOnce(fileName(clean, InstantState.Completed), archive.content(clean))(Cleaned.ofMetadata))
    else files.get((clean, InstantState.Requested)).map(decodeOnce(_)(Cleaned.ofPlan))

  /** The newest clean that has completed. */
  private[table] def lastClean: Option[Instant] =
    instants.reverseIterator.find(i => i.action == Action.Clean && i.isCompleted)

  /** Cleans that have not completed, the oldest first. */
  private[table] def pendingCleans: Seq[Instant] = pending.filter(_.action == Action.Clean)

  /**
   * The plan of a clean; None if its process ended before it wrote one.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def cleanPlan(clean: Instant): Option[CleanPlan] =
    files.get((clean, InstantState.Requested)).flatMap(decode(_, archive.plan(clean))(ifNotEmpty(CleanPlan.decode)))

  /**
   * The metadata of a completed clean; None if the file is empty.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def cleanMetadata(clean: Instant): Option[CleanMetadata] =
    decodeCompleted(clean)(ifNotEmpty(CleanMetadata.decode))

  /** Instants of savepoints, completed or not. */
  private[table] def savepoints: Seq[Instant] = instants.filter(_.action == Action.Savepoint)

  /**
   * Names of the files that completed savepoints retain, by partition path.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  private[table] lazy val savedFiles: Map[String, Set[String]] =
    Parallel.map(savepoints.filter(_.isCompleted))(savepoint).flatMap(_.files).groupBy(_._1).map {
      case (partition, names) => partition -> names.flatMap(_._2).toSet
    }

  /**
   * The content of a completed savepoint; without files if the file is empty.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  private[table] def savepoint(instant: Instant): SavepointMetadata =
    decode(fileName(instant, InstantState.Completed))(ifNotEmpty(SavepointMetadata.decode)).getOrElse(
      SavepointMetadata("", 0L, "", Map.empty))

  private def ifNotEmpty[T](decode: Array[Byte] => T)(bytes: Array[Byte]): Option[T] =
    if (bytes.isEmpty) None else Some(decode(bytes))

  /**
   * When a completed instant completed, as an instant: in layout 1 the modification time of its file is the best
   * estimate.
   */
  private[table] def completionOf(instant: Instant): Option[String] =
    instant.completed.orElse(versionOf(instant).map { case (_, (_, modified)) =>
      InstantTime.format(modified, config.timelineZone)
    })

  /** File groups in a pending compaction, with its instant. */
  lazy val groupsInCompaction: Map[FileGroupId, String] =
    pendingCompactions.flatMap(instant => compactionPlan(instant).groups.map(_ -> instant.requested)).toMap

  /** File groups in a pending log compaction, with its instant. */
  lazy val groupsInLogCompaction: Map[FileGroupId, String] =
    pendingLogCompactions.flatMap(instant => compactionPlan(instant).groups.map(_ -> instant.requested)).toMap

  /** File groups in a pending clustering, with its instant; they must not be updated. */
  lazy val groupsInClustering: Map[FileGroupId, String] =
    pendingReplaces.flatMap { case (instant, request) => request.clusteredGroups.map(_ -> instant.requested) }.toMap

  /** Pending clusterings; in layout 1 their file names do not distinguish them from replacecommits. */
  private[table] lazy val pendingClusterings: Set[String] = plannedClusterings.map(_._1.requested).toSet

  /** Pending clusterings with their plans, oldest first. */
  def plannedClusterings: Seq[(Instant, ClusteringPlan)] = pendingReplaces.collect {
    case (instant, request) if request.isClustering =>
      instant -> request.plan.getOrElse(ClusteringPlan(Nil, Map.empty, preservesCommit = true))
  }

  /** Whether a pending clustering was planned for the run that follows, see [[ClusteringPlan]]. */
  private[table] def runsAtOnce(clustering: String): Boolean =
    plannedClusterings.exists { case (instant, plan) => instant.requested == clustering && plan.runsAtOnce }

  /** Writes that have not completed, without clusterings, in both layouts. */
  def runningWrites: Seq[Instant] = pendingWrites.filterNot(i => pendingClusterings(i.requested))

  /**
   * The plan of a clustering, whatever state the instant has; None for another replacecommit, and if it is archived.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def clusteringPlan(instant: Instant): Option[ClusteringPlan] =
    files.get((find(instant.requested, instant.action).getOrElse(instant), InstantState.Requested))
      .flatMap(name => decodeOnce(name)(RequestedReplace.decode).plan)

  private lazy val pendingReplaces: Seq[(Instant, RequestedReplace)] =
    pending.filter(_.action.whenCompleted == Action.ReplaceCommit).map { instant =>
      val request =
        files.get((instant, InstantState.Requested)).flatMap(name =>
          ifPresent(decodeOnce(name)(RequestedReplace.decode)))
      instant -> request.getOrElse(RequestedReplace(None, None))
    }

  /** File groups that completed replacecommits removed. */
  lazy val replacedGroups: Set[FileGroupId] =
    completed.filter(_.action == Action.ReplaceCommit).flatMap(metadata(_).replaced).toSet

  private lazy val replaces: Set[String] = completed.filter(_.action == Action.ReplaceCommit).map(_.requested).toSet

  private[table] def isReplace(requested: String): Boolean = replaces(requested)

  /** The first replacecommit that removed a file group. */
  private[table] def replacedAt(group: FileGroupId): Option[String] =
    completed.find(i => i.action == Action.ReplaceCommit && metadata(i).replaced(group)).map(_.requested)

  /** The newest write that may change the schema and has one in its metadata. */
  private lazy val schemaCommit: Option[(Instant, CommitMetadata)] =
    byCompletion.reverseIterator.map(i => i -> metadata(i)).find { case (_, m) =>
      m.maySetSchema && m.schemaJson.isDefined
    }

  /**
   * Avro JSON of the table's schema, without meta columns: of the newest commit that may change it, else the one with
   * which the table was created. None for a table without either; its data files then have the schema.
   */
  def tableSchemaJson: Option[String] = schemaCommit.flatMap(_._2.schemaJson).orElse(config.createSchema)

  /**
   * The table's columns without meta columns, by [[tableSchemaJson]].
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE or TABLE_PROPERTIES_INVALID if the schema of
   *                                               that file cannot be parsed; UNSUPPORTED_TYPE
   */
  def tableColumns: Option[StructType] = tableSchemaJson.map { json =>
    val schema =
      try {
        val parsed = AvroSchemas.parse(json)
        parsed.getFields // fails if it is no record
        parsed
      } catch { case NonFatal(e) => throw unreadableSchema(e).causedBy(e) }
    MetaColumns.without(AvroSchemas.toSpark(schema))
  }

  private def unreadableSchema(cause: Throwable): MerganserException = {
    val reason = s"its schema is no Avro schema of a record (${cause.getMessage})"
    schemaCommit.fold(MerganserException("TABLE_PROPERTIES_INVALID", "file" -> storage.path(PropertiesFile.Name),
        "reason" -> reason)) { case (instant, _) =>
      unreadable(s"${config.timelineFolder}/${files.getOrElse((instant, InstantState.Completed), instant.toString)}",
        reason)
    }
  }

  /**
   * Columns that were added after the table was created: earlier writers do not have them. They are determined by the
   * schema of the table's creation, if it is stored; else by the list in our commits; without one, by the oldest commit
   * on the timeline. All commits are searched for a list only where some were archived: else the oldest is the first.
   */
  lazy val addedColumns: Set[String] = {
    val now = fields(tableSchemaJson)
    def since(metadata: CommitMetadata) =
      now.filterNot(fields(metadata.schemaJson)) ++ metadata.extra.get(Timeline.AddedKey).toSeq.flatMap(_.split(','))
    def oldest = metadataOf(byCompletion.iterator, most = 1).map(_._2).find(m =>
      m.maySetSchema && m.schemaJson.isDefined)
    def searched = if (isWhole) newestFirst().take(Timeline.OneByOne) else newestFirst()
    def listed   = searched.find(m => m.extra.contains(Timeline.AddedKey) && m.schemaJson.isDefined)
    val added =
      if (config.createSchema.isDefined) now -- fields(config.createSchema)
      else listed.orElse(oldest).fold(Set.empty[String])(since(_).toSet)
    added.intersect(now)
  }

  /** Extra metadata for a commit that preserves [[addedColumns]] when older commits are archived. */
  def listAdded(columns: StructType): Map[String, String] =
    if (config.createSchema.isDefined) Map.empty
    else {
      val before = fields(tableSchemaJson)
      Map(
        Timeline.AddedKey ->
          columns.fieldNames.filter(n => before.nonEmpty && (addedColumns(n) || !before(n))).mkString(","))
    }

  private def fields(json: Option[String]): Set[String] =
    json.toSeq.flatMap(AvroSchemas.parse(_).getFields.asScala.map(_.name)).filterNot(MetaColumns.isMeta).toSet

  /** Requested time of the commit of the schema, if it refers to a history of the columns (schema on read). */
  private[table] def latestSchema: Option[String] = schemaCommit.filter(_._2.latestSchema.isDefined).map(_._1.requested)

  /** The history of an earlier timeline, with the writes that it had. */
  private var knownHistory: Option[(Set[Instant], Option[SchemaHistory])] = None

  @volatile private var isHistoryKnown = false

  /**
   * The versions of the table's columns (schema on read), if it has any. Lists their folder, unless an earlier timeline
   * did and no commit has changed them since.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  lazy val history: Option[SchemaHistory] = {
    val found = complete match {
      case Some(all) => all.history.map(whole => limit.fold(whole)(whole.asOf))
      case None =>
        val (here, from) = (completed.toSet, start)
        val known = knownHistory.filter { case (seen, _) =>
          // A restore may have taken back writes that it had.
          seen.forall(i => here(i) || from.exists(i.requested < _)) &&
          completed.forall(i => seen(i) || metadata(i).latestSchema.isEmpty)
        }
        known.fold(HistoryFiles.load(storage, isCompleted(_)))(_._2)
    }
    isHistoryKnown = true
    found
  }

  private[table] def find(requested: String, action: Action): Option[Instant] =
    instants.find(i => i.requested == requested && i.action.whenCompleted == action.whenCompleted)

  private[table] def hasFile(instant: Instant, state: InstantState): Boolean = files.contains((instant, state))

  /** Names of the files of all instants. */
  private[table] def fileNames: Seq[String] = files.values.toSeq

  /** The newest completed write by requested time, with the path of its file, if that was not archived. */
  private[table] def newestFile: Option[(Instant, String)] =
    completed.lastOption.flatMap(i => filesIn(i, InstantState.Completed).headOption.map(i -> _))

  private[table] def nameOf(instant: Instant, state: InstantState): String = fileName(instant, state)

  /** Paths of the files of an instant in some states, in this order, of those that it has. */
  private[table] def filesIn(instant: Instant, states: InstantState*): Seq[String] =
    states.filter(hasFile(instant, _)).map(state => s"${config.timelineFolder}/${nameOf(instant, state)}")

  /** Content of the file of an instant in one state. */
  private[table] def content(instant: Instant, state: InstantState): Array[Byte] =
    storage.read(s"${config.timelineFolder}/${fileName(instant, state)}")

  /** The file of an instant in each of its states that has one. */
  private[table] def stateFiles(instant: Instant): Seq[StateFile] =
    contents(instant).sortBy(_._1.rank).map { case (state, content) =>
      val name = fileName(instant, state)
      val time = versions.get(name).map(_._2)
      StateFile(InstantFile.parse(name).fold(instant.action)(_.action), state, content,
        time.map(InstantTime.format(_, config.timelineZone)))
    }

  /** Contents of the files of an instant, one for each state that has a file. */
  private[table] def contents(instant: Instant): Seq[(InstantState, Array[Byte])] =
    files.toSeq.collect { case ((`instant`, state), name) => state -> storage.read(s"${config.timelineFolder}/$name") }

  private def fileName(instant: Instant, state: InstantState): String =
    files.getOrElse((instant, state),
      throw new IllegalStateException(s"no ${state.name} file of $instant on the timeline of $storage"))

  private def unreadable(file: String, reason: String): MerganserException =
    MerganserException("TIMELINE_FILE_UNREADABLE", "file" -> storage.path(file), "reason" -> reason)

  private def decodeCompleted[T](instant: Instant)(decode: Array[Byte] => T): T =
    this.decode(fileName(instant, InstantState.Completed), archive.content(instant))(decode)

  /** What was archived since the timeline was listed. */
  private def archive = new ArchivedTimeline(storage, config)

  /** As [[decode]], for content that is read several times. */
  private def decodeOnce[T <: AnyRef](name: String, archived: => Option[Array[Byte]] = None)(
      decode: Array[Byte] => T
  ): T =
    Option(decoded.get(name)).getOrElse {
      val content = this.decode(name, archived)(decode)
      decoded.put(name, content)
      content
    }.asInstanceOf[T]

  /** @param archived the content of a file that is gone, if the history has it */
  private def decode[T](name: String, archived: => Option[Array[Byte]] = None)(decode: Array[Byte] => T): T = {
    val file = s"${config.timelineFolder}/$name"
    val bytes =
      try storage.read(file)
      catch {
        case e: FileNotFoundException =>
          archived.getOrElse(throw unreadable(file, "it was removed while the table was read").causedBy(e))
      }
    try decode(bytes)
    catch { case NonFatal(e) => throw unreadable(file, String.valueOf(e.getMessage)).causedBy(e) }
  }
}

object Timeline {

  /** Key in the extra metadata of our commits: columns that were added after the table was created. */
  val AddedKey = "merganser.columns.added"

  /** Newest commits that are read one after the other. */
  private val OneByOne = 4

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
        val loaded = new Timeline(storage, config, seen.sortBy(i => (i.requested, i.action.name)), files, None, None,
          () => mayHaveArchived(storage, config), versions.toMap,
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

/** The completed instants of a timeline, sent to tasks. */
final class CompletedInstants private[timeline] (
    completed: Set[String],
    pending: Set[String],
    start: Option[String],
    limit: Option[String]
) extends (String => Boolean) with Serializable {

  override def apply(requested: String): Boolean =
    completed(requested) || (isArchived(requested) && limit.forall(requested <= _))

  def isArchived(requested: String): Boolean =
    start.exists(requested < _) && !pending(requested) && !completed(requested)
}
