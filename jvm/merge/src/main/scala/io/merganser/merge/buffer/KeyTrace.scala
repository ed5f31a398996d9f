package io.merganser.merge.buffer

import io.merganser.merge.{KeyFold, Version}

/**
 * What became of one version of a key.
 *
 * @param version the version
 * @param before  what it was merged with: a row or a delete; null where nothing was there
 * @param after   what the key was then: a row or a delete; null where there still is nothing
 * @param outcome one of [[Outcome]]: Inserted, Updated, Late, Deleted; Ignored for a delete that the rule ignores,
 *                Absent for one of nothing; Unchanged for a partial version that was ignored, because there is no row
 *                that it belongs to
 */
final case class TraceStep(version: Version, before: Version, after: Version, outcome: Int)

/**
 * Merges the versions of one key one after the other, from the stored row on, and records what became of each.
 *
 * Readers may merge versions with each other first, where the rule allows it; the result is the same.
 *
 * @param stored the stored row, or null
 */
final class KeyTrace(fold: KeyFold, stored: Version) {
  private[this] var current: Version = stored

  /** What the key is after the versions that were added: a row or a delete; null where nothing is there. */
  def result: Version = current

  /** The row, or null if there is none. */
  def live: Version = if (current == null || current.isDelete) null else current

  /** @param version with a row of its own, which is kept */
  def add(version: Version): TraceStep = {
    val before = current
    val merged = if (before == null) fold.alone(version) else fold.merge(before, version)
    val isMade = (merged.row ne version.row) && (before == null || (merged.row ne before.row))
    val after  = if (isMade) merged.copy() else merged
    if (before == null && after.isPartial) TraceStep(version, null, null, Outcome.Unchanged)
    else {
      current = after
      TraceStep(version, before, after, outcome(version, before, after))
    }
  }

  private def outcome(version: Version, before: Version, after: Version): Int = {
    val wasRow = before != null && !before.isDelete
    if (before != null && (after.row eq before.row) && after.isDelete == before.isDelete)
      if (version.isPartial && before.isDelete) Outcome.Unchanged
      else if (wasRow && fold.ignores(version, before.row)) Outcome.Ignored
      else Outcome.Late
    else if (after.isDelete) { if (wasRow) Outcome.Deleted else Outcome.Absent }
    else if (wasRow) Outcome.Updated
    else Outcome.Inserted
  }
}
