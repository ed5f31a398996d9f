package io.merganser.merge.buffer

import io.merganser.merge.{KeyFold, Version}

/**
 * Merges the versions of one key one by one, as [[KeyTrace]] does, and is then the merge of all of them: of one key, to
 * which [[next]] moves.
 *
 * @param before what the key was: a row or a delete; null where nothing was there
 */
final class TracedMerge(fold: KeyFold, before: Version) extends MergeIterator(fold) {
  private[this] val trace   = new KeyTrace(fold, before)
  private[this] var isAtEnd = false

  /** The last version that changed the key; the last of all if none did. */
  var deciding: TraceStep = _

  /** @param version with a row of its own, which is kept */
  def add(version: Version): Unit = {
    val step = trace.add(version)
    newest = version.after(newest)
    if (deciding == null || !isLost(step) || isLost(deciding)) deciding = step
  }

  private def isLost(step: TraceStep): Boolean = step.outcome == Outcome.Late || step.outcome == Outcome.Ignored

  override def next(): Boolean = !isAtEnd && newest != null && {
    isAtEnd = true
    val result = if (trace.live == null) null else trace.live.row
    storedRow = if (before == null || before.isDelete) null else before.row
    winner = if (deciding.outcome == Outcome.Unchanged) deciding.version else deciding.after
    row = if (result == null) winner.row else result
    outcome =
      if (storedRow == null && result == null) { if (isLost(deciding)) Outcome.Refused else Outcome.Absent }
      else if (storedRow == null) Outcome.Inserted
      else if (result == null) Outcome.Deleted
      else if (result eq storedRow) Outcome.Late
      else Outcome.Updated
    true
  }
}
