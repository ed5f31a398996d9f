// Hot path: one call per key.
package io.merganser.merge.buffer

/**
 * Counts what became of keys. Readers, writers, dry runs and statements count with it; only here an outcome is a count.
 *
 * A key with several stored rows counts once for each.
 *
 * @param equality       finds updates without effect; null where they are not counted
 * @param countsLateness whether it counts how far late-arriving versions are behind
 */
final class MergeTally(equality: RowEquality = null, countsLateness: Boolean = false) {
  private[this] var behind: Lateness.Counter = _ // null until there is a late version

  /** Versions of logs that were read. */
  var versions = 0L

  // The others are those of MergeCounts.

  var duplicates = 0L
  var inserted   = 0L
  var updated    = 0L
  var unchanged  = 0L
  var late       = 0L
  var deleted    = 0L
  var ties       = 0L
  var filled     = 0L
  var noOps      = 0L
  var tombstones = 0L

  def lateness: Lateness = if (behind == null) Lateness.none else behind.result

  /** Counts the key that a merge has moved to. */
  def add(merge: MergeIterator): Unit = {
    val decision = merge.decision
    add(decision)
    merge.outcome match {
      case Outcome.Updated =>
        if (merge.isMade) filled += 1
        // With another ordering value it is another row.
        if (
          (equality ne null) && (decision != Outcome.Updated || !merge.isOrdered) &&
          equality.areEqual(merge.storedRow, merge.row)
        ) noOps += 1
      case Outcome.Late => if (countsLateness && decision == Outcome.Late) addLateness(merge)
      case _            =>
    }
  }

  /** Counts a key by its [[MergeIterator.decision decision]]. */
  def add(decision: Int): Unit = decision match {
    case Outcome.Unchanged | Outcome.Ignored => unchanged += 1
    case Outcome.Updated | Outcome.Added     => updated += 1
    case Outcome.Tied =>
      updated += 1
      ties += 1
    case Outcome.Inserted => inserted += 1
    case Outcome.Late     => late += 1
    case Outcome.Deleted  => deleted += 1
    case Outcome.Absent   => tombstones += 1
    case Outcome.Refused =>
      late += 1
      tombstones += 1
    case Outcome.Rowless => noOps += 1
    case _               => ()
  }

  /** A rule of a user's may choose against the ordering values. */
  private def addLateness(merge: MergeIterator): Unit = {
    val field = merge.fieldBehind
    if (field ne null) {
      if (behind eq null) behind = new Lateness.Counter
      behind.add(field, merge.storedRow, merge.newest.row)
    }
  }
}
