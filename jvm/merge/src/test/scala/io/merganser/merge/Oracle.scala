package io.merganser.merge

/**
 * What must come of stored rows and versions, in plain collections: group by key, fold in commit order. Written from
 * the rules, and shares nothing with the code it judges but the notation.
 */
object Oracle {

  sealed trait Mode
  case object CommitTime extends Mode
  case object EventTime extends Mode

  private sealed trait State

  /** Nothing is stored, and nothing is known of the key. */
  private case object Nothing extends State

  /** Nothing is stored, and an earlier row must not come back. */
  private final case class Tombstone(ts: Option[Long]) extends State

  private final case class Row(change: Change, isStored: Boolean) extends State

  private def isLate(mode: Mode, newer: Option[Long], older: Option[Long]): Boolean = mode match {
    case CommitTime => false
    case EventTime =>
      (newer, older) match {
        case (None, Some(_))    => true
        case (_, None)          => false
        case (Some(n), Some(o)) => n < o
      }
  }

  private def step(mode: Mode)(state: State, change: Change): State =
    if (change.isDelete && !change.ordered) Nothing
    else
      state match {
        case Nothing if change.isPartial                                      => Nothing
        case Nothing                                                          => newest(change)
        case gone: Tombstone if change.isPartial                              => gone
        case gone: Tombstone if isLate(mode, change.ts, gone.ts)              => gone
        case row: Row if isLate(mode, orderingOf(change, row), row.change.ts) => row
        case row: Row if change.isPartial                                     => Row(overlay(row.change, change), isStored = false)
        case _                                                                => newest(change)
      }

  private def newest(change: Change): State = if (change.isDelete) Tombstone(change.ts) else Row(change, isStored = false)

  private def orderingOf(change: Change, row: Row): Option[Long] =
    if (change.isPartial && !change.provided.head) row.change.ts else change.ts

  private def overlay(older: Change, newer: Change): Change = {
    def pick[A](i: Int, of: Change => A) = of(if (newer.provided(i)) newer else older)
    Change(older.key, pick(0, _.ts), Seq(pick(1, _.values.head), pick(2, _.values(1))))
  }

  /** One line for each stored row and each key that is not stored: the outcome, and the row or the key. */
  def merge(mode: Mode, base: Seq[Change], versions: Seq[Change], combineNew: Boolean = true): Seq[String] = {
    val byKey = versions.groupBy(_.key)
    val stored = base.map { row =>
      val after = byKey.getOrElse(row.key, Nil).foldLeft[State](Row(row, isStored = true))(step(mode))
      after match {
        case Row(_, true) if byKey.contains(row.key) => s"Kept $row"
        case Row(_, true)                            => s"Unchanged $row"
        case Row(change, false)                      => s"Updated $change"
        case _                                       => s"Deleted ${row.key}"
      }
    }
    val groups = (byKey -- base.map(_.key)).values.toSeq.flatMap(group => if (combineNew) Seq(group) else group.map(Seq(_)))
    val fresh = groups.map { group =>
      group.foldLeft[State](Nothing)(step(mode)) match {
        case Row(change, _) => s"Inserted $change"
        case _              => s"Absent ${group.head.key}"
      }
    }
    stored ++ fresh
  }

  /** The rows that are there afterwards. */
  def rows(lines: Seq[String]): Seq[Change] =
    lines.map(_.split(" ")).collect { case Array(outcome, row) if outcome != "Deleted" && outcome != "Absent" => Notation.change(row) }
}
