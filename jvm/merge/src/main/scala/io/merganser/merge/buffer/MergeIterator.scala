// Hot path: one call per row.
package io.merganser.merge.buffer

import io.merganser.merge.{KeyFold, OrderingField, Version}
import org.apache.spark.sql.catalyst.InternalRow

/**
 * Merges stored rows with the versions of their keys; one outcome for each key.
 *
 * Input combine is this with no stored rows; copy-on-write, compaction and snapshot read add a base file's rows. They
 * differ only in where the versions come from and in what they do with the outcome: [[KeyFold]] decides.
 */
abstract class MergeIterator(fold: KeyFold) {
  private[this] val stored = new Version

  /** One of [[Outcome]]. */
  final var outcome: Int = Outcome.Unchanged

  /** The resulting row; for Deleted and Absent that of the winning version, which is no row of the table. Reused. */
  final var row: InternalRow = _

  /** The stored row that the versions were merged with, or null. */
  final var storedRow: InternalRow = _

  /** The newest of the versions that were merged, with those buffered before it. Not set for Unchanged. */
  final var newest: Version = _

  /** The version that won; null for Unchanged and Late. */
  final var winner: Version = _

  /** Moves to the next key; false at the end. */
  def next(): Boolean

  /** True when the current key has a row. */
  final def isLive: Boolean = outcome <= Outcome.Inserted

  /** For Updated: whether the rule made the row of several versions, so that it is the row of none of them. */
  final def isMade: Boolean = {
    var version = newest
    while (version != null && (version.row ne row)) version = version.earlier
    version == null
  }

  /** The outcome as it is counted and shown: one of [[Outcome]] that may say more than [[outcome]]. */
  final def decision: Int = outcome match {
    case Outcome.Updated =>
      if (!fold.areTied(storedRow, row)) Outcome.Updated
      else if (isAllLate) Outcome.Added
      else Outcome.Tied
    case Outcome.Late => if (fold.ignores(newest, storedRow)) Outcome.Ignored else Outcome.Late
    case Outcome.Absent =>
      if (winner.isPartial && !winner.isDelete) Outcome.Rowless
      else if (!winner.isRetained) Outcome.Absent
      else if (newest.isRetained) Outcome.Uncounted
      else Outcome.Late
    case other => other
  }

  private def isAllLate: Boolean = {
    var version = newest
    while (version != null && fold.isLateArriving(version, storedRow)) version = version.earlier
    version == null
  }

  /** Whether rows have ordering values. */
  final def isOrdered: Boolean = fold.isOrdered

  /** For Late: the field by which the newest version is behind the stored row; null if it is not behind. */
  final def fieldBehind: OrderingField = fold.fieldBehind(newest.row, storedRow)

  /** Takes the current key of another merge. */
  protected final def follow(other: MergeIterator): Unit = {
    outcome = other.outcome
    row = other.row
    storedRow = other.storedRow
    newest = other.newest
    winner = other.winner
  }

  protected final def unchanged(base: InternalRow): Unit = {
    outcome = Outcome.Unchanged
    set(base, base, null)
  }

  /** A reference is written only where it changes: the collector looks at every write, and readers reuse their rows. */
  private def set(base: InternalRow, result: InternalRow, won: Version): Unit = {
    if (storedRow ne base) storedRow = base
    if (row ne result) row = result
    if (winner ne won) winner = won
  }

  private def keep(versions: Version): Unit = if (newest ne versions) newest = versions

  /** Emits a version as it is, for another merge to fold. */
  protected final def emit(version: Version): Unit = {
    storedRow = null
    keep(version)
    row = version.row
    winner = version
    outcome = if (version.isDelete || version.isPartial) Outcome.Absent else Outcome.Inserted
  }

  /** Merges the versions of a key that has no row with the delete that is stored for it. */
  protected final def mergeDeleted(delete: Version, versions: Version): Unit = {
    val result = fold.onto(delete, versions)
    keep(versions)
    set(null, result.row, result)
    outcome =
      if (result eq delete) Outcome.Refused
      else if (result.isDelete || result.isPartial) Outcome.Absent
      else Outcome.Inserted
  }

  /**
   * Merges the versions of a key with one stored row.
   *
   * @param base     the stored row, or null
   * @param versions the key's newest version, with the ones buffered before it
   * @param again    whether they were merged with another stored row of the key already
   */
  protected final def merge(base: InternalRow, versions: Version, again: Boolean): Unit = {
    val result =
      if (base == null) fold.alone(versions)
      else fold.onto(stored.set(base, isDelete = false, isUnconditional = false), versions)
    keep(versions)
    if (result eq stored) {
      outcome = Outcome.Late
      set(base, base, null)
    } else {
      set(base, result.row, result)
      // A partial version of a key that is not stored is not a row: nothing provides its other columns.
      val live = !result.isDelete && !result.isPartial && !(again && fold.isOneRow(result, versions))
      outcome = if (base == null) { if (live) Outcome.Inserted else Outcome.Absent }
      else if (live) Outcome.Updated
      else Outcome.Deleted
    }
  }
}
