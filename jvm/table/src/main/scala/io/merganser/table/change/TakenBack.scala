package io.merganser.table.change

import io.merganser.merge.MerganserException
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline._

/** Commits that were read, and that a restore or a rollback has taken back since. */
object TakenBack {

  /**
   * Fails if the newest write that was read is no commit of the table any more. A rollback takes the newest write, so
   * that one that took an earlier write has taken this one before.
   *
   * @param newest requested time of that write
   * @param time   completion time up to which the table was read
   * @throws MerganserException CHANGES_TAKEN_BACK
   */
  def requireNot(storage: Storage, config: TableConfig, timeline: Timeline, newest: String, time: String): Unit =
    if (!timeline.completed.exists(_.requested == newest) && timeline.commitState(newest) == CommitState.NotCommitted) {
      val (action, by, first) = found(storage, config, timeline, newest)
      throw MerganserException("CHANGES_TAKEN_BACK", "table" -> config.name, "bound" -> "since", "time" -> time,
        "action" -> action, "by" -> by, "first" -> first)
    }

  /** Action and instant that took it back, and the first write that they took. */
  private def found(
      storage: Storage,
      config: TableConfig,
      timeline: Timeline,
      write: String
  ): (String, String, String) = {
    lazy val archive = new ArchivedTimeline(storage, config)
    def here =
      timeline.unfinished.map(u => u.instant -> u.plan.toSeq.flatMap(_.instants)) ++
        timeline.restores.map(i => i -> timeline.restore(i).instants) ++
        timeline.rollbacks.map(i => i -> timeline.rollback(i).instants)
    def by(actions: Seq[(Instant, Seq[RolledBack])]) = actions.find(_._2.exists(_.instant == write))
    by(here).orElse(by(archive.restores)).orElse(by(archive.rollbacks)).fold(
      (Action.Rollback.name, "(its instant is gone)", write)) { case (instant, taken) =>
      (instant.action.name, instant.requested, taken.filter(_.isWrite).map(_.instant).min)
    }
  }
}
