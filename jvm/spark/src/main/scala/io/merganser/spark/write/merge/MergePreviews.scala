package io.merganser.spark.write.merge

import io.merganser.merge.{KeyFold, RowLayout, Version}
import io.merganser.merge.buffer._
import io.merganser.table.explain.PreviewRows
import io.merganser.table.rule.StoredRule
import io.merganser.table.slice.{FileSlice, SliceReader}
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
    new PreviewRows(rule, layout, columns, zone, rows, partitionPath, looksUp)
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

/** Collects the outcomes of the merge of a base file. */
private[merge] final class BasePreview(layout: RowLayout, seen: SeenVersions, previews: PreviewRows) {

  def see(merge: SortedMerge): Unit = if (merge.outcome != Outcome.Unchanged) {
    val after    = if (merge.isLive) merge.row else null
    val versions = seen.of(layout.key(merge.row))
    val outcome  = Outcome.shown(merge.decision)
    val step =
      if (merge.outcome == Outcome.Refused) TraceStep(versions.last, merge.winner, merge.winner, outcome)
      else TraceStep(versions.last, PreviewRows.stored(merge.storedRow), result(versions.last, merge, after), outcome)
    previews.add(outcome, step, versions.count, merge.storedRow, after)
  }

  /** The winner is the version itself, unless the rule made a row of it. */
  private def result(version: Version, merge: SortedMerge, after: InternalRow): Version = {
    val isWhole = merge.winner != null && version.row == merge.winner.row
    if (isWhole) version else if (after != null) PreviewRows.stored(after) else merge.winner
  }
}

/**
 * What the versions that are appended to a log do to the rows that readers see: they are merged with what each key is,
 * a row or a delete, one after the other as [[TracedMerge]] does.
 *
 * @param columns the table's data columns, which come first in rows
 */
private[merge] final class LogPreview(
    stored: SliceReader,
    slice: FileSlice,
    layout: RowLayout,
    columns: StructType,
    fold: KeyFold,
    seen: SeenVersions,
    previews: PreviewRows
) extends Closeable {
  private[this] val states          = stored.keyStates(slice)
  private[this] val width           = stored.input.schema.length
  private[this] var state           = if (states.hasNext) states.next() else null
  private[this] var key: UTF8String = _
  private[this] var traces          = Seq.empty[TracedMerge]
  private[this] var versions        = 1
  private[this] val tally           = new MergeTally(new RowEquality(columns))

  def see(merge: SortedMerge): Unit = if (merge.winner != null) add(merge.winner)

  /** Counts of the keys, as readers see their rows. */
  def result: MergeCounts = {
    end()
    MergeCounts.of(tally)
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
    traces = (if (found.isEmpty) Seq(null) else found.toSeq).map(new TracedMerge(fold, _))
  }

  private def end(): Unit = {
    traces.filter(_.next()).foreach { merge =>
      tally.add(merge)
      previews.add(Outcome.shown(merge.decision), merge.deciding, versions, merge.storedRow,
        if (merge.isLive) merge.row else null)
    }
    traces = Nil
    key = null
  }
}
