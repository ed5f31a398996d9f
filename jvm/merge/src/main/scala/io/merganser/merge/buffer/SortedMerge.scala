// Hot path: one call per row.
package io.merganser.merge.buffer

import io.merganser.merge.{MergeRule, RowLayout, TextBytes, Version}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Versions in ascending order of their key's unsigned bytes; those of one key oldest first. */
trait VersionCursor {

  /** Moves to the next version; false at the end. */
  def next(): Boolean

  /** The current version; filled again by [[next]]. */
  def record: Version
}

object VersionCursor {

  /** @param fill makes a version the one that a row is */
  def of(rows: Iterator[InternalRow])(fill: (Version, InternalRow) => Unit): VersionCursor = new VersionCursor {
    override val record: Version = new Version

    override def next(): Boolean = rows.hasNext && {
      fill(record, rows.next())
      true
    }
  }
}

/**
 * Stored rows and versions, both in key order, merged as streams: memory does not grow with the file.
 *
 * A key that is stored several times meets its versions each time.
 *
 * @param base        stored rows in ascending order of their key's unsigned bytes; a row may be reused by its reader
 * @param versions    what the stored rows meet, in the same order
 * @param combineNew  false keeps every version of a key that is not stored as a row of its own
 * @param meetsStored false puts versions beside stored rows of the same key instead of merging them
 * @param ofBatch     true when the versions are those of one batch, which the rule may combine in a way of its own
 * @param foldsNew    false hands out the versions of a key that is not stored one by one, oldest first, where the rule
 *                    does not combine them: as a log takes them, which another merge folds from the stored row
 * @param keyMemory   bounds the memory of one key's versions that cannot be combined
 */
final class SortedMerge(
    base: Iterator[InternalRow],
    versions: VersionCursor,
    layout: RowLayout,
    rule: MergeRule,
    combineNew: Boolean = true,
    meetsStored: Boolean = true,
    ofBatch: Boolean = true,
    foldsNew: Boolean = true,
    keyMemory: KeyMemory = new KeyMemory
) extends MergeIterator(rule) {
  private[this] val combines             = (if (ofBatch) rule.combinesBatch else rule.laws.associative) && combineNew
  private[this] val keyOrdinal           = layout.keyOrdinal
  private[this] var baseRow: InternalRow = _
  private[this] var baseUsed             = true
  private[this] var waiting              = versions.next()
  private[this] val held                 = new HeldVersion
  private[this] var group: Version       = _ // where hasGroup; a reference is written only where it changes
  private[this] var hasGroup             = false
  private[this] var groupMet             = false
  private[this] var singles              = List.empty[Version]

  // The group's key.
  private[this] var keyBase: AnyRef = _
  private[this] var keyOffset       = 0L
  private[this] var keyBytes        = 0

  /** Versions read so far. */
  var versionCount = 0L

  /** Versions read so far that were not the first of their key; those handed out one by one not counted. */
  var duplicateCount = 0L

  override def next(): Boolean =
    if (singles.nonEmpty) {
      meetSingle()
      true
    } else {
      if (baseUsed) {
        val row = if (base.hasNext) base.next() else null
        if (baseRow ne row) baseRow = row
        baseUsed = false
      }
      if (!hasGroup && waiting) readGroup()
      var order = baseToGroup
      if (groupMet && order != 0) {
        dropGroup()
        if (waiting) readGroup()
        order = baseToGroup
      }
      if (order > 0) meetNew()
      else if (baseRow != null) {
        if (order < 0 || !meetsStored) unchanged(baseRow)
        else {
          meet(baseRow, group, again = groupMet)
          groupMet = true
        }
        baseUsed = true // handed out: the next one is read when the caller comes again
      }
      order > 0 || baseRow != null
    }

  /** Negative: the stored row comes first, or there is neither; zero: their keys are equal; positive: the group comes first. */
  private def baseToGroup: Int =
    if (!hasGroup) -1
    else if (baseRow == null) 1
    else TextBytes.compare(baseRow, keyOrdinal, keyBase, keyOffset, keyBytes)

  private def meetNew(): Unit = {
    val versions = group
    dropGroup()
    if (combineNew && foldsNew) meet(null, versions, again = false)
    else {
      singles = versions.apart
      meetSingle()
    }
  }

  private def meetSingle(): Unit = {
    val single = singles.head.after(null)
    if (foldsNew) meet(null, single, again = false) else passOn(single)
    singles = singles.tail
  }

  private def dropGroup(): Unit = {
    hasGroup = false
    groupMet = false
  }

  private def readGroup(): Unit = {
    keyMemory.clear()
    startWith(held.hold(versions.record))
    versionCount += 1
    waiting = versions.next()
    while (waiting && TextBytes.areEqual(versions.record.row, keyOrdinal, keyBase, keyOffset, keyBytes)) {
      versionCount += 1
      add(versions.record)
      waiting = versions.next()
    }
  }

  private def startWith(version: Version): Unit = {
    hasGroup = true
    if (group ne version) group = version
    version.row match {
      case packed: UnsafeRow =>
        val at = packed.getLong(keyOrdinal)
        keyIs(packed.getBaseObject, packed.getBaseOffset + (at >>> 32), at.toInt)
      case other =>
        val key = layout.key(other)
        keyIs(key.getBaseObject, key.getBaseOffset, key.numBytes)
    }
  }

  private def keyIs(base: AnyRef, offset: Long, bytes: Int): Unit = {
    if (keyBase ne base) keyBase = base
    keyOffset = offset
    keyBytes = bytes
  }

  /** Another version of the group's key. What is held lies in the group that it began, until the next one is begun. */
  private def add(version: Version): Unit =
    if (!combines || group.isPartial || version.isPartial || group.hasEarlier) {
      if (foldsNew) duplicateCount += 1
      val copied = version.copy()
      keyMemory.add(layout.key(copied.row), copied.row)
      startWith(copied.after(group))
    } else {
      duplicateCount += 1
      val combinedUnordered = group.combinedUnordered || version.combinedUnordered
      val result            = if (ofBatch) rule.combine(group, version) else rule.merge(group, version)
      if (result ne group) {
        if (result eq version) startWith(held.hold(version))
        else startWith(if (result.row eq group.row) result else result.copy())
      }
      group.combinedUnordered = combinedUnordered
    }
}
