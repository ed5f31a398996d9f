package io.merganser.table.service

import io.merganser.merge.MerganserException
import io.merganser.table.commit.{LockedTable, PlanAttempt}
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.{ArchiveConfig, TableAccess}
import io.merganser.table.slice.{TableView, TimeTravel}
import io.merganser.table.storage.{Interrupts, Storage}
import io.merganser.table.timeline._

/** A savepoint of the timeline, with the requested time of its write. */
final case class Savepoint(instant: String, metadata: SavepointMetadata) {

  /** Number of base files and logs. */
  def files: Int = metadata.files.values.map(_.size).sum
}

/**
 * Savepoints of a table: cleans retain the files of a savepoint, and archiving its instant, until it is deleted.
 *
 * A savepoint has the requested time of its write. One whose creation stopped retains what a completed one would; the
 * next call completes it, if no clean has run since, or deletes it.
 */
final class Savepoints(
    storage: Storage,
    config: TableConfig,
    access: TableAccess = TableAccess()
) {
  import Savepoints._

  /** Completed savepoints, the newest first. */
  def all: Seq[Savepoint] = {
    val now = Timeline.load(storage, config)
    now.savepoints.filter(_.isCompleted).reverse.map(i => Savepoint(i.requested, now.savepoint(i)))
  }

  /**
   * A completed savepoint.
   *
   * @param requested requested time of its write; None: the newest
   * @throws MerganserException SAVEPOINT_UNKNOWN
   */
  def find(requested: Option[String]): Instant = found(
    Timeline.load(storage, config).savepoints.filter(_.isCompleted), requested)

  private def found(there: Seq[Instant], requested: Option[String]): Instant =
    requested.fold(there.lastOption)(r => there.find(_.requested == r)).getOrElse(
      throw MerganserException("SAVEPOINT_UNKNOWN", "path" -> storage, "instant" -> requested.getOrElse("newest"),
        "savepoints" -> shown(there)))

  /**
   * Creates the savepoint of a completed write; nothing changes if there is one.
   *
   * @param time that of the write, see [[TimeTravel.writeAt]]; None: the newest
   * @throws MerganserException SAVEPOINT_INSTANT_UNKNOWN; AS_OF_TOO_EARLY if files of that time may have been cleaned;
   *                            LOCK_TIMEOUT
   */
  def create(time: Option[String], by: String, comments: String): Savepoint =
    PlanAttempt.decided((_, mayRepeat) => attempt(time, by, comments, mayRepeat)).get

  /**
   * The files, by partition path, that a savepoint would keep; changes nothing.
   *
   * @return the requested time of the write, and its files
   * @throws MerganserException as [[create]]
   */
  def preview(time: Option[String]): (String, Map[String, Seq[String]]) = {
    val now   = Timeline.load(storage, config)
    val write = writeOf(now, time)
    (write.requested, files(now, write))
  }

  /** Outdated if a clean began while the files were listed. */
  private def attempt(
      time: Option[String],
      by: String,
      comments: String,
      mayRepeat: Boolean
  ): PlanAttempt[Savepoint] = {
    val seen    = Timeline.load(storage, config)
    val instant = writeOf(seen, time)
    val listed  = files(seen, instant)
    LockedTable.of(storage, config, access, Some(seen)) { table =>
      val now    = table.timeline
      val isSame = cleans(now) == cleans(seen) && now.completed.contains(instant)
      if (!isSame && mayRepeat) PlanAttempt.Outdated
      else {
        val chosen = if (isSame) listed else files(now, writeOf(now, Some(instant.requested)))
        val saved  = SavepointMetadata(by, System.currentTimeMillis(), comments, chosen)
        PlanAttempt.Decided(Some(publish(table, instant, saved)))
      }
    }
  }

  /**
   * Deletes a savepoint.
   *
   * @param requested requested time of its write; None: the newest savepoint
   * @return its requested time
   * @throws MerganserException SAVEPOINT_UNKNOWN, LOCK_TIMEOUT; SAVEPOINT_NEEDED if its write would have to be
   *                            archived, and may not be
   */
  def delete(requested: Option[String]): String = LockedTable.of(storage, config, access) { table =>
    val now   = table.timeline
    val found = this.found(now.savepoints, requested)
    // Without its savepoint the timeline would begin with this write, and later ones in the history would not count.
    now.completed.find(_.requested == found.requested).filter(isBetweenArchived(now, _)).foreach { write =>
      val archiving = new Archiving(storage, config, ArchiveConfig(), access)
      if (!archiving.mayMove(now, write))
        throw MerganserException("SAVEPOINT_NEEDED", "path" -> storage, "instant" -> found.requested)
      archiving.move(now, Seq(write), table.lock)
    }
    table.lock.requireHeld()
    // The inflight file last: with it alone, the savepoint is still deleted or completed by the next call.
    now.filesIn(found, InstantState.Completed, InstantState.Inflight).foreach(file => storage.delete(file))
    found.requested
  }

  private def writeOf(timeline: Timeline, time: Option[String]): Instant =
    time.fold[Either[String, Instant]](timeline.completed.lastOption.toRight("it has no completed write"))(
      new TimeTravel(storage, config, timeline).writeAt(_)).fold(
      reason =>
        throw MerganserException("SAVEPOINT_INSTANT_UNKNOWN", "path" -> storage, "instant" -> time.getOrElse("newest"),
          "reason" -> reason, "instants" -> shown(timeline.completed)),
      identity)

  /** Whether the history has later writes than one on the timeline. */
  private def isBetweenArchived(timeline: Timeline, write: Instant): Boolean = !timeline.isWhole &&
    new ArchivedTimeline(storage, config).newestFirst(Some(write.requested), None).exists(_._1.requested >
        write.requested)

  private def cleans(timeline: Timeline): Seq[String] =
    timeline.instants.filter(_.action == Action.Clean).map(_.requested)

  private def files(timeline: Timeline, instant: Instant): Map[String, Seq[String]] = {
    val past = new TimeTravel(storage, config, timeline).to(instant.requested)
    new TableView(storage, config, past).slices.groupBy(_.partitionPath).map { case (partition, slices) =>
      partition -> slices.flatMap(s => s.base.map(_.name) ++ s.logs.map(_.name)).sorted
    }
  }

  private def publish(table: LockedTable, write: Instant, savepoint: SavepointMetadata): Savepoint =
    Interrupts.deferred {
      val now   = table.timeline
      val found = now.savepoints.find(_.requested == write.requested)
      found.filter(_.isCompleted).fold {
        table.lock.requireHeld()
        if (found.isEmpty) table.begin(write.requested, Action.Savepoint)
        table.complete(write.requested, Action.Savepoint, SavepointMetadata.encode(savepoint))
        Savepoint(write.requested, savepoint)
      }(there => Savepoint(there.requested, now.savepoint(there)))
    }
}

private[service] object Savepoints {

  private val Shown = 5

  /** Of a message: the newest few. */
  private[service] def shown(instants: Seq[Instant]): String =
    if (instants.isEmpty) "none"
    else (if (instants.size > Shown) Seq("…") else Nil).++(instants.takeRight(Shown).map(_.requested)).mkString(", ")
}
