package io.merganser.table.slice

import io.merganser.merge.MerganserException
import io.merganser.table.file.{FileGroupId, FileNames}
import io.merganser.table.options.Options
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{Action, ArchivedTimeline, AsOf, Cleaned, Instant, RolledBack, Timeline}

/**
 * Checks from which instant on a table can be read as of the past: rows of cleaned files or archived instants would be
 * missing in the result.
 *
 * @param timeline the complete timeline, not one as of an instant
 */
final class TimeTravel(storage: Storage, config: TableConfig, timeline: Timeline, archive: ArchivedTimeline) {

  def this(storage: Storage, config: TableConfig, timeline: Timeline) =
    this(storage, config, timeline, new ArchivedTimeline(storage, config))

  /**
   * The table's timeline as of an instant.
   *
   * @throws io.merganser.merge.MerganserException AS_OF_TOO_EARLY if files or instants of that time may be gone;
   *                                               AS_OF_TAKEN_BACK if commits of that time were taken back
   */
  def to(instant: String): Timeline = {
    requireNotTakenBack(instant)
    if (isSaved(instant)) timeline.asOf(instant) else retained(instant, timeline, _.asOf(instant))
  }

  /**
   * The table's timeline as of a completion time; in layout 1, as of an instant.
   *
   * @throws io.merganser.merge.MerganserException what [[to]] throws
   */
  def toCompletion(time: String): Timeline =
    if (config.layoutVersion < 2) to(time)
    else {
      requireNotTakenBack(time)
      val known = knownAt(time)
      val past  = known.asOfCompletion(time)
      val saved = past.completed.lastOption.map(_.requested).filter(isSaved)
      if (saved.exists(known.asOf(_).completed == past.completed)) past
      else {
        val found = retained(time, known, _.asOfCompletion(time))
        // A clean looks at requested times: it may have taken what such a write has replaced since. One by versions has
        // taken what the write of the oldest remaining slice replaced.
        for {
          oldest <- cleanedUpTo
          write <- known.completedAfter(time).filter(i =>
            (i.requested < oldest || cleanedByVersions.contains(i.requested)) && !found.isCompleted(i.requested))
          until <- write.completed
        } throw tooEarly(time, until, FilesCleaned)
        found
      }
    }

  /** The same, whether files of that time are gone or not. */
  private[table] def anyCompletion(time: String): Timeline = knownAt(time).asOfCompletion(time)

  /**
   * The write that a restore or a savepoint names by a time: the one that was requested then, else the last one that
   * had completed by then; in layout 1, whose instants have no completion times, that had been requested by then.
   *
   * @param time       in one of the forms of [[AsOf]]
   * @param restoredTo writes that unfinished restores go back to, whose times are found again until these are finished
   * @return or why there is none, a clause
   */
  def writeAt(time: String, restoredTo: Set[String] = Set.empty): Either[String, Instant] =
    timeline.completed.find(_.requested == time.trim).map(Right(_)).getOrElse {
      AsOf.parse(time, config.timelineZone) match {
        case None => Left(s"'$time' is neither one of its completed writes nor a time; a time is ${AsOf.Accepted}")
        case Some(instant) =>
          timeline.asOfCompletion(instant).completed.lastOption match {
            case None => Left(s"no write on its timeline had completed by '$time'")
            case Some(write) if write.requested == instant || restoredTo(write.requested) => Right(write)
            case Some(write) if isFollowedByArchived(write, instant) =>
              Left(s"the writes that had completed by '$time' are in its history already")
            case Some(write) =>
              try { requireNotTakenBack(instant); Right(write) }
              catch {
                case e: MerganserException if e.condition == "AS_OF_TAKEN_BACK" =>
                  Left(s"at '$time' it had writes that ${e.parameters("action")} ${e.parameters("by")} took back, " +
                    s"from ${e.parameters("first")} on")
              }
          }
      }
    }

  private def isFollowedByArchived(write: Instant, until: String): Boolean =
    !timeline.isWhole && timeline.start.forall(write.requested < _) &&
      archive.newestFirst(Some(write.requested), Some(until)).exists(_._1.requested > write.requested)

  /**
   * The timeline, with its archive where that may have the newest write of a time, or a write that had not completed
   * then.
   */
  private def knownAt(time: String): Timeline =
    if (timeline.isWhole) timeline
    else {
      def isOlder = timeline.asOfCompletion(time).completed.forall(i => savepoints(i.requested))
      if (isOlder || archive.isRunningAt(time)) whole else timeline
    }

  private lazy val whole = timeline.withArchived(archive.writes)

  /**
   * Fails if commits of a time were taken back.
   *
   * @param withArchive whether archived restores and rollbacks count
   */
  def requireNotTakenBack(instant: String, withArchive: Boolean): Unit = {
    requireNotTakenBack(instant)
    if (withArchive) requireNotTakenBack(instant, archive.takenBackSince(instant), Nil)
  }

  private def requireNotTakenBack(instant: String): Unit = {
    val (completed, others) = timeline.rollbacks.filter(instant < _.requested).partition(timeline.isOfCompleted)
    requireNotTakenBack(instant,
      timeline.restores.filter(instant < _.requested).map(i => i -> timeline.restore(i).instants) ++
        completed.map(i => i -> timeline.rollback(i).instants) ++
        timeline.unfinished.filter(_.isEffective).map(u => u.instant -> u.plan.toSeq.flatMap(_.instants)),
      others.map(i => i -> timeline.rollback(i).instants))
  }

  private def retained(instant: String, known: Timeline, past: Timeline => Timeline): Timeline = {
    if (start.isEmpty) throw tooEarly(instant, "none", "the table has no commit")
    if (start.exists(instant < _) && !cleanedUpTo.exists(instant < _)) past(withArchive(instant))
    else {
      (start ++ cleanedUpTo).reduceOption((a, b) => if (a < b) b else a).filter(instant < _).foreach { oldest =>
        throw tooEarly(instant, oldest, if (cleanedUpTo.contains(oldest)) FilesCleaned else Archived)
      }
      past(known)
    }
  }

  /**
   * Between the first commit that was taken back and the restore or rollback itself, the table had rows that are gone.
   *
   * @param restores  and rollbacks of completed writes
   * @param rollbacks that may be of failed writes, which readers never saw: only their own instants cannot be read
   */
  private def requireNotTakenBack(
      instant: String,
      restores: Seq[(Instant, Seq[RolledBack])],
      rollbacks: Seq[(Instant, Seq[RolledBack])]
  ): Unit = {
    def fail(by: Instant, first: String) = throw MerganserException("AS_OF_TAKEN_BACK", "table" -> config.name,
      "instant" -> instant, "action" -> by.action, "by" -> by.requested, "first" -> first)
    restores.filter(instant < _._1.requested).foreach { case (restore, taken) =>
      taken.filter(_.isWrite).map(_.instant).sorted.headOption.filter(_ <= instant).foreach(fail(restore, _))
    }
    rollbacks.foreach { case (rollback, taken) => taken.map(_.instant).find(_ == instant).foreach(fail(rollback, _)) }
  }

  /** The timeline with its archive, for an archived instant whose files may still be there. */
  private def withArchive(instant: String): Timeline = {
    requireNotTakenBack(instant, archive.takenBackSince(instant), archive.rollbacks)
    val travel = new TimeTravel(storage, config, whole, archive)
    if (!whole.completed.exists(_.requested <= instant))
      throw tooEarly(instant, whole.completed.headOption.fold("none")(_.requested), Archived)
    travel.cleanedUpTo(archive.cleans ++ timeline.cleans).filter(instant < _).foreach { oldest =>
      throw tooEarly(instant, oldest, FilesCleaned)
    }
    whole
  }

  private def tooEarly(instant: String, oldest: String, reason: String): MerganserException =
    MerganserException("AS_OF_TOO_EARLY", "table" -> config.name, "instant" -> instant, "reason" -> reason,
      "oldest" -> oldest)

  private def FilesCleaned =
    s"files with its rows at that time were cleaned; ${Options.CleanPolicy.key} with ${Options.CleanCommits.key}, " +
      s"${Options.CleanHours.key} or ${Options.CleanVersions.key} configures what is retained"
  private def Archived = "it has no earlier commit, or only archived ones"

  /** A savepoint retains the files of its instant; below version 8 it does not retain log files. */
  private def isSaved(instant: String): Boolean =
    (config.version >= 8 || !config.isMergeOnRead) && savepoints(instant) && timeline.completed.exists(
      _.requested == instant)

  private lazy val savepoints: Set[String] =
    timeline.instants.filter(i => i.isCompleted && i.action == Action.Savepoint).map(_.requested).toSet

  /** Savepointed instants stay on the timeline when those around them are archived. */
  private lazy val start: Option[String] =
    timeline.completed.find(i => !savepoints(i.requested)).map(_.requested).orElse(
      timeline.completed.headOption.flatMap(_ => timeline.start))

  /** The maximum over all cleans: a later clean that retains more does not restore files. */
  private lazy val cleanedUpTo: Option[String] = cleanedUpTo(timeline.cleans)

  private lazy val cleanedByVersions: Option[String] = cleanedByVersions(timeline.cleans)

  private def cleanedUpTo(cleans: Seq[Cleaned]): Option[String] =
    latest(cleans.filter(deletesFiles).flatMap(_.earliest) ++ cleanedByVersions(cleans))

  /** Of cleans by number of file versions. */
  private def cleanedByVersions(cleans: Seq[Cleaned]): Option[String] = {
    val files = cleans.filter(c => deletesFiles(c) && c.earliest.isEmpty).flatMap(_.files).groupBy(_._1)
    latest(files.flatMap { case (partition, lists) => firstComplete(partition, lists.flatMap(_._2)) })
  }

  private def deletesFiles(clean: Cleaned): Boolean = clean.files.exists(_._2.nonEmpty)

  private def latest(instants: Iterable[String]): Option[String] =
    instants.reduceOption((a, b) => if (a < b) b else a)

  /** The instant from which on no group of the partition lacks a slice. */
  private def firstComplete(partition: String, deleted: Seq[String]): Option[String] = {
    val lastDeleted = deleted.flatMap { name =>
      FileNames.parseBase(partition, name, 0L).map(f => f.fileId -> f.instant)
        .orElse(FileNames.parseLog(partition, name, 0L).map(f => f.fileId -> f.instant))
    }.groupBy(_._1).map { case (fileId, instants) => fileId -> instants.map(_._2).max }
    if (lastDeleted.isEmpty) None
    else {
      val remaining = new TableView(storage, config, timeline).allSlices(partition).groupBy(_.fileId)
      lastDeleted.flatMap { case (fileId, last) =>
        remaining.getOrElse(fileId, Nil).map(_.baseInstant).filter(_ > last).reduceOption((a, b) => if (a < b) a else b)
          .orElse(timeline.replacedAt(FileGroupId(partition, fileId)))
      }.reduceOption((a, b) => if (a < b) b else a)
    }
  }
}
