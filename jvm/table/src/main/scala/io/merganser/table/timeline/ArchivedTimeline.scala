package io.merganser.table.timeline

import io.merganser.table.log.RecordLog
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import org.apache.avro.generic.GenericRecord
import org.apache.parquet.example.data.Group
import org.apache.parquet.schema.MessageType

import scala.collection.mutable
import scala.util.control.NonFatal

/**
 * The instants that were moved from the timeline to its history: in layout 2 a manifest that lists Parquet
 * files, each named after its first and last instant; in layout 1 log files of Avro records, which have no completion
 * times.
 */
final class ArchivedTimeline(storage: Storage, config: TableConfig) {
  import ArchivedTimeline._
  import HistoryParquet._

  private val manifests = new HistoryManifests(storage, config.historyFolder)

  private val timesByFile = mutable.Map.empty[String, Map[String, String]]

  /** None if the instant is not in the history, or there is no history, or in layout 1. */
  private[table] def completionTime(requested: String): Option[String] = synchronized {
    files.iterator.filter(_.covers(requested)).map(times(_).get(requested)).collectFirst { case Some(time) => time }
  }

  /**
   * The completed writes of the history with their metadata, sorted by requested time; read once.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def writes: Seq[(Instant, CommitMetadata)] =
    completed.filter(_.instant.action.isWrite).flatMap(a => a.record().map(a.instant -> CommitMetadata.decodeAvro(_)))

  /**
   * [[writes]], the newest first. A file of the history is read when its instants are reached, and the metadata of an
   * instant when that is taken.
   *
   * @param first and `last`: the oldest and the newest instant that is needed
   */
  def newestFirst(first: Option[String], last: Option[String]): Iterator[(Instant, CommitMetadata)] = {
    def isNeeded(instant: String) = first.forall(_ <= instant) && last.forall(instant <= _)
    val entries = if (config.layoutVersion < 2) completed.reverseIterator
    else new NewestEntries(files.zipWithIndex.filter { case (file, _) =>
      val (oldest, newest) = file.range
      first.forall(_ <= newest) && last.forall(oldest <= _)
    })
    entries.filter(a => a.instant.action.isWrite && isNeeded(a.instant.requested)).flatMap(a =>
      a.record().map(a.instant -> CommitMetadata.decodeAvro(_)))
  }

  /** The files that each write names, by path, the newest write first; read as in [[newestFirst]]. */
  private[table] def committedFiles(
      first: String,
      last: Option[String]
  ): Iterator[(String, Map[String, CommittedFile])] =
    newestFirst(Some(first), last).map { case (write, metadata) => write.requested -> CommittedFiles.of(metadata) }

  /**
   * The completed writes, the newest first, with a function that reads the metadata of one. A file of the history is
   * read when its instants are reached, without their metadata.
   */
  private[table] def writesNewestFirst: Iterator[(Instant, () => Option[CommitMetadata])] = {
    val entries =
      if (config.layoutVersion < 2) completed.reverseIterator else new NewestEntries(files.zipWithIndex, namesOf)
    entries.filter(_.instant.action.isWrite).map(a => a.instant -> (() => a.record().map(CommitMetadata.decodeAvro(_))))
  }

  /**
   * Requested and completion times of the actions that completed after a time; empty in layout 1. Two columns of every
   * file of the history are read: a write may have completed after all writes of files that are newer than its own.
   */
  private[table] def completedAfter(time: String): Map[String, String] =
    files.flatMap(times(_).filter(_._2 > time)).toMap

  /** Whether an action had begun at a time and completed later; reads what [[completedAfter]] does. */
  private[table] def isRunningAt(time: String): Boolean = files.exists(times(_).exists {
    case (requested, completed) => requested <= time && time < completed
  })

  /** A requested time up to that of the oldest action; reads no file in layout 2. */
  private[table] def oldest: Option[String] =
    if (config.layoutVersion < 2) completed.headOption.map(_.instant.requested)
    else files.map(_.range._1).reduceOption((a, b) => if (a < b) a else b)

  /** The requested time of the newest action, likewise. */
  private[table] def newest: Option[String] =
    if (config.layoutVersion < 2) completed.lastOption.map(_.instant.requested)
    else files.map(_.range._2).reduceOption((a, b) => if (a < b) b else a)

  /**
   * The files of the history, the newest first: each is what an archiving moved, or, after a compaction of the history,
   * what several did. Their names and times are listed; none is read.
   */
  private[table] def archivings: Seq[ArchivedFile] = {
    def timed(names: String => Boolean) =
      storage.list(config.historyFolder).filter(f => f.isFile && names(f.getPath.getName))
        .map(f => f.getPath.getName -> f.getModificationTime)
    val found =
      if (config.layoutVersion < 2) HistoryLog.logs(storage, config.historyFolder).map(f =>
        ArchivedFile(
          f.getPath.getName,
          f.getModificationTime,
          None))
      else {
        val current = files.map(f => f.name -> f.range).toMap
        if (current.isEmpty) Nil
        else timed(current.contains).map { case (name, time) => ArchivedFile(name, time, Some(current(name))) }
      }
    found.sortBy(f => (-f.writtenMs, f.name))
  }

  /** All completed instants, the newest first; read as in [[newestFirst]]. */
  private[table] def actionsNewestFirst: Iterator[ArchivedAction] =
    newestEntries.map(a => ArchivedAction(a.instant, a.bytes))

  private def newestEntries: Iterator[Archived] =
    if (config.layoutVersion < 2) completed.reverseIterator else new NewestEntries(files.zipWithIndex)

  /** The entries of some files with their numbers in the manifest; of equal instants that of the last file. */
  private final class NewestEntries(chosen: Seq[(HistoryFile, Int)], entriesOf: HistoryFile => Seq[Archived] = ofFile)
      extends Iterator[Archived] {
    private var files  = chosen.sortBy { case (file, _) => file.range._2 }.reverse
    private val loaded = new java.util.TreeMap[String, (Int, Archived)]

    /** Every file that may have an instant as new as the newest of those that were read. */
    private def load(): Unit =
      while (files.nonEmpty && (loaded.isEmpty || newest.instant.requested <= files.head._1.range._2)) {
        val (file, number) = files.head
        files = files.tail
        entriesOf(file).foreach { a =>
          val key = s"${a.instant.requested} ${a.instant.action.name}"
          if (Option(loaded.get(key)).forall(_._1 <= number)) loaded.put(key, (number, a))
        }
      }

    private def newest: Archived = loaded.lastEntry.getValue._2

    override def hasNext: Boolean = { load(); !loaded.isEmpty }

    override def next(): Archived = {
      load()
      loaded.pollLastEntry().getValue._2
    }
  }

  /** The cleans of the history with their metadata, the oldest first. */
  def cleanMetadata: Seq[(Instant, CleanMetadata)] = completed.filter(_.instant.action == Action.Clean)
    .flatMap(a => a.record().map(a.instant -> CleanMetadata.of(_)))

  /** The cleans of the history with their plans, where it has these; the oldest first. */
  def cleanPlans: Seq[(Instant, CleanPlan)] =
    completed.filter(_.instant.action == Action.Clean).flatMap(a => a.plan().map(a.instant -> CleanPlan.decode(_)))

  /** The restores of the history with what they took back, the oldest first; none in layout 1. */
  private[table] def restores: Seq[(Instant, Seq[RolledBack])] =
    if (config.layoutVersion < 2) Nil
    else completed.filter(_.instant.action == Action.Restore).flatMap(a =>
      a.record().map(a.instant -> RestoreMetadata.of(_).instants))

  /**
   * The restores, and the rollbacks of completed writes, that were requested after a time, the newest first; none in
   * layout 1, where restores stay on the timeline, and the history does not tell of which writes rollbacks were.
   */
  private[table] def takenBackSince(time: String): Seq[(Instant, Seq[RolledBack])] =
    if (config.layoutVersion < 2) Nil
    else newestEntries.takeWhile(_.instant.requested > time).flatMap { a =>
      a.instant.action match {
        case Action.Restore => a.bytes().map(b => a.instant -> RestoreMetadata.decode(b).instants)
        case Action.Rollback =>
          a.plan().filter(_.nonEmpty).flatMap(RestorePlan.decode).map(plan => a.instant -> plan.instants)
        case _ => None
      }
    }.toList

  /** The rollbacks of the history with what they removed, the oldest first. */
  private[table] def rollbacks: Seq[(Instant, Seq[RolledBack])] =
    completed.filter(_.instant.action == Action.Rollback).flatMap(a =>
      a.record().map(a.instant -> RollbackMetadata.of(_).instants))

  /** The newest entry of an instant. */
  private def find(instant: Instant): Option[Archived] = {
    val some = if (config.layoutVersion < 2) ofLogs else files.filter(_.covers(instant.requested)).flatMap(ofFile)
    some.filter(a =>
      a.instant.requested == instant.requested && a.instant.action == instant.action.whenCompleted).lastOption
  }

  /** The content of the completed file of an archived instant. */
  private[table] def content(instant: Instant): Option[Array[Byte]] = find(instant).flatMap(_.bytes())

  /** The content of the requested file of an archived instant; in layout 1 of cleans and clusterings only. */
  private[table] def plan(instant: Instant): Option[Array[Byte]] =
    if (config.layoutVersion < 2 && instant.action.whenCompleted == Action.ReplaceCommit)
      requestedReplace(instant.requested)
    else find(instant).flatMap(_.plan())

  /** In layout 1 the requested file of a replacecommit is an entry of its own. */
  private def requestedReplace(requested: String): Option[Array[Byte]] = {
    import AvroRecords._
    HistoryLog.logs(storage, config.historyFolder)
      .flatMap(RecordLog.records(storage, config.historyFolder, _))
      .filter(_.string("commitTime").contains(requested))
      .flatMap(_.record("hoodieRequestedReplaceMetadata")).lastOption.map(AvroRecords.encode)
  }

  /** See [[Timeline.commitState]]: known for writes between the first and the last one of the history. */
  private[timeline] def commitState(requested: String): CommitState = {
    def has(first: Option[String], last: Option[String]) = newestFirst(first, last).nonEmpty
    newestFirst(Some(requested), Some(requested)).map(_._2).take(1).toList match {
      case metadata :: _                                                   => CommitState.Committed(metadata)
      case Nil if has(None, Some(requested)) && has(Some(requested), None) => CommitState.NotCommitted
      case Nil                                                             => CommitState.Unknown
    }
  }

  /** What the cleans of the history deleted. */
  private[table] def cleans: Seq[Cleaned] =
    completed.filter(_.instant.action == Action.Clean).flatMap(_.record().map(Cleaned.of))

  /** Completed instants; the newest entry of one counts, as an archiving that failed is repeated. */
  private lazy val completed: Seq[Archived] = {
    val all = if (config.layoutVersion < 2) ofLogs else files.flatMap(ofFile)
    all.groupBy(a => (a.instant.requested, a.instant.action)).values.map(_.last).toSeq.sortBy(_.instant.requested)
  }

  // --- layout 1 ------------------------------------------------------------------------------------------------------

  private def ofLogs: Seq[Archived] =
    HistoryLog.logs(storage, config.historyFolder)
      .flatMap(RecordLog.records(storage, config.historyFolder, _)).flatMap(ofEntry)

  private def ofEntry(entry: GenericRecord): Option[Archived] = {
    import AvroRecords._
    val action = entry.string("actionType").flatMap(Action.parse).map(_.whenCompleted)
    val times  = entry.string("commitTime").filter(_ => entry.string("actionState").contains("COMPLETED"))
    for {
      requested <- times
      done      <- action
    } yield {
      val field = done match {
        case Action.ReplaceCommit => "hoodieReplaceCommitMetadata"
        case Action.Clean         => "hoodieCleanMetadata"
        case Action.Rollback      => "hoodieRollbackMetadata"
        case Action.Savepoint     => "hoodieSavePointMetadata"
        case _                    => "hoodieCommitMetadata"
      }
      def record() = entry.record(field)
      Archived(Instant(requested, done, InstantState.Completed), () => record(),
        () => record().map(AvroRecords.encode), () => entry.record("hoodieCleanerPlan").map(AvroRecords.encode))
    }
  }

  // --- layout 2 ------------------------------------------------------------------------------------------------------

  private lazy val files: Seq[HistoryFile] =
    if (config.layoutVersion < 2) Nil else manifests.current.fold(Seq.empty[HistoryFile])(_._2)

  private def times(file: HistoryFile): Map[String, String] =
    timesByFile.getOrElseUpdate(file.name,
      read(file, Times)(row =>
        for {
          requested <- string(row, Requested)
          completed <- string(row, Completed)
        } yield requested -> completed).toMap)

  private def ofFile(file: HistoryFile): Seq[Archived] = read(file, Instants) { row =>
    for {
      requested <- string(row, Requested)
      action    <- string(row, ActionName).flatMap(Action.parse).map(_.whenCompleted)
    } yield {
      val (metadata, plan) = (bytes(row, Metadata), bytes(row, Plan))
      def record(of: Option[Array[Byte]]) =
        try of.filter(AvroRecords.isContainer).map(AvroRecords.decode)
        catch { case NonFatal(e) => throw manifests.unreadable(file.name, e) }
      Archived(Instant(requested, action, InstantState.Completed, string(row, Completed)), () => record(metadata),
        () => metadata.filter(_.nonEmpty), () => plan.filter(_ => record(plan).isDefined))
    }
  }

  /** Entries whose content is read when it is needed. */
  private def namesOf(file: HistoryFile): Seq[Archived] = read(file, Names) { row =>
    for {
      requested <- string(row, Requested)
      action    <- string(row, ActionName).flatMap(Action.parse).map(_.whenCompleted)
    } yield {
      val instant = Instant(requested, action, InstantState.Completed, string(row, Completed))
      Archived(instant, () => find(instant).flatMap(_.record()), () => content(instant), () => plan(instant))
    }
  }

  private def read[T](file: HistoryFile, columns: MessageType)(take: Group => Option[T]): Seq[T] =
    manifests.named(file.name) {
      val reader = HistoryParquet.reader(storage, config.historyFolder, file, columns)
      try rows(reader).flatMap(take(_)).toList
      finally reader.close()
    }
}

/** @param bytes content of its completed file, if the history has it */
private[table] final case class ArchivedAction(instant: Instant, bytes: () => Option[Array[Byte]])

/**
 * A file of the history.
 *
 * @param writtenMs its modification time, in milliseconds since 1970
 * @param range     the first and the last instant in it; None in layout 1
 */
private[table] final case class ArchivedFile(name: String, writtenMs: Long, range: Option[(String, String)])

private object ArchivedTimeline {
  import HistoryParquet._

  /**
   * @param record decodes the metadata, if there is any
   * @param bytes  the metadata as a completed file has it
   * @param plan   content of the requested file, if the history has it
   */
  final case class Archived(
      instant: Instant,
      record: () => Option[GenericRecord],
      bytes: () => Option[Array[Byte]],
      plan: () => Option[Array[Byte]]
  )

  val Times: MessageType    = columns(Requested, Completed)
  val Names: MessageType    = columns(Requested, Completed, ActionName)
  val Instants: MessageType = columns(Requested, Completed, ActionName, Metadata, Plan)
}
