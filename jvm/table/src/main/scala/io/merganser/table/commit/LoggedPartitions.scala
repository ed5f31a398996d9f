package io.merganser.table.commit

import io.merganser.table.properties.TableConfig
import io.merganser.table.timeline.{Action, Instant, InstantState, Timeline}

/**
 * The partitions that may have file slices with logs, by the commits since the last compaction of all slices: the
 * others need not be listed to plan the next one.
 */
object LoggedPartitions {

  /** Key in the extra metadata of a plan that has every slice with logs. */
  private[commit] val WholeKey = "merganser.all.slices"

  /** Extra metadata of a plan that has every slice with logs. */
  val ofAllSlices: Map[String, String] = Map(WholeKey -> "true")

  /** More commits are not read in place of a listing of the table. */
  private val MostRead = 256

  /** None if the commits do not show it: all partitions may have logs. */
  def of(config: TableConfig, timeline: Timeline): Option[Seq[String]] =
    // Without completion times a write may have begun before the compaction, and ended after it.
    if (config.layoutVersion < 2) None
    else writesSinceAll(timeline).filter(_.size <= MostRead).map { writes =>
      timeline.readAhead(writes)
      writes.flatMap(timeline.metadata(_).stats.collect {
        case (partition, files) if files.exists(_.isLogFile) => partition
      }).distinct
    }

  /** The writes that completed since the newest compaction was planned, if that was one of all slices. */
  private def writesSinceAll(timeline: Timeline): Option[Seq[Instant]] =
    timeline.completed.reverseIterator.find(isCompaction(timeline, _)) match {
      case Some(last) if timeline.start.forall(_ <= last.requested) && isOfAll(timeline, last) =>
        Some(timeline.completed.filter(_.completed.forall(_ > last.requested)))
      case None if timeline.isWhole => Some(timeline.completed)
      case _                        => None
    }

  private def isCompaction(timeline: Timeline, instant: Instant): Boolean =
    instant.action == Action.Commit && timeline.hasFile(instant, InstantState.Requested) &&
      timeline.nameOf(instant, InstantState.Requested).contains(s".${Action.Compaction.name}.")

  private def isOfAll(timeline: Timeline, compaction: Instant): Boolean =
    timeline.compactionPlan(compaction).extra.contains(WholeKey)
}
