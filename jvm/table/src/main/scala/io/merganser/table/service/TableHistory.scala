package io.merganser.table.service

import java.io.FileNotFoundException

import io.merganser.merge.MerganserException
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{Parallel, Storage}
import io.merganser.table.timeline._

import scala.util.control.NonFatal

/**
 * What was done to a table, action by action. Reads the timeline's files, of as many actions as are taken, and no data
 * file.
 */
final class TableHistory(storage: Storage, config: TableConfig, timeline: Timeline) {
  import TableHistory._

  private lazy val archive = new ArchivedTimeline(storage, config)

  /**
   * The actions, the newest first; an action is read when it is reached.
   *
   * @param most     how many are needed at most: so many are read in parallel
   * @param archived whether those that were moved to the history follow
   * @throws MerganserException TIMELINE_FILE_UNREADABLE
   */
  def newestFirst(most: Int, archived: Boolean): Iterator[ActionSummary] = {
    val readability = new Readability
    val stored      = if (archived) merged(active.buffered, older.buffered) else active
    val files       = merged(stored.buffered, archivings.buffered)
    files.grouped(math.max(1, math.min(most, AtOnce))).flatMap(some => Parallel.map(some)(read).flatten).map {
      case (summary, cleaned) => summary.copy(isReadable = readability.of(summary, cleaned))
    }
  }

  private def active: Iterator[ActionFiles] = timeline.instants.reverseIterator.map(i =>
    ActionFiles(i, isArchived = false, state => contentOf(i, state)))

  /** The history's, without those that are on the timeline too. */
  private def older: Iterator[ActionFiles] = archive.actionsNewestFirst
    .filter(a => timeline.find(a.instant.requested, a.instant.action).isEmpty)
    .map(a =>
      ActionFiles(a.instant, isArchived = true, state => if (state == InstantState.Completed) a.bytes() else None))

  /** They have no instant: each is a file of the history, at the time when it was written. */
  private def archivings: Iterator[ActionFiles] = {
    val files = if (timeline.isWhole) Nil else archive.archivings
    files.iterator.map { file =>
      val time  = InstantTime.format(file.writtenMs, config.timelineZone)
      val range = file.range.fold(file.name) { case (first, last) => s"$first to $last" }
      ActionFiles(Instant(time, Action.Archive, InstantState.Completed, Some(time)), isArchived = false, _ => None,
        comment = Some(range))
    }
  }

  /** Savepointed instants stay on the timeline when later ones are archived. */
  private def merged(a: BufferedIterator[ActionFiles], b: BufferedIterator[ActionFiles]): Iterator[ActionFiles] =
    new Iterator[ActionFiles] {
      override def hasNext: Boolean = a.hasNext || b.hasNext
      override def next(): ActionFiles =
        if (!b.hasNext || (a.hasNext && a.head.instant.requested >= b.head.instant.requested)) a.next() else b.next()
    }

  /** None if the instant has no such file. */
  private def contentOf(instant: Instant, state: InstantState): Option[Array[Byte]] =
    if (!timeline.hasFile(instant, state)) None
    else
      try Some(timeline.content(instant, state))
      catch {
        case e: FileNotFoundException => // archived, or rolled back, since the timeline was listed
          Some(archive.content(instant).filter(_ => state == InstantState.Completed).getOrElse(throw e))
      }

  /** None for an action that is no longer there. */
  private def read(files: ActionFiles): Option[(ActionSummary, Option[Cleaned])] =
    try Some(summary(files))
    catch {
      case _: FileNotFoundException => None
      case e: MerganserException    => throw e
      case NonFatal(e) =>
        val name = if (files.isArchived) config.historyFolder else config.timelineFolder
        throw MerganserException("TIMELINE_FILE_UNREADABLE", "file" -> s"${storage.path(name)}: ${files.instant}",
          "reason" -> String.valueOf(e.getMessage)).causedBy(e)
    }

  private def summary(files: ActionFiles): (ActionSummary, Option[Cleaned]) = {
    val instant = files.instant
    val completed =
      if (files.isArchived || instant.action == Action.Archive) instant.completed else timeline.completionOf(instant)
    val base = ActionSummary(instant, files.isArchived, millis(Some(instant.requested)),
      millis(completed.filter(_ => instant.isCompleted)), comment = files.comment)
    if (!instant.isCompleted) pending(base, files)
    else {
      val content = files.content(InstantState.Completed).filter(_.nonEmpty)
      content.fold((base, Option.empty[Cleaned]))(bytes => done(base, instant.action, bytes))
    }
  }

  private def done(base: ActionSummary, action: Action, bytes: Array[Byte]): (ActionSummary, Option[Cleaned]) =
    action match {
      case write if write.isWrite => (ofWrite(base, CommitMetadata.decode(bytes)), None)
      case Action.Clean =>
        val metadata = CleanMetadata.decode(bytes)
        val named    = identity(base, metadata.extra)
        (named.copy(
            filesDeleted = Some(metadata.filesDeleted.toLong),
            bytesDeleted = metadata.extra.get(CleanMetadata.BytesKey).map(_.toLong),
            partitions = Some(metadata.partitions.size)
          ), Some(Cleaned.ofMetadata(bytes)))
      case Action.Savepoint =>
        val metadata = SavepointMetadata.decode(bytes)
        (base.copy(user = Some(metadata.createdBy).filter(_.nonEmpty), partitions = Some(metadata.files.size),
            comment = Some(metadata.comments).filter(_.nonEmpty)), None)
      case Action.Rollback => (removed(base, Seq(RollbackMetadata.decode(bytes))), None)
      case Action.Restore => (removed(base, RestoreMetadata.decode(bytes).rollbacks.toSeq.sortBy(_._1).map(_._2)), None)
      case _              => (base, None)
    }

  private def ofWrite(base: ActionSummary, metadata: CommitMetadata): ActionSummary = {
    val partitions = metadata.stats.filter(_._2.nonEmpty).keySet ++ metadata.replacedFileIds.keySet
    identity(base, metadata.extra).copy(write = Some(metadata), partitions = Some(partitions.size))
  }

  private def identity(base: ActionSummary, extra: Map[String, String]): ActionSummary =
    base.copy(user = extra.get(WriterIdentity.UserKey), application = extra.get(WriterIdentity.ApplicationKey),
      engine = WriterIdentity.engine(extra))

  private def removed(base: ActionSummary, rollbacks: Seq[RollbackMetadata]): ActionSummary = base.copy(
    filesDeleted = Some(rollbacks.flatMap(_.deleted.values).map(_.size.toLong).sum),
    partitions = Some(rollbacks.flatMap(r => r.deleted.keySet ++ r.failed.keySet).distinct.size),
    comment = Some(rollbacks.flatMap(_.instants).map(_.instant).mkString(", ")).filter(_.nonEmpty)
  )

  /** The plan of a pending service; one that is being written is empty. */
  private def pending(base: ActionSummary, files: ActionFiles): (ActionSummary, Option[Cleaned]) = {
    val services =
      Set[Action](Action.Compaction, Action.LogCompaction, Action.Clustering, Action.ReplaceCommit, Action.Clean,
        Action.Rollback)
    val plan = Some(files).filter(f => services(f.instant.action)).flatMap(_.content(InstantState.Requested)).filter(
      _.nonEmpty)
    plan.fold((base, Option.empty[Cleaned])) { bytes =>
      def sized(groups: Int, partitions: Int) = base.copy(planned = Some(groups), partitions = Some(partitions))
      files.instant.action match {
        case Action.Clustering | Action.ReplaceCommit =>
          val groups = RequestedReplace.decode(bytes).clusteredGroups
          (if (groups.isEmpty) base else sized(groups.size, groups.map(_.partitionPath).size), None)
        case Action.Clean =>
          val cleaned = Cleaned.ofPlan(bytes)
          (sized(cleaned.files.values.map(_.size).sum, cleaned.files.size), Some(cleaned))
        case Action.Rollback =>
          val plan = RollbackPlan.decode(bytes)
          (sized(plan.files.values.map(_.size).sum, plan.files.size).copy(comment = Some(plan.instant)), None)
        case _ =>
          val plan = CompactionPlan.decode(bytes)
          (sized(plan.groups.size, plan.groups.map(_.partitionPath).size), None)
      }
    }
  }

  private def millis(time: Option[String]): Option[Long] =
    time.flatMap(InstantTime.parse).map(_.atZone(config.timelineZone).toInstant.toEpochMilli)

  /**
   * Whether the table can be read as of writes, which come newest first. All cleans that may have deleted files of a
   * write were requested after it, and so come before it.
   */
  private final class Readability {
    private var cleanedUpTo = ""
    private var unknownUpTo = ""

    private val savepointed: Set[String] =
      if (config.version < 8 && config.isMergeOnRead) Set.empty // log files are not retained there
      else timeline.savepoints.filter(_.isCompleted).map(_.requested).toSet

    def of(summary: ActionSummary, cleaned: Option[Cleaned]): Option[Boolean] = {
      val requested = summary.instant.requested
      cleaned.filter(_.files.exists(_._2.nonEmpty)).foreach { c =>
        c.earliest match {
          case Some(earliest) if earliest > cleanedUpTo => cleanedUpTo = earliest
          case None if requested > unknownUpTo          => unknownUpTo = requested
          case _                                        => ()
        }
      }
      if (!summary.instant.isCompleted || !summary.instant.action.isWrite) None
      else if (savepointed(requested) && !summary.isArchived) Some(true)
      else if (requested < cleanedUpTo) Some(false)
      else if (requested < unknownUpTo) None
      else Some(true)
    }
  }
}

private object TableHistory {

  /** Actions whose files are read at a time. */
  val AtOnce = 64

  /**
   * @param content of the file of a state, if there is one
   * @param comment what is known of it without its files
   */
  final case class ActionFiles(
      instant: Instant,
      isArchived: Boolean,
      content: InstantState => Option[Array[Byte]],
      comment: Option[String] = None
  )
}
