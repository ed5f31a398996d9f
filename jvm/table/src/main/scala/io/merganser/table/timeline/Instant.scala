package io.merganser.table.timeline

/** The state of an action. If an instant has several files, the latest state counts. */
sealed abstract class InstantState(val name: String, private[timeline] val rank: Int) extends Serializable {
  override def toString: String = name
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
 * @param action    `compaction` for a pending compaction, `commit` for a completed one; likewise `clustering` and
 *                  `replacecommit`
 * @param completed completion time; absent while pending, and in tables of version 6
 */
final case class Instant(requested: String, action: String, state: InstantState, completed: Option[String] = None) {
  def isCompleted: Boolean = state == InstantState.Completed
}

object Action {
  val Commit        = "commit"
  val DeltaCommit   = "deltacommit"
  val ReplaceCommit = "replacecommit"
  val Compaction    = "compaction"
  val LogCompaction = "logcompaction"
  val Clustering    = "clustering"
  val Savepoint     = "savepoint"
  val Clean         = "clean"

  /** Actions that write a table's rows. */
  val Writes: Set[String] = Set(Commit, DeltaCommit, ReplaceCommit)

  private[timeline] val Known: Set[String] =
    Writes ++ Set(Compaction, LogCompaction, Clustering, Savepoint, Clean, "rollback", "restore", "indexing")

  /** The name under which an action completes. */
  def completedName(action: String): String = action match {
    case Compaction    => Commit
    case LogCompaction => DeltaCommit
    case Clustering    => ReplaceCommit
    case other         => other
  }
}

/** Names of the files on the timeline, in both layouts. */
private[table] object InstantFile {

  import InstantState._

  private val Name = """^(\d+)(?:_(\d+))?(?:\.(\w+))?(?:\.(\w+))?$""".r

  /** None for files that are not instants. */
  def parse(name: String): Option[Instant] = name match {
    case Name(requested, completed, first, second) =>
      val found = (Option(first), Option(second)) match {
        case (Some("inflight"), None)          => Some(Instant(requested, Action.Commit, Inflight))
        case (Some(action), None)              => Some(Instant(requested, action, Completed, Option(completed)))
        case (Some(action), Some("requested")) => Some(Instant(requested, action, Requested))
        case (Some(action), Some("inflight"))  => Some(Instant(requested, action, Inflight))
        case _                                 => None
      }
      found.filter(instant => Action.Known(instant.action) && (instant.isCompleted || completed == null))
    case _ => None
  }

  /** Whether the name is that of an instant of an unknown action. */
  def isUnknown(name: String): Boolean = name match {
    case Name(_, _, first, second) => first != null && first != "inflight" && !Action.Known(first) &&
      (second == null || second == "requested" || second == "inflight")
    case _ => false
  }

  def requested(instant: String, action: String): String = s"$instant.$action.requested"

  /** A commit's inflight file does not name its action. */
  def inflight(instant: String, action: String): String =
    if (action == Action.Commit) s"$instant.inflight" else s"$instant.$action.inflight"

  /** @param completion absent in layout 1 */
  def completed(instant: String, completion: Option[String], action: String): String =
    s"$instant${completion.fold("")("_" + _)}.${Action.completedName(action)}"
}
