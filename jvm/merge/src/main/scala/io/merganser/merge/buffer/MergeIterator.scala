// Hot path: one call per row.
package io.merganser.merge.buffer

import io.merganser.merge.{KeyFold, OrderingComparator, Version}
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

  /**
   * For Updated: whether every version is late-arriving, and changed the row nevertheless, as one does that adds to a
   * sum. The row then has the stored ordering value, and is no tie.
   */
  final def isAllLate(ordering: OrderingComparator): Boolean = {
    var version = newest
    while (version != null && ordering.isLate(version, storedRow)) version = version.earlier
    version == null
  }

  /** For Updated: whether the row has the stored ordering value, and a version that is not late-arriving changed it. */
  final def isTie(ordering: OrderingComparator): Boolean =
    ordering != null && ordering.compare(storedRow, row) == 0 && !isAllLate(ordering)

  /** For Absent: whether the winner is a partial version that belongs to no row; otherwise it is a delete. */
  final def isIgnored: Boolean = winner.isPartial && !winner.isDelete

  /**
   * For Late: whether the newest version is a delete that is not late-arriving, which the rule ignores.
   *
   * @param ordering null under a rule without ordering
   */
  final def isIgnoredDelete(ordering: OrderingComparator): Boolean =
    fold.ignoresDeletes && MergeIterator.isIgnoredDelete(newest, storedRow, ordering)

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

  /**
   * Merges the versions of a key that has no row with the delete that is stored for it.
   *
   * @return whether the delete stays as it is: no version has won
   */
  protected final def mergeDeleted(delete: Version, versions: Version): Boolean = {
    val result = fold.onto(delete, versions)
    keep(versions)
    set(null, result.row, result)
    outcome = if (result.isDelete || result.isPartial) Outcome.Absent else Outcome.Inserted
    result eq delete
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

object MergeIterator {

  /**
   * Whether a version that left the stored row as it is is a delete that is not late-arriving. To be called where the
   * rule [[io.merganser.merge.Laws.ignoresDeletes ignores deletes]]: others may have an order of their own.
   *
   * @param ordering null under a rule without ordering
   */
  def isIgnoredDelete(version: Version, stored: InternalRow, ordering: OrderingComparator): Boolean =
    version.isDelete && (version.isUnconditional || ordering == null || !ordering.isLate(version, stored))
}
