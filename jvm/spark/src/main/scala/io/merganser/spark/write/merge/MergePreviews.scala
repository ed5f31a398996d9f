package io.merganser.spark.write.merge

import io.merganser.merge.{KeyFold, OrderingComparator, RowLayout, Version}
import io.merganser.merge.buffer.{KeyTrace, MergeIterator, Outcome, SortedMerge, TraceStep, VersionCursor}
import io.merganser.table.explain.PreviewRows
import io.merganser.table.rule.StoredRule
import io.merganser.table.slice.{FileSlice, RowEquality, SliceReader}
import io.merganser.table.timeline.MergeCounts
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import java.io.Closeable

import scala.collection.mutable

/**
 * How a dry run looks at the merges of a write.
 *
 * @param rows    most rows to show of each outcome and file group
 * @param zone    in which timestamps are shown
 * @param columns the table's data columns
 * @param stored  reads what is stored with all columns, to merge it with what is appended to logs
 */
final case class Previewing(rows: Int, zone: String, rule: StoredRule, columns: StructType, stored: SliceReader) {

  def open(layout: RowLayout, partitionPath: String, looksUp: Boolean): PreviewRows =
    new PreviewRows(rule, layout, columns, zone, rows, partitionPath, looksUp, stored.laws)
}

/** Versions as they are read, with the last one of the current key and of the key before it. */
private[merge] final class SeenVersions(versions: VersionCursor, layout: RowLayout) extends VersionCursor {
  private[this] var current, previous: SeenVersions.OfKey = _

  override def record: Version = versions.record

  override def next(): Boolean = versions.next() && {
    val key = layout.key(record.row)
    if (current == null || current.key != key) {
      previous = current
      current = new SeenVersions.OfKey(key.copy())
    }
    current.last = record.copy()
    current.count += 1
    true
  }

  /** Null if the key is neither of the two. */
  def of(key: UTF8String): SeenVersions.OfKey =
    if (current != null && current.key == key) current
    else if (previous != null && previous.key == key) previous
    else null
}

private[merge] object SeenVersions {
  final class OfKey(val key: UTF8String) {
    var last: Version = _
    var count         = 0
  }
}

/** A merge, unchanged, each step of which is looked at. */
private[merge] final class FollowedMerge(followed: SortedMerge, fold: KeyFold)(see: SortedMerge => Unit)
    extends MergeIterator(fold) {

  override def next(): Boolean = followed.next() && {
    follow(followed)
    see(followed)
    true
  }
}

/**
 * Collects the outcomes of the merge of a base file.
 *
 * @param ordering null under a rule without ordering
 */
private[merge] final class BasePreview(
    layout: RowLayout,
    ordering: OrderingComparator,
    seen: SeenVersions,
    previews: PreviewRows
) {

  private[this] var refused = 0L

  def see(merge: SortedMerge): Unit = if (merge.outcome != Outcome.Unchanged) {
    val isRefused = merge.refusedCount > refused
    refused = merge.refusedCount
    val after    = if (merge.isLive) merge.row else null
    val versions = seen.of(layout.key(merge.row))
    if (isRefused) {
      val step = TraceStep(versions.last, merge.winner, merge.winner, Outcome.Late)
      previews.add(Outcome.Late, step, versions.count, before = null, after = null)
    } else {
      val isIgnored = merge.outcome == Outcome.Late && merge.isIgnoredDelete(ordering)
      previews.add(if (isIgnored) Outcome.Ignored else merge.outcome, step(merge, after), versions.count,
        merge.storedRow, after)
    }
  }

  /** The winner is the version itself, unless the rule made a row of it. */
  private def step(merge: SortedMerge, after: InternalRow): TraceStep = {
    val version = seen.of(layout.key(merge.row)).last
    val isWhole = merge.winner != null && version.row == merge.winner.row
    val result  = if (isWhole) version else if (after != null) PreviewRows.stored(after) else merge.winner
    TraceStep(version, PreviewRows.stored(merge.storedRow), result, merge.outcome)
  }
}

/**
 * What the versions that are appended to a log do to the rows that readers see: they are merged with what each key is,
 * a row or a delete, one after the other as [[KeyTrace]] does.
 *
 * @param columns  the table's data columns, which come first in rows
 * @param ordering null under a rule without ordering
 */
private[merge] final class LogPreview(
    stored: SliceReader,
    slice: FileSlice,
    layout: RowLayout,
    columns: StructType,
    fold: KeyFold,
    ordering: OrderingComparator,
    seen: SeenVersions,
    previews: PreviewRows
) extends Closeable {
  private[this] val states          = stored.keyStates(slice)
  private[this] val width           = stored.schema.length
  private[this] var state           = if (states.hasNext) states.next() else null
  private[this] var key: UTF8String = _
  private[this] var traces          = Seq.empty[StateTrace]
  private[this] var versions        = 1
  private[this] var counts          = MergeCounts()
  private[this] val equality        = new RowEquality(columns)

  def see(merge: SortedMerge): Unit = if (merge.winner != null) add(merge.winner)

  /** Counts of the keys, as readers see their rows. */
  def result: MergeCounts = {
    end()
    counts
  }

  override def close(): Unit = states.close()

  private def add(version: Version): Unit = {
    val own = layout.key(version.row)
    if (own != key) {
      end()
      begin(own.copy())
    }
    versions = Option(seen.of(own)).fold(versions)(_.count)
    traces.foreach(_.add(version.copy()))
  }

  private def begin(own: UTF8String): Unit = {
    key = own
    val found = mutable.ArrayBuffer.empty[Version]
    while (state != null && layout.key(state).compareTo(key) <= 0) {
      if (layout.key(state) == key)
        found += new Version().set(state.copy(), state.getBoolean(width), state.getBoolean(width + 1))
      state = if (states.hasNext) states.next() else null
    }
    traces = if (found.isEmpty) Seq(new StateTrace(null)) else found.map(new StateTrace(_)).toSeq
  }

  private def end(): Unit = {
    if (key != null) traces.foreach(_.end(versions))
    traces = Nil
    key = null
  }

  private final class StateTrace(before: Version) {
    private[this] val trace           = new KeyTrace(fold, before)
    private[this] var last: TraceStep = _
    private[this] var isAllLate       = ordering != null && rowOf(before) != null

    /** Keeps the step of the version that decided. */
    def add(version: Version): Unit = {
      val step = trace.add(version)
      if (last == null || step.outcome != Outcome.Late) last = step
      isAllLate = isAllLate && ordering.isLate(version, before.row)
    }

    def end(versions: Int): Unit = {
      val (older, newer) = (rowOf(before), rowOf(trace.live))
      val outcome        = outcomeOf(older, newer)
      val isUpdated      = outcome == Outcome.Updated
      val isIgnored      = outcome == Outcome.Absent && last.outcome == Outcome.Unchanged
      val isIgnoredDelete = outcome == Outcome.Late && older != null && fold.ignoresDeletes &&
        MergeIterator.isIgnoredDelete(last.version, older, ordering)
      counts += MergeCounts(
        inserted = one(outcome == Outcome.Inserted),
        updated = one(outcome == Outcome.Updated),
        late = one(outcome == Outcome.Late && !isIgnoredDelete),
        deleted = one(outcome == Outcome.Deleted),
        ties = one(isUpdated && ordering != null && ordering.compare(older, newer) == 0 && !isAllLate),
        filled = one(isUpdated && (last.after.row ne last.version.row)),
        noOps = one(isIgnored || (isUpdated && equality.areEqual(older, newer))),
        tombstones = one(older == null && newer == null && !isIgnored)
      )
      previews.add(if (isIgnoredDelete) Outcome.Ignored else outcome, last, versions, older, newer)
    }

    private def outcomeOf(older: InternalRow, newer: InternalRow): Int =
      if (older == null && newer == null) {
        if (last.outcome == Outcome.Late) Outcome.Late else Outcome.Absent
      } else if (older == null) Outcome.Inserted
      else if (newer == null) Outcome.Deleted
      else if (newer eq older) Outcome.Late
      else Outcome.Updated

    private def rowOf(version: Version): InternalRow =
      if (version == null || version.isDelete) null else version.row

    private def one(is: Boolean): Long = if (is) 1L else 0L
  }
}
