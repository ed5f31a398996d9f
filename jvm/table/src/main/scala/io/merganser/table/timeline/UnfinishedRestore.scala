package io.merganser.table.timeline

import java.io.FileNotFoundException

import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage

import scala.util.Try

/**
 * A restore, or a rollback of a completed write, of ours that is not done. From its inflight file on, readers do not
 * see what it takes back; before, nothing has been changed.
 *
 * @param plan None if the process ended while it was writing it
 */
private[table] final case class UnfinishedRestore(instant: Instant, plan: Option[RestorePlan]) {

  def isEffective: Boolean = plan.isDefined && instant.state == InstantState.Inflight

  /** Requested times. */
  def takenBack: Seq[String] = plan.toSeq.flatMap(_.instants.map(_.instant))

  /** The call that finishes it. */
  def remedy: String = plan.flatMap(_.target) match {
    case Some(target) => s"CALL restore_to_instant(instant_time => '$target')"
    case None =>
      takenBack.lastOption.fold("CALL restore_to_instant")(i => s"CALL rollback_to_instant(instant_time => '$i')")
  }
}

private[timeline] object UnfinishedRestore {

  /** Those of ours; None if one has completed since the files were listed. */
  def of(
      storage: Storage,
      config: TableConfig,
      instants: Seq[Instant],
      files: Map[(Instant, InstantState), String]
  ): Option[Seq[UnfinishedRestore]] = {
    val pending =
      instants.filter(i => !i.isCompleted && (i.action == Action.Restore || i.action == Action.Rollback)).sortBy(
        _.requested)
    try
      Some(pending.flatMap(i => files.get((i, InstantState.Requested)).flatMap(name => ours(storage, config, i, name))))
    catch { case _: FileNotFoundException => None }
  }

  private def ours(storage: Storage, config: TableConfig, instant: Instant, name: String): Option[UnfinishedRestore] = {
    val content = storage.read(config.timelineFile(name))
    // Another engine's plan, or the first half of one, is not ours to finish once it is inflight.
    Try(RestorePlan.decode(content)).toOption match {
      case Some(plan) => plan.map(p => UnfinishedRestore(instant, Some(p)))
      case None if instant.action == Action.Restore && instant.state == InstantState.Requested =>
        Some(UnfinishedRestore(instant, None))
      case None => None
    }
  }
}
