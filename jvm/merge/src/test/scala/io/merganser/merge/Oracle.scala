package io.merganser.merge

/**
 * The expected result of stored rows and versions, in plain collections: group by key, fold in commit order. Written
 * from the rules; it shares only the notation with the code under test.
 */
object Oracle {
  type Mode = Rule

  /**
   * A rule, described by its properties.
   *
   * @param byEventTime      the larger ordering value wins, on a tie the newer version; else the newer version always
   *                         wins
   * @param batchByEventTime the same among the versions of one batch
   * @param missing          what a missing value is; it is filled from the other version
   * @param fillsBatch       whether missing values are filled among the versions of one batch, too
   * @param fillsFromLateArriving        whether a late-arriving version fills the missing values of the winner
   * @param lateDeletesWin   whether a delete removes the older row whatever its ordering value
   * @param nullsAreValues   whether the values that a partial version provides are never missing values
   * @param combinesBatch    whether the versions of a batch are combined before they are merged with the stored row
   * @param columns          how each value is merged, if each is merged on its own; every delete then ends a history
   * @param delete           what a delete with an ordering value does: `remove_row`, `reset_group` or `ignore`
   */
  final case class Rule(
      name: String,
      byEventTime: Boolean,
      batchByEventTime: Boolean,
      missing: Option[MissingValue] = None,
      fillsBatch: Boolean = false,
      fillsFromLateArriving: Boolean = true,
      lateDeletesWin: Boolean = false,
      nullsAreValues: Boolean = false,
      combinesBatch: Boolean = true,
      columns: Seq[Column] = Nil,
      delete: String = "remove_row"
  ) {
    override def toString: String = name
  }

  /** The value of a column: the older value, the newer one, and whether the newer version is late-arriving. */
  type Column = (Option[String], Option[String], Boolean) => Option[String]

  sealed trait MissingValue
  case object MissingNull extends MissingValue
  final case class MissingMarker(text: String) extends MissingValue

  val CommitTime: Rule = Rule("CommitTime", byEventTime = false, batchByEventTime = false)
  val EventTime: Rule  = Rule("EventTime", byEventTime = true, batchByEventTime = true)

  private sealed trait State

  /** Nothing is stored, and there is no tombstone of the key. */
  private case object Nothing extends State

  /** Nothing is stored, and an earlier row must not come back. */
  private final case class Tombstone(ts: Option[Long]) extends State

  private final case class Row(change: Change, isStored: Boolean) extends State

  private def isLate(byEventTime: Boolean, newer: Option[Long], older: Option[Long]): Boolean = byEventTime && {
    (newer, older) match {
      case (None, Some(_))    => true
      case (_, None)          => false
      case (Some(n), Some(o)) => n < o
    }
  }

  private def step(rule: Rule)(state: State, change: Change): State =
    if (change.isDelete && !change.ordered) Nothing
    else
      state match {
        case Nothing if isNothing(change)          => Nothing
        case Nothing                               => newest(change)
        case gone: Tombstone if isNothing(change)  => gone
        case _: Tombstone if rule.columns.nonEmpty => newest(change)
        case gone: Tombstone                       => if (loses(rule, change, gone.ts)) gone else newest(change)
        case row: Row if change.isDelete && loses(rule, change, row.change.ts) => row
        case row: Row if change.isDelete && rule.delete == "ignore"            => row
        case row: Row if change.isDelete && rule.delete == "reset_group" =>
          Row(row.change.copy(ts = if (rule.byEventTime) change.ts else None, values = Seq(None, None)),
            isStored = false)
        case _: Row if change.isDelete         => newest(change)
        case row: Row if rule.columns.nonEmpty => byColumn(rule, row, change)
        case row: Row =>
          mergeRow(rule, row, if (change.isPartial) overlay(row.change, change) else change,
            change.isPartial && rule.nullsAreValues)
      }

  private def loses(rule: Rule, newer: Change, older: Option[Long]): Boolean =
    !(newer.isDelete && rule.lateDeletesWin) && isLate(rule.byEventTime, newer.ts, older)

  private def byColumn(rule: Rule, row: Row, newer: Change): Row = {
    def has(i: Int) = !newer.isPartial || newer.provided(i)
    val late        = has(0) && isLate(rule.byEventTime, newer.ts, row.change.ts)
    val values = rule.columns.zipWithIndex.map { case (merged, i) =>
      val older = row.change.values(i)
      if (has(i + 1)) merged(older, newer.values(i), late) else older
    }
    val result = Change(newer.key, if (has(0) && !late) newer.ts else row.change.ts, values)
    Row(result, row.isStored && late && result == row.change)
  }

  private def mergeRow(rule: Rule, row: Row, newer: Change, isWhole: Boolean): Row =
    if (isLate(rule.byEventTime, newer.ts, row.change.ts)) {
      val stays = if (rule.fillsFromLateArriving) filled(rule, rule.byEventTime, row.change, newer) else row.change
      Row(stays, row.isStored && stays == row.change)
    } else Row(if (isWhole) newer else filled(rule, rule.byEventTime, newer, row.change), isStored = false)

  /** The winner, its missing values filled from the other version; under event time it keeps its own ordering value. */
  private def filled(rule: Rule, byEventTime: Boolean, winner: Change, other: Change): Change =
    rule.missing.fold(winner) { missing =>
      def isMissing(value: Option[String]) = missing match {
        case MissingNull         => value.isEmpty
        case MissingMarker(text) => value.contains(text)
      }
      val ts = if (!byEventTime && missing == MissingNull) winner.ts.orElse(other.ts) else winner.ts
      winner.copy(ts = ts, values = winner.values.zip(other.values).map { case (w, o) => if (isMissing(w)) o else w })
    }

  /** Whether the change is a partial version that has no row to overlay and is not inserted as one. */
  private def isNothing(change: Change): Boolean = change.isPartial && !change.inserts

  private def newest(change: Change): State =
    if (change.isDelete) Tombstone(change.ts) else Row(change.copy(provided = Nil, inserts = false), isStored = false)

  private def overlay(older: Change, newer: Change): Change = {
    def pick[A](i: Int, of: Change => A) = of(if (newer.provided(i)) newer else older)
    Change(older.key, pick(0, _.ts), Seq(pick(1, _.values.head), pick(2, _.values(1))))
  }

  /**
   * A batch combined key by key before it is merged with stored rows. Partial versions and those after them are not
   * combined, since the result depends on the row they overlay; an unconditional delete stays before what follows it.
   */
  def batch(rule: Rule, changes: Seq[Change]): Seq[Change] =
    if (!rule.combinesBatch) changes
    else
      changes.groupBy(_.key).values.toSeq.flatMap { versions =>
        val (full, rest)    = versions.span(!_.isPartial)
        val last            = full.lastIndexWhere(c => c.isDelete && !c.ordered)
        val (before, after) = full.splitAt(last + 1)
        before.lastOption.toSeq ++ after.reduceLeftOption(combine(rule)(_, _)) ++ rest
      }

  private def combine(rule: Rule)(older: Change, newer: Change): Change = {
    val late            = isLate(rule.batchByEventTime, newer.ts, older.ts)
    val (winner, other) = if (late) (older, newer) else (newer, older)
    if (!rule.fillsBatch || older.isDelete || newer.isDelete) winner
    else filled(rule, rule.batchByEventTime, winner, other)
  }

  /** One line for each stored row and each key that is not stored: the outcome, and the row or the key. */
  def merge(rule: Rule, base: Seq[Change], versions: Seq[Change], combineNew: Boolean = true): Seq[String] = {
    val byKey = versions.groupBy(_.key)
    val stored = base.zipWithIndex.map { case (row, i) =>
      val after = byKey.getOrElse(row.key, Nil).foldLeft[State](Row(row, isStored = true))(step(rule))
      // An unconditional delete removes all rows of its key: what follows is one row, in the place of the first.
      val isAgain =
        base.indexWhere(_.key == row.key) < i && byKey.getOrElse(row.key, Nil).exists(c => c.isDelete && !c.ordered)
      after match {
        case _ if isAgain                            => s"Deleted ${row.key}"
        case Row(_, true) if byKey.contains(row.key) => s"Kept $row"
        case Row(_, true)                            => s"Unchanged $row"
        case Row(change, false)                      => s"Updated $change"
        case _                                       => s"Deleted ${row.key}"
      }
    }
    val groups =
      (byKey -- base.map(_.key)).values.toSeq.flatMap(group => if (combineNew) Seq(group) else group.map(Seq(_)))
    val fresh = groups.map { group =>
      group.foldLeft[State](Nothing)(step(rule)) match {
        case Row(change, _) => s"Inserted $change"
        case _              => s"Absent ${group.head.key}"
      }
    }
    stored ++ fresh
  }

  /** The live rows afterwards. */
  def rows(lines: Seq[String]): Seq[Change] =
    lines.map(_.split(" ")).collect {
      case Array(outcome, row) if outcome != "Deleted" && outcome != "Absent" => Notation.change(row)
    }

  /**
   * The expected content of a file group: a base file's rows, and the versions in its logs. They differ in one thing: a
   * base file has no tombstones, so a row that arrives late after a delete comes back; a log has those with an ordering
   * value.
   */
  final case class FileGroup(base: Seq[Change] = Nil, log: Seq[Change] = Nil) {

    def rows(rule: Rule): Seq[Change] = Oracle.rows(merge(rule, base, log))

    /** After a batch that rewrites the base file. */
    def rewritten(rule: Rule, changes: Seq[Change]): FileGroup =
      FileGroup(Oracle.rows(merge(rule, rows(rule), batch(rule, changes))))

    /** After a batch that is appended to a log. */
    def appended(rule: Rule, changes: Seq[Change]): FileGroup = copy(log = log ++ batch(rule, changes))

    def compacted(rule: Rule): FileGroup = FileGroup(rows(rule))
  }
}
