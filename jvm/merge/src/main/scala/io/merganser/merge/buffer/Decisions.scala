package io.merganser.merge.buffer

import io.merganser.merge.OrderingComparator

/**
 * Counts what a merge of logs decided, by keys; a key with several stored rows counts once for each.
 *
 * @param ordering compares ordering values, to count ties; null under a rule without ordering
 */
final class Decisions(ordering: OrderingComparator) {

  /** Versions that were read. */
  var versions = 0L

  /** Versions that were combined with an earlier one of their key before they were merged with a stored row. */
  var duplicates = 0L

  /** Stored rows that a version replaced, `ties` and `filled` among them. */
  var won = 0L

  /** Rows of keys that are not stored. */
  var inserted = 0L

  /** Stored rows that stayed: all versions lost. */
  var late = 0L

  /** Stored rows that a delete removed. */
  var deleted = 0L

  /** Deletes of keys that have no row. */
  var tombstones = 0L

  /** Winners whose ordering value is equal to the stored one; not what late-arriving versions added to a row. */
  var ties = 0L

  /** Rows that the rule made of several versions. */
  var filled = 0L

  /** Partial versions that were ignored, because there is no row that they belong to. */
  var noOps = 0L

  /** Counts the key that a merge has moved to. */
  def add(merge: MergeIterator): Unit = merge.outcome match {
    case Outcome.Updated =>
      won += 1
      if (merge.isTie(ordering)) ties += 1
      if (merge.isMade) filled += 1
    case Outcome.Inserted => inserted += 1
    case Outcome.Late     => if (!merge.isIgnoredDelete(ordering)) late += 1
    case Outcome.Deleted  => deleted += 1
    case Outcome.Absent   => if (merge.isIgnored) noOps += 1 else tombstones += 1
    case _                => ()
  }
}
