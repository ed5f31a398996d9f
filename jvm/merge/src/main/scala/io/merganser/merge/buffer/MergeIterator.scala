// Hot path: one call per row.
package io.merganser.merge.buffer

import io.merganser.merge.{Version, MergeRule}
import org.apache.spark.sql.catalyst.InternalRow

/** What became of one key when its stored row met its versions. */
object Outcome {

  /** No version: the stored row stays as it is. */
  final val Unchanged = 0

  /** The stored row stays: every version lost against it. */
  final val Kept = 1

  /** A version took the stored row's place. */
  final val Updated = 2

  /** Nothing was stored; a version is the row. */
  final val Inserted = 3

  /** The stored row is gone. */
  final val Deleted = 4

  /** Nothing was stored, and nothing is: the versions come to a delete. */
  final val Absent = 5
}

/**
 * The one merge: stored rows on one side, versions of keys on the other, and for each key what becomes of it.
 *
 * Input combine is this with no stored rows; copy-on-write, compaction and snapshot read give it a base file's rows.
 * They differ in where the versions come from and in what they do with the outcome, in nothing else.
 */
abstract class MergeIterator(rule: MergeRule) {
  private[this] val stored = new Version

  /** One of [[Outcome]]. */
  final var outcome: Int = Outcome.Unchanged

  /** The row that is left; for Deleted and Absent that of the version that won, which is no row of the table. Reused. */
  final var row: InternalRow = _

  /** The stored row the versions met, or null. */
  final var metBase: InternalRow = _

  /** The version that won; null for Unchanged and Kept. */
  final var winner: Version = _

  /** Moves to the next key; false at the end. */
  def next(): Boolean

  /** True when the current key has a row. */
  final def isLive: Boolean = outcome <= Outcome.Inserted

  protected final def unchanged(base: InternalRow): Unit = {
    outcome = Outcome.Unchanged
    handOut(base, base, null)
  }

  /** A reference is written only where it changes: the collector looks at every write, and readers reuse their rows. */
  private def handOut(base: InternalRow, left: InternalRow, won: Version): Unit = {
    if (metBase ne base) metBase = base
    if (row ne left) row = left
    if (winner ne won) winner = won
  }

  /** A version as it came, for another merge to fold. */
  protected final def passOn(version: Version): Unit = {
    metBase = null
    row = version.row
    winner = version
    outcome = if (version.isDelete || version.isPartial) Outcome.Absent else Outcome.Inserted
  }

  /**
   * Where versions of a row meet.
   *
   * @param base     the stored row, or null
   * @param versions the key's newest version, with the earlier ones behind it where they were kept apart
   * @param again    whether they have met another stored row of the key: what comes after a delete without ordering value,
   *                 which removes all of them, is one row
   */
  protected final def meet(base: InternalRow, versions: Version, again: Boolean): Unit = {
    val result =
      if (base == null) versions.foldAlone(rule) else versions.foldOnto(stored.set(base, isDelete = false, isUnordered = false), rule)
    if (result eq stored) {
      outcome = Outcome.Kept
      handOut(base, base, null)
    } else {
      handOut(base, result.row, result)
      // A partial version of a key that is not stored is not a row: nothing brings its other columns back.
      val live = !result.isDelete && !result.isPartial && !(again && result.endsHistory && versions.followsUnordered)
      outcome = if (base == null) { if (live) Outcome.Inserted else Outcome.Absent }
      else if (live) Outcome.Updated
      else Outcome.Deleted
    }
  }
}
