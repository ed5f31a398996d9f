// Hot path: one call per row.
package io.merganser.merge.buffer

import io.merganser.merge.{KeyFold, RowLayout, StringBytes, Version}
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

  /** @param fill sets a version to one of the sources */
  def of[T](sources: Iterator[T])(fill: (Version, T) => Unit): VersionCursor = new VersionCursor {
    override val record: Version = new Version

    override def next(): Boolean = sources.hasNext && {
      fill(record, sources.next())
      true
    }
  }
}

/**
 * Stored rows and versions, both in key order, merged as streams: memory does not grow with the file. The companion
 * object has a method for each use.
 *
 * A key that is stored several times is merged with its versions each time.
 *
 * @param base      stored rows in ascending order of their key's unsigned bytes; a row may be reused by its reader
 * @param versions  in the same order
 * @param keyMemory limits the memory of one key's versions that cannot be combined
 */
final class SortedMerge private (
    base: Iterator[InternalRow],
    versions: VersionCursor,
    layout: RowLayout,
    fold: KeyFold,
    newKeys: SortedMerge.NewKeys,
    storedKeys: SortedMerge.StoredKeys,
    keyMemory: KeyMemory,
    deletes: StoredDeletes = null
) extends MergeIterator(fold) {
  import SortedMerge._

  private[this] val combines             = newKeys != NewKeys.EachIsRow
  private[this] val foldsNew             = newKeys != NewKeys.Emitted
  private[this] val isBeside             = storedKeys == StoredKeys.Beside
  private[this] val isOfLogs             = storedKeys == StoredKeys.MergedWithLogs
  private[this] val keyOrdinal           = layout.keyOrdinal
  private[this] var baseRow: InternalRow = _
  private[this] var baseUsed             = true
  private[this] var waiting              = versions.next()
  private[this] val buffer               = new BufferedVersion
  private[this] var group: Version       = _ // valid if hasGroup; a reference is written only where it changes
  private[this] var hasGroup             = false
  private[this] var groupMatched         = false
  private[this] var singles              = List.empty[Version]

  // The group's key.
  private[this] var keyBase: AnyRef = _
  private[this] var keyOffset       = 0L
  private[this] var keyBytes        = 0

  /** Versions read so far. */
  var versionCount = 0L

  /** Versions read so far that were not the first of their key; without late ones, and those emitted one by one. */
  var duplicateCount = 0L

  /** Versions of logs that lost to an earlier one of their key, with which they were combined. */
  var lateCount = 0L

  override def next(): Boolean = {
    var step = Again
    while (step == Again)
      if (hasGroup && (!baseUsed || base.hasNext)) {
        val row   = if (baseUsed) base.next() else baseRow
        val order = StringBytes.compare(row, keyOrdinal, keyBase, keyOffset, keyBytes)
        if (order < 0 && !groupMatched) {
          unchanged(row)
          baseUsed = true // the caller has it now: the next one is read when it calls again
          step = AtKey
        } else {
          if (baseRow ne row) baseRow = row
          baseUsed = false
          step = advance(order)
        }
      } else step = advance(order = 1)
    step == AtKey
  }

  /**
   * What [[next]] does unless a stored row comes before the group's key. Most rows of most files do: the JIT compiles
   * them to a short loop, because it inlines no method of this one's size. In parts that it inlines, or not, by the
   * history of the process, the same merge took up to twice the time.
   *
   * @param order of the stored row and the group, if there are both: zero if their keys are equal, positive if the
   *              group comes first
   */
  private def advance(order: Int): Int = {
    if (groupMatched && order != 0) dropGroup()
    if (singles.nonEmpty) {
      mergeSingle()
      AtKey
    } else if (!hasGroup && waiting) {
      keyMemory.clear()
      startWith(buffer.copyOf(versions.record))
      versionCount += 1
      waiting = versions.next()
      while (waiting && StringBytes.areEqual(versions.record.row, keyOrdinal, keyBase, keyOffset, keyBytes)) {
        versionCount += 1
        add(versions.record)
        waiting = versions.next()
      }
      Again
    } else if (!hasGroup) {
      if (baseUsed) {
        val row = if (base.hasNext) base.next() else null
        if (baseRow ne row) baseRow = row
      }
      baseUsed = baseRow != null
      if (baseUsed) {
        unchanged(baseRow)
        AtKey
      } else AtEnd
    } else if (order > 0) {
      val versions = group
      dropGroup()
      if (newKeys == NewKeys.Merged) {
        val delete = if ((deletes eq null) || isBeside) null else deletes.find(layout.key(versions.row))
        if (delete eq null) merge(null, versions, again = false)
        else mergeDeleted(delete, versions)
      } else {
        singles = versions.oldestFirst
        mergeSingle()
      }
      AtKey
    } else {
      if (isBeside) unchanged(baseRow)
      else {
        merge(baseRow, group, again = groupMatched)
        groupMatched = true
      }
      baseUsed = true
      AtKey
    }
  }

  private def mergeSingle(): Unit = {
    val single = singles.head.after(null)
    if (foldsNew) merge(null, single, again = false) else emit(single)
    singles = singles.tail
  }

  private def dropGroup(): Unit = {
    hasGroup = false
    groupMatched = false
  }

  private def startWith(version: Version): Unit = {
    hasGroup = true
    if (group ne version) group = version
    version.row match {
      case packed: UnsafeRow =>
        val at = packed.getLong(keyOrdinal)
        setKey(packed.getBaseObject, packed.getBaseOffset + (at >>> 32), at.toInt)
      case other =>
        val key = layout.key(other)
        setKey(key.getBaseObject, key.getBaseOffset, key.numBytes)
    }
  }

  private def setKey(base: AnyRef, offset: Long, bytes: Int): Unit = {
    if (keyBase ne base) keyBase = base
    keyOffset = offset
    keyBytes = bytes
  }

  /**
   * Adds a version of the group's key. If buffered, it reuses the memory of the group's first version, until the next
   * group begins.
   */
  private def add(version: Version): Unit = {
    val result =
      if (!combines) fold.addUncombined(group, version)
      else if (isOfLogs) fold.addToLogs(group, version)
      else fold.addToBatch(group, version)
    val isUncombined = result.isBehind(group)
    if (isOfLogs && fold.isLate(group, version, result)) lateCount += 1
    else if (!group.isRetained && (foldsNew || !isUncombined)) duplicateCount += 1
    if (isUncombined) {
      keyMemory.add(layout.key(result.row), result.row)
      startWith(result)
    } else if (result eq version) startWith(buffer.copyOf(version))
    else if (result ne group) startWith(result)
  }
}

object SortedMerge {
  private final val Again = 0
  private final val AtKey = 1
  private final val AtEnd = 2

  /** What becomes of the versions of a key that is not stored. */
  private sealed trait NewKeys

  private object NewKeys {

    /** They are merged into one row. */
    case object Merged extends NewKeys

    /** Each is a row. */
    case object EachIsRow extends NewKeys

    /** They are combined as far as the rule allows, and emitted oldest first. */
    case object Emitted extends NewKeys
  }

  /** What becomes of the versions of a key that is stored. */
  private sealed trait StoredKeys

  private object StoredKeys {

    /** Those of one batch are merged with the stored row. */
    case object Merged extends StoredKeys

    /** Those of logs are merged with the stored row. */
    case object MergedWithLogs extends StoredKeys

    /** They are added beside the stored row. */
    case object Beside extends StoredKeys
  }

  /**
   * A batch that rewrites a base file: its versions are combined, and merged with the stored rows.
   *
   * @param deletes those of keys that have no stored row; null for none
   */
  def rewrite(
      base: Iterator[InternalRow],
      versions: VersionCursor,
      layout: RowLayout,
      fold: KeyFold,
      keyMemory: KeyMemory = new KeyMemory,
      deletes: StoredDeletes = null
  ): SortedMerge = new SortedMerge(base, versions, layout, fold, NewKeys.Merged, StoredKeys.Merged, keyMemory, deletes)

  /** Like [[rewrite]], but each version of a key that is not stored is a row: the batch is not combined. */
  def rewriteUncombined(
      base: Iterator[InternalRow],
      versions: VersionCursor,
      layout: RowLayout,
      fold: KeyFold
  ): SortedMerge =
    new SortedMerge(base, versions, layout, fold, NewKeys.EachIsRow, StoredKeys.Merged, new KeyMemory)

  /** A batch that is combined, and added beside the stored rows, even those of the same keys. */
  def insertBeside(
      base: Iterator[InternalRow],
      versions: VersionCursor,
      layout: RowLayout,
      fold: KeyFold
  ): SortedMerge =
    new SortedMerge(base, versions, layout, fold, NewKeys.Merged, StoredKeys.Beside, new KeyMemory)

  /** Like [[insertBeside]], but each version is a row: the batch is not combined. */
  def insertUncombined(
      base: Iterator[InternalRow],
      versions: VersionCursor,
      layout: RowLayout,
      fold: KeyFold
  ): SortedMerge =
    new SortedMerge(base, versions, layout, fold, NewKeys.EachIsRow, StoredKeys.Beside, new KeyMemory)

  /**
   * A batch for a log: combined as far as the rule allows, and emitted. Readers fold the versions onto the stored
   * row.
   */
  def forLog(versions: VersionCursor, layout: RowLayout, fold: KeyFold): SortedMerge =
    new SortedMerge(Iterator.empty, versions, layout, fold, NewKeys.Emitted, StoredKeys.Merged, new KeyMemory)

  /** The versions of several batches, out of logs, for one log: combined as far as the rule allows, and emitted. */
  def logsForLog(versions: VersionCursor, layout: RowLayout, fold: KeyFold): SortedMerge =
    new SortedMerge(Iterator.empty, versions, layout, fold, NewKeys.Emitted, StoredKeys.MergedWithLogs, new KeyMemory)

  /** The versions of several batches, out of logs, merged with the stored rows. */
  def ofLogs(base: Iterator[InternalRow], versions: VersionCursor, layout: RowLayout, fold: KeyFold): SortedMerge =
    new SortedMerge(base, versions, layout, fold, NewKeys.Merged, StoredKeys.MergedWithLogs, new KeyMemory)
}
