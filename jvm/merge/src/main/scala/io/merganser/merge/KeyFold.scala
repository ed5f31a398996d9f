// Hot path: one call per version.
package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow

/**
 * Merges the versions of one key by the table's rule. This class alone calls a rule: batch with batch, log with log,
 * stored row with versions.
 *
 * What holds for every rule is here and in no rule:
 *
 *  - An unconditional delete, one without an ordering value, ends the key's history. The next version is merged with
 *    nothing, and it and every later winner carry the mark [[Version.endsHistory]].
 *  - After a delete a partial version has no row. It is ignored, unless it inserts: then it is a row with nulls.
 *  - Versions that the rule cannot combine are buffered one after the other, and folded from the stored row, oldest
 *    first.
 *
 * Not thread safe where its rule is not: a [[CustomRule]] opens one merger.
 *
 * @param fileGroup partition path and id of the file group, for messages of failed mergers
 * @param order     compares the ordering values of rows, to name ties and late-arriving versions; null where rows have
 *                  none
 */
final class KeyFold(rule: MergeRule, fileGroup: String = "none", order: OrderingComparator = null) {
  private[this] val laws = rule.laws

  /** Whether the full versions of one batch are combined before they are merged with the stored row. */
  val combinesBatch: Boolean = laws.combinesBatch

  /** Whether the full versions of several batches may be combined before the stored row is known. */
  val combinesLogs: Boolean = laws.associative

  /** Whether rows have ordering values. */
  val isOrdered: Boolean = order ne null

  /** Whether two rows have the same ordering value. */
  def areTied(one: InternalRow, other: InternalRow): Boolean = isOrdered && order.compare(one, other) == 0

  /** The first ordering field, if the ordering value of a row is smaller than that of another; otherwise null. */
  def fieldBehind(row: InternalRow, other: InternalRow): OrderingField =
    if (isOrdered && order.compare(row, other) < 0) order.first else null

  /** Whether the ordering value of a version is smaller than that of a row. */
  def isLateArriving(version: Version, row: InternalRow): Boolean = isOrdered && order.isLate(version, row)

  /** Whether a version that left a row as it is is a delete that the rule ignores, and not a late-arriving one. */
  def ignores(version: Version, row: InternalRow): Boolean =
    laws.ignoresDeletes && version.isDelete && (version.isUnconditional || !isLateArriving(version, row))

  /**
   * Merges two versions of different batches.
   *
   * @param older the version committed first, or the stored row
   */
  def merge(older: Version, newer: Version): Version =
    if (newer.provided != null && older.isDelete) { if (newer.inserts) merge(older, newer.asRow) else older }
    else if (newer.endsHistory) inserted(newer)
    else if (endsHistory(older)) marked(inserted(newer))
    else {
      val result = merged(older, newer)
      if (older.endsHistory && (result ne older)) marked(result) else result
    }

  /**
   * Combines two versions of one batch, as if they were one change. Both provide all columns.
   *
   * @param older the version that arrived first
   */
  def combine(older: Version, newer: Version): Version =
    if (newer.endsHistory) newer
    else if (endsHistory(older)) newer.withoutHistory
    else {
      val result = combined(older, newer)
      if (older.endsHistory && (result ne older)) result.withoutHistory else result
    }

  /** Folds the buffered versions of a key onto its stored row. Returns `stored` itself if that one stays. */
  def onto(stored: Version, versions: Version): Version =
    if (versions.earlier == null) merge(stored, versions) else versions.oldestFirst.foldLeft(stored)(merge(_, _))

  /**
   * Folds the buffered versions of a key that is not stored. The result is not a row if it is a delete, or still
   * partial.
   */
  def alone(versions: Version): Version =
    if (versions.earlier == null) inserted(versions)
    else
      versions.oldestFirst.dropWhile(version => version.isPartial && !version.inserts) match {
        case Nil           => versions
        case first :: rest => rest.foldLeft(inserted(first))(merge(_, _))
      }

  /**
   * Whether a version lost to those that were buffered before it. A delete that changed nothing is not late where the
   * rule may ignore it.
   *
   * @param result of adding the version to those buffered
   */
  def isLate(buffered: Version, version: Version, result: Version): Boolean =
    (result eq buffered) && !(version.isDelete && laws.ignoresDeletes)

  /**
   * Adds a version to those of its batch. The result replaces `buffered`, and is one of:
   *
   *  - `buffered`: the version changed nothing;
   *  - `next`, which the caller has to copy: its reader will fill it again;
   *  - a version with a row of its own, which may have `buffered` as an earlier version.
   */
  def addToBatch(buffered: Version, next: Version): Version =
    if (!combinesBatch || isApart(buffered, next)) addUncombined(buffered, next)
    else owned(combine(buffered, next), buffered, next)

  /** The same for a version of a later batch than those buffered. */
  def addToLogs(buffered: Version, next: Version): Version =
    if (!combinesLogs || isApart(buffered, next)) addUncombined(buffered, next)
    else owned(merge(buffered, next), buffered, next)

  /** The same for versions that must not be combined. */
  def addUncombined(buffered: Version, next: Version): Version = next.copy().after(buffered)

  /**
   * Whether the result of a key's versions is one row, even where the key is stored several times: an unconditional
   * delete among the versions removes all stored rows, and what follows it is inserted once.
   */
  def isOneRow(result: Version, versions: Version): Boolean = result.endsHistory && versions.followsUnconditional

  private def isApart(buffered: Version, next: Version): Boolean =
    buffered.isPartial || next.isPartial || buffered.earlier != null ||
      (laws.buffersDeletes && (isBufferedDelete(buffered) || isBufferedDelete(next)))

  private def isBufferedDelete(version: Version): Boolean =
    version.isDelete && (!version.isUnconditional || laws.buffersUnconditional)

  private def owned(result: Version, buffered: Version, next: Version): Version = {
    val followsUnconditional = buffered.combinedUnconditional || next.combinedUnconditional
    // A row that the rule made may refer to the reader's bytes.
    val own = if ((result eq buffered) || (result eq next) || (result.row eq buffered.row)) result else result.copy()
    own.combinedUnconditional = followsUnconditional
    own
  }

  private def endsHistory(version: Version): Boolean =
    version.isUnconditional || (version.isDelete && laws.everyDeleteEndsHistory)

  private def marked(version: Version): Version =
    if (version.isDelete && !laws.marksDeletes) version else version.withoutHistory

  /** The version to insert where nothing is stored. */
  private def inserted(version: Version): Version = {
    val full = if (version.inserts) version.asRow else version
    if (full.isPartial || full.isDelete) full
    else {
      val result = insert(full)
      if (full.endsHistory && (result ne full)) result.withoutHistory else result
    }
  }

  private def merged(older: Version, newer: Version): Version =
    try rule.merge(older, newer)
    catch { case failure: MergerFailure => throw failure.in(fileGroup) }

  private def combined(older: Version, newer: Version): Version =
    try rule.combine(older, newer)
    catch { case failure: MergerFailure => throw failure.in(fileGroup) }

  private def insert(version: Version): Version =
    try rule.insert(version)
    catch { case failure: MergerFailure => throw failure.in(fileGroup) }
}
