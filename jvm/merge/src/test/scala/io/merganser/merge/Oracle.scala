package io.merganser.merge

/**
 * What must come of stored rows and versions, in plain collections: group by key, fold in commit order. Written from
 * the rules, and shares nothing with the code it judges but the notation.
 */
object Oracle {
  type Mode = Rule

  /**
   * A rule in a few words.
   *
   * @param byEventTime      the larger ordering value leads, on a tie the newer version; else the newer one always leads
   * @param batchByEventTime the same among the versions of one batch
   * @param hole             a value that says nothing, and leaves the other version's
   * @param fillsBatch       whether holes are filled among the versions of one batch, too
   * @param fillsLate        whether a late version fills the holes of the row that stays
   * @param lateDeletesWin   whether a delete removes the row it meets whatever its ordering value
   * @param keepsGivenNulls  whether what a partial version provides is never a hole
   * @param combinesBatch    whether the versions of a batch come to one before they meet anything stored
   */
  final case class Rule(
      name: String,
      byEventTime: Boolean,
      batchByEventTime: Boolean,
      hole: Option[Hole] = None,
      fillsBatch: Boolean = false,
      fillsLate: Boolean = true,
      lateDeletesWin: Boolean = false,
      keepsGivenNulls: Boolean = false,
      combinesBatch: Boolean = true
  ) {
    override def toString: String = name
  }

  sealed trait Hole
  case object NullHole extends Hole
  final case class TextHole(text: String) extends Hole

  val CommitTime: Rule = Rule("CommitTime", byEventTime = false, batchByEventTime = false)
  val EventTime: Rule  = Rule("EventTime", byEventTime = true, batchByEventTime = true)

  private sealed trait State

  /** Nothing is stored, and nothing is known of the key. */
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
        case Nothing if isNothing(change)         => Nothing
        case Nothing                              => newest(change)
        case gone: Tombstone if isNothing(change) => gone
        case gone: Tombstone                      => if (loses(rule, change, gone.ts)) gone else newest(change)
        case row: Row if change.isDelete          => if (loses(rule, change, row.change.ts)) row else newest(change)
        case row: Row =>
          meet(rule, row, if (change.isPartial) overlay(row.change, change) else change,
            change.isPartial && rule.keepsGivenNulls)
      }

  private def loses(rule: Rule, newer: Change, older: Option[Long]): Boolean =
    !(newer.isDelete && rule.lateDeletesWin) && isLate(rule.byEventTime, newer.ts, older)

  private def meet(rule: Rule, row: Row, newer: Change, isWhole: Boolean): Row =
    if (isLate(rule.byEventTime, newer.ts, row.change.ts)) {
      val stays = if (rule.fillsLate) filled(rule, rule.byEventTime, row.change, newer) else row.change
      Row(stays, row.isStored && stays == row.change)
    } else Row(if (isWhole) newer else filled(rule, rule.byEventTime, newer, row.change), isStored = false)

  /** The leader, with the other one's values in its holes; under event time its ordering value is its own. */
  private def filled(rule: Rule, byEventTime: Boolean, leader: Change, other: Change): Change =
    rule.hole.fold(leader) { hole =>
      def isHole(value: Option[String]) = hole match {
        case NullHole       => value.isEmpty
        case TextHole(text) => value.contains(text)
      }
      val ts = if (!byEventTime && hole == NullHole) leader.ts.orElse(other.ts) else leader.ts
      leader.copy(ts = ts, values = leader.values.zip(other.values).map { case (l, o) => if (isHole(l)) o else l })
    }

  /** A partial version has no row to be laid over, unless it is a row of its own. */
  private def isNothing(change: Change): Boolean = change.isPartial && !change.inserts

  private def newest(change: Change): State =
    if (change.isDelete) Tombstone(change.ts) else Row(change.copy(provided = Nil, inserts = false), isStored = false)

  private def overlay(older: Change, newer: Change): Change = {
    def pick[A](i: Int, of: Change => A) = of(if (newer.provided(i)) newer else older)
    Change(older.key, pick(0, _.ts), Seq(pick(1, _.values.head), pick(2, _.values(1))))
  }

  /**
   * What a batch comes to before it meets anything stored, key by key. Partial versions and those behind them stay as they
   * came, since what they are laid over decides; a delete without ordering value stays before what follows it.
   */
  def batch(rule: Rule, changes: Seq[Change]): Seq[Change] =
    if (!rule.combinesBatch) changes
    else
      changes.groupBy(_.key).values.toSeq.flatMap { versions =>
        val (full, rest)   = versions.span(!_.isPartial)
        val last           = full.lastIndexWhere(c => c.isDelete && !c.ordered)
        val (forgot, come) = full.splitAt(last + 1)
        forgot.lastOption.toSeq ++ come.reduceLeftOption(combine(rule)(_, _)) ++ rest
      }

  private def combine(rule: Rule)(older: Change, newer: Change): Change = {
    val late            = isLate(rule.batchByEventTime, newer.ts, older.ts)
    val (leader, other) = if (late) (older, newer) else (newer, older)
    if (!rule.fillsBatch || older.isDelete || newer.isDelete) leader
    else filled(rule, rule.batchByEventTime, leader, other)
  }

  /** One line for each stored row and each key that is not stored: the outcome, and the row or the key. */
  def merge(rule: Rule, base: Seq[Change], versions: Seq[Change], combineNew: Boolean = true): Seq[String] = {
    val byKey = versions.groupBy(_.key)
    val stored = base.zipWithIndex.map { case (row, i) =>
      val after = byKey.getOrElse(row.key, Nil).foldLeft[State](Row(row, isStored = true))(step(rule))
      // A delete without ordering value removes all rows of its key: what comes after it is one row, in the place of the first.
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

  /** The rows that are there afterwards. */
  def rows(lines: Seq[String]): Seq[Change] =
    lines.map(_.split(" ")).collect {
      case Array(outcome, row) if outcome != "Deleted" && outcome != "Absent" => Notation.change(row)
    }

  /**
   * What a file group must hold: a base file's rows, and the versions in its logs. The two differ in one thing: a base file
   * forgets a delete as soon as it is applied, so that a late row comes back; a log remembers one with an ordering value.
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
