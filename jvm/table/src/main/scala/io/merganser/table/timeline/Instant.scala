package io.merganser.table.timeline

import io.merganser.merge.NamedValue

import java.util.Locale

/** The state of an action. If an instant has several files, the latest state counts. */
sealed abstract class InstantState(val name: String, private[timeline] val rank: Int) extends NamedValue {

  /** The name in results for users. */
  def shown: String = name.toUpperCase(Locale.ROOT)
}

object InstantState {
  case object Requested extends InstantState("requested", 0)
  case object Inflight extends InstantState("inflight", 1)
  case object Completed extends InstantState("completed", 2)
}

/**
 * One action on the timeline. Times are only compared as strings.
 *
 * @param requested requested time, its id in file names, `_hoodie_commit_time` and log block headers
 * @param action    of the file in the latest state; see [[Action.whenCompleted]]
 * @param completed completion time; absent while pending, and in tables of version 6
 */
final case class Instant(requested: String, action: Action, state: InstantState, completed: Option[String] = None) {
  def isCompleted: Boolean = state == InstantState.Completed
}

/** Names of the files on the timeline, in both layouts. */
private[table] object InstantFile {

  import InstantState._

  private val Name = """^(\d+)(?:_(\d+))?(?:\.(\w+))?(?:\.(\w+))?$""".r

  /** None for files that are not instants. */
  def parse(name: String): Option[Instant] = name match {
    case Name(requested, completed, first, second) =>
      val found = (Option(first), Option(second)) match {
        case (Some("inflight"), None) => Some(Instant(requested, Action.Commit, Inflight))
        case (Some(action), None)     => Action.parse(action).map(Instant(requested, _, Completed, Option(completed)))
        case (Some(action), Some("requested")) => Action.parse(action).map(Instant(requested, _, Requested))
        case (Some(action), Some("inflight"))  => Action.parse(action).map(Instant(requested, _, Inflight))
        case _                                 => None
      }
      found.filter(instant => instant.isCompleted || completed == null)
    case _ => None
  }

  /** Whether the name is that of an instant of an unknown action. */
  def isUnknown(name: String): Boolean = name match {
    case Name(_, _, first, second) => first != null && first != "inflight" && Action.parse(first).isEmpty &&
      (second == null || second == "requested" || second == "inflight")
    case _ => false
  }

  def requested(instant: String, action: Action): String = s"$instant.${action.name}.requested"

  /** A commit's inflight file does not name its action. */
  def inflight(instant: String, action: Action): String =
    if (action == Action.Commit) s"$instant.inflight" else s"$instant.${action.name}.inflight"

  /** @param completion absent in layout 1 */
  def completed(instant: String, completion: Option[String], action: Action): String =
    s"$instant${completion.fold("")("_" + _)}.${action.whenCompleted.name}"
}
