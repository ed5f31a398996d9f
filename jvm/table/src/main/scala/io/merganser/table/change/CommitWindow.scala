package io.merganser.table.change

import java.time.Clock

import io.merganser.merge.MerganserException
import io.merganser.table.options.Options
import io.merganser.table.properties.TableConfig
import io.merganser.table.slice.TimeTravel
import io.merganser.table.storage.Storage
import io.merganser.table.timeline._

/**
 * A completed write or service.
 *
 * @param completed completion time; in layout 1, which has none, the requested time
 */
final case class WindowCommit(requested: String, completed: String, action: Action, isArchived: Boolean)

/**
 * The commits of a table that completed in a range of time. In layout 1, whose instants have no completion times, those
 * that were requested in it.
 *
 * @param timeline of the table as of now
 * @param begin    exclusive; None: from the first commit on
 * @param end      inclusive; None: up to the newest commit of `timeline`
 */
final class CommitWindow private (
    storage: Storage,
    config: TableConfig,
    timeline: Timeline,
    val begin: Option[String],
    val end: Option[String]
) {
  private val hasTimes = config.layoutVersion >= 2

  private lazy val archive = new ArchivedTimeline(storage, config)

  private def timeOf(i: Instant): String = if (hasTimes) i.completed.getOrElse(i.requested) else i.requested

  private def has(time: String): Boolean = begin.forall(_ < time) && end.forall(time <= _)

  /** Completion times of the archived writes that completed after `begin`, or that `end` may leave out. */
  private lazy val archivedTimes: Map[String, String] =
    begin.orElse(end).filter(_ => hasTimes && !timeline.isWhole).fold(Map.empty[String, String])(archive.completedAfter)

  /** Archived writes and services that completed after the end of the window. */
  private lazy val archivedLater: Seq[(Instant, CommitMetadata)] = {
    val late = archivedTimes.filter { case (_, completed) => end.exists(_ < completed) }.keySet
    if (late.isEmpty) Nil
    else archive.newestFirst(Some(late.min), Some(late.max)).filter { case (i, _) => late(i.requested) }.toList
  }

  /** A time up to which no commit of the table has been requested, as far as it is known. */
  private lazy val oldest: Option[String] = {
    val here = timeline.completed.headOption.map(_.requested)
    if (timeline.isWhole || (!hasTimes && !isBeforeTimeline)) here
    else (archive.oldest ++ here).reduceOption((a, b) => if (a < b) a else b)
  }

  private def isBeforeTimeline: Boolean = begin.forall(b => timeline.start.forall(b < _))

  /** Whether no commit is older than the window. */
  lazy val isFromFirst: Boolean = begin.forall(b => oldest.forall(b < _))

  /** Its commits on the timeline, by completion time. */
  private lazy val active: Seq[Instant] =
    timeline.completed.filter(i => has(timeOf(i))).sortBy(i => (timeOf(i), i.requested))

  /** Its archived commits with their metadata, the last requested first; a file is read when it is reached. */
  private def archived: Iterator[(Instant, CommitMetadata)] = {
    val here = timeline.completed.map(_.requested).toSet
    val found =
      if (timeline.isWhole) Iterator.empty
      else if (begin.isEmpty) archive.newestFirst(None, end)
      else if (!hasTimes) if (isBeforeTimeline) archive.newestFirst(begin, end) else Iterator.empty
      else {
        val times = archivedTimes.keys.toSeq.sorted
        if (times.isEmpty) Iterator.empty else archive.newestFirst(times.headOption, times.lastOption)
      }
    found.filter { case (i, _) => !here(i.requested) && has(timeOf(i)) }
  }

  /** Its commits, services among them, by completion time. Reads the archive if the window begins in it. */
  lazy val commits: Seq[WindowCommit] = {
    def one(isArchived: Boolean)(i: Instant) = WindowCommit(i.requested, timeOf(i), i.action, isArchived)
    (archived.map(_._1).map(one(isArchived = true)).toSeq ++ active.map(one(isArchived = false))).sortBy(c =>
      (c.completed, c.requested))
  }

  /** [[commits]] with their metadata, the archived ones first. It is read when it is reached, and not kept. */
  def metadata: Iterator[(Instant, CommitMetadata)] = archived ++ timeline.metadataOf(active.iterator, active.size)

  /**
   * What its commits changed, see [[GroupChanges.of]].
   *
   * @throws io.merganser.merge.MerganserException CHANGE_DATA_CLEANED
   */
  def changes(mayMatter: String => Boolean = _ => true): Seq[GroupChange] =
    new GroupChanges(storage, config, timeline, archive).of(metadata.toSeq, mayMatter)

  /** Whether nothing was committed in the window. */
  lazy val isEmpty: Boolean = active.isEmpty &&
    (if (begin.isEmpty) oldest.forall(first => end.exists(_ < first)) else archived.isEmpty)

  /**
   * The table's timeline as of the end of the window; that of now if nothing was committed in it.
   *
   * @throws MerganserException CHANGES_CLEANED, CHANGES_TAKEN_BACK
   */
  lazy val view: Timeline = end match {
    case Some(time) if !isUpToNow(time) =>
      CommitWindow.described(config, "until", time) {
        val travel = new TimeTravel(storage, config, timeline, archive)
        if (!isEmpty) travel.toCompletion(time)
        else {
          travel.requireNotTakenBack(time, withArchive = !timeline.isWhole && timeline.start.forall(time < _))
          timeline
        }
      }
    case _ => timeline
  }

  /** Whether only services completed after a time, which change no row, and nothing of that time was taken back. */
  private def isUpToNow(time: String): Boolean =
    timeline.completed.filter(time < timeOf(_)).sortBy(timeOf).reverseIterator.forall(
      timeline.metadata(_).operationType.isService) &&
      !timeline.instants.exists(i =>
        time < i.requested && (i.action == Action.Restore || i.action == Action.Rollback)) &&
      archivedLater.forall(_._2.operationType.isService)

  /** Services that completed after the end of the window, and whose files [[view]] has. */
  private[change] def laterServices: Seq[(Instant, CommitMetadata)] =
    end.toSeq.flatMap(time => view.completed.filter(time < timeOf(_))).map(i => i -> view.metadata(i)) ++
      archivedLater.filter { case (i, m) => m.operationType.isService && view.isCompleted(i.requested) }

  /**
   * False if rows lost their commit time in a service that moved them: by the plan of a clustering, else by what it
   * wrote.
   */
  private[change] def keepsCommitTimes(service: Instant, metadata: CommitMetadata): Boolean = {
    val plan =
      if (timeline.completed.contains(service)) timeline.clusteringPlan(service)
      else archive.plan(service).flatMap(RequestedReplace.decode(_).plan)
    plan.fold(CommitTimes.keeps(storage, service.requested, metadata))(_.preservesCommit)
  }

  /** See [[CommitTimes]]. */
  private[change] def timesOf(commits: Set[String]): Option[CommitTimes] = begin.flatMap { after =>
    // Instants that are not known were archived, and their archive was removed.
    if (!hasTimes) Some(CommitTimes(after, knownFrom = None, None))
    else if (!isFromFirst) Some(CommitTimes(after, oldest, Some(commits)))
    else if (config.isCreatedInLayout2) None
    else Some(CommitTimes(after, oldest, None))
  }

  private[change] def tableName: String = config.name
}

object CommitWindow {

  /** Begins with the first commit of the table; so does a time of zeros. */
  val Earliest = "earliest"

  /**
   * Checks and resolves the bounds of a window. They are completion times; a bound that is exactly the requested time
   * of a commit means that commit.
   *
   * @param begin [[Earliest]], or a time in one of the forms of [[AsOf]]; exclusive
   * @param end   a time likewise; inclusive
   * @param usesCommitTimes whether rows are found by their commit times; change data is found without them
   * @throws MerganserException CHANGES_TIME_INVALID, CHANGES_BEGIN_AFTER_END, CHANGES_BEGIN_IN_FUTURE,
   *                            CHANGES_TAKEN_BACK, CHANGES_WITHOUT_COMMIT_TIMES
   */
  def of(
      storage: Storage,
      config: TableConfig,
      timeline: Timeline,
      begin: String,
      end: Option[String],
      clock: Clock = Clock.systemUTC,
      usesCommitTimes: Boolean = true
  ): CommitWindow = {
    if (usesCommitTimes && !config.storesKeys)
      throw MerganserException("CHANGES_WITHOUT_COMMIT_TIMES", "table" -> config.name)
    val bounds = new Bounds(storage, config, timeline)
    val from   = if (isEarliest(begin)) None else Some(bounds.of("since", begin))
    val to     = end.map(bounds.of("until", _))
    def requireNotTakenBack(bound: String, time: String): Unit = described(config, bound, time) {
      new TimeTravel(storage, config, timeline).requireNotTakenBack(time, bounds.isArchived(time))
    }
    from.foreach { since =>
      to.filter(_ < since).foreach { until =>
        throw MerganserException("CHANGES_BEGIN_AFTER_END", "table" -> config.name, "begin" -> since, "end" -> until)
      }
      val newest = timeline.completed.map(i => i.completed.getOrElse(i.requested))
      val now    = (newest :+ InstantTime.format(clock.millis, config.timelineZone)).max
      if (now < since) throw MerganserException("CHANGES_BEGIN_IN_FUTURE", "table" -> config.name, "begin" -> since,
        "now" -> now, "zone" -> config.timelineZone)
      requireNotTakenBack("since", since)
    }
    // Of a read of rows the view checks it.
    if (!usesCommitTimes) to.foreach(requireNotTakenBack("until", _))
    new CommitWindow(storage, config, timeline, from, to)
  }

  private def isEarliest(text: String): Boolean =
    text.trim.equalsIgnoreCase(Earliest) || (text.trim.nonEmpty && text.trim.forall(_ == '0'))

  /** The errors of time travel, as those of a window. */
  private def described[T](config: TableConfig, bound: String, time: String)(body: => T): T =
    try body
    catch {
      case e: MerganserException if e.condition == "AS_OF_TOO_EARLY" =>
        throw MerganserException("CHANGES_CLEANED", "table" -> config.name, "end" -> time,
          "reason" -> e.parameters("reason"), "oldest" -> e.parameters("oldest"),
          "settings" -> Seq(Options.CleanCommits, Options.CleanHours).map(_.key).mkString(" or ")).causedBy(e)
      case e: MerganserException if e.condition == "AS_OF_TAKEN_BACK" =>
        throw MerganserException("CHANGES_TAKEN_BACK", "table" -> config.name, "bound" -> bound, "time" -> time,
          "action" -> e.parameters("action"), "by" -> e.parameters("by"), "first" -> e.parameters("first")).causedBy(e)
    }

  /** Bounds as users write them. */
  private final class Bounds(storage: Storage, config: TableConfig, timeline: Timeline) {

    def isArchived(time: String): Boolean = !timeline.isWhole && timeline.start.forall(time < _)

    def of(bound: String, text: String): String = {
      val time = AsOf.parse(text, config.timelineZone).getOrElse(throw MerganserException("CHANGES_TIME_INVALID",
          "table" -> config.name,
          "bound" -> bound, "value" -> text, "accepted" -> AsOf.Accepted))
      if (config.layoutVersion < 2 || timeline.completed.exists(_.completed.contains(time))) time
      else timeline.completionTime(time).orElse(archived(time)).getOrElse(time)
    }

    private def archived(time: String): Option[String] =
      if (isArchived(time)) new ArchivedTimeline(storage, config).completionTime(time) else None
  }
}
