package io.merganser.merge.buffer

import io.merganser.merge.{KeyFold, RowLayout, Version}
import org.apache.spark.memory.merganser.BufferMemory
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.unsafe.types.UTF8String

import java.io.Closeable
import java.util.Comparator

/**
 * Buffers the versions of logs, oldest first as they are added, until the stored rows are read. Their rows are packed:
 * one array of bytes each, whatever their readers make them of; deletes are copied.
 *
 * In memory they are in runs of ascending keys, as long as these are few; then an open-addressed table on the key's
 * bytes. Beyond `bufferBytes`, or where the task's memory is used up before, it changes to sorted runs that Spark's
 * memory manager spills to local disk, and the stored rows are then merged in key order.
 *
 * @param bufferBytes memory for versions before they are sorted and spilled, in bytes. Outside a Spark task there is
 *                    no memory manager to spill with, and everything stays in memory.
 */
final class VersionBuffer(layout: RowLayout, fold: KeyFold, bufferBytes: Long) extends Closeable {
  private[this] val memory              = BufferMemory.ofTask().orNull
  private[this] var runs                = new KeyRuns(layout) // null once they are in the table
  private[this] val table               = new KeyTable
  private[this] var usedBytes           = 0L
  private[this] var sorted: SortedSpill = _
  private[this] val packed              = new Version
  private[this] lazy val pack           = UnsafeProjection.create(layout.schema)

  // Of the versions in memory.
  private[this] var late                 = 0L
  private[this] var combined             = 0L
  private[this] var uncombined           = 0L
  private[this] var merging: SortedMerge = _

  /** Versions that were added. */
  var versionCount = 0L

  /**
   * Versions of the logs that lost to an earlier one of their key, with which they were combined: they lose whatever
   * the stored row is. Complete at the end of the merge, like [[duplicateCount]].
   */
  def lateCount: Long = late + (if (merging eq null) 0L else merging.lateCount)

  /**
   * The other versions that are in the logs, and have no outcome in the merge, because a later one of their key has it.
   * Deletes that a base file retains are no versions of the logs.
   */
  def duplicateCount: Long = combined + uncombined + (if (merging eq null) 0L else merging.duplicateCount)

  /** Number of keys buffered in memory. */
  def keyCount: Int =
    if (runs == null) table.size
    else {
      sortRuns()
      runs.size
    }

  def isEmpty: Boolean = isInMemory && (if (runs == null) table.size else runs.size) == 0

  /** Whether the versions are not in sorted runs that may be spilled. */
  def isInMemory: Boolean = sorted == null

  /** Adds a version newer than all that were added before; its row is copied if it is buffered. */
  def add(version: Version): Unit = {
    versionCount += 1
    if (sorted != null) sorted.add(version)
    else {
      val next = packedOf(version)
      if (runs == null) addToTable(next, isOwn = false)
      else {
        val own = next.copy()
        usedBytes += sizeOf(own)
        if (!runs.add(own)) {
          moveToTable()
          addToTable(own, isOwn = true)
        }
      }
      if (isFull && (runs == null || { moveToTable(); isFull })) switchToSorted() // the table combines
    }
  }

  // Twice, since there are two copies of the versions while they are sorted.
  private def isFull: Boolean = memory != null && (usedBytes > bufferBytes || !memory.holds(usedBytes * 2))

  /**
   * The same version with a packed row, until the next call. Rows of another width stay as they are, and so do deletes:
   * what they do not provide is null, also where a struct's schema allows none.
   */
  private def packedOf(version: Version): Version = version.row match {
    case _: UnsafeRow                                                    => version
    case row if !version.isDelete && row.numFields == layout.schema.size => packed.become(version, pack(row))
    case _                                                               => version
  }

  /** Releases the memory; call when the merge is at its end. */
  override def close(): Unit = if (memory != null) memory.release()

  /** @param isOwn whether nobody else fills the version again */
  private def addToTable(version: Version, isOwn: Boolean): Unit = {
    val entry = table.find(version.row, layout.keyOrdinal)
    if (entry < 0) {
      val own = if (isOwn) version else version.copy()
      table.put(layout.key(own.row), own)
      usedBytes += sizeOf(own)
    } else {
      val buffered = table.record(entry)
      val result   = addTo(buffered, version)
      if (result ne buffered) {
        val own = if ((result eq version) && !isOwn) result.copy() else result
        table.replace(entry, layout.key(own.row), own)
        usedBytes += sizeOf(own) - (if (own.isBehind(buffered)) 0L else sizeOf(buffered))
      }
    }
  }

  private def addTo(buffered: Version, version: Version): Version = {
    val result = fold.addToLogs(buffered, version)
    if (fold.isLate(buffered, version, result)) late += 1
    else if (!buffered.isRetained) { if (result.isBehind(buffered)) uncombined += 1 else combined += 1 }
    result
  }

  private def moveToTable(): Unit = {
    val moved = runs
    runs = null
    usedBytes = 0
    moved.foreach(addToTable(_, isOwn = true))
  }

  private def sortRuns(): Unit = runs.sort { (buffered, version) =>
    val result = addTo(buffered, version)
    usedBytes += sizeOf(result) - sizeOf(version) - (if (result.isBehind(buffered)) 0L else sizeOf(buffered))
    result
  }

  private def sizeOf(record: Version): Long = VersionBuffer.OverheadBytes + RowSize.of(record.row)

  /** The table's versions. */
  private def switchToSorted(): Unit = {
    // The sorter reserves what it takes over.
    close()
    sorted = new SortedSpill(layout)
    table.foreach(sorted.addWithEarlier)
    table.clear()
    usedBytes = 0
    uncombined = 0 // counted again when they are read
  }

  /**
   * Merges the versions with stored rows. Nothing is added afterwards.
   *
   * @param base       stored rows, in any order unless `baseSorted`; a row may be reused by its reader
   * @param baseSorted whether they come in ascending order of their key's unsigned bytes
   */
  def merge(base: Iterator[InternalRow], baseSorted: Boolean): MergeIterator =
    if (sorted == null) new KeyedMerge(base, complete(), layout, fold)
    else mergeSorted(if (baseSorted) base else SortedSpill.sortByKey(base, layout), sorted.cursor())

  /**
   * Merges the versions with stored rows, both in ascending order of their key's unsigned bytes, into rows of that
   * order.
   *
   * @param base     a row may be reused by its reader
   * @param versions the [[cursor]]
   */
  def mergeSorted(base: Iterator[InternalRow], versions: VersionCursor): MergeIterator =
    counting(SortedMerge.ofLogs(base, versions, layout, fold))

  private def counting(merge: SortedMerge): SortedMerge = {
    merging = merge
    merge
  }

  /** The versions for [[mergeSorted]]. Nothing is added afterwards. */
  def cursor(): VersionCursor =
    if (sorted != null) sorted.cursor()
    else {
      val newest =
        if (runs == null) {
          val versions = Array.tabulate(table.size)(table.record)
          java.util.Arrays.sort(versions, VersionBuffer.byKey(layout))
          versions.iterator
        } else {
          sortRuns()
          Iterator.range(0, runs.size).map(runs.record)
        }
      keepUsed()
      uncombined = 0 // counted again when they are read
      VersionCursor.of(newest.flatMap(_.oldestFirst))(_.become(_))
    }

  /**
   * The same for stored rows in column batches; only while the versions are [[isInMemory in memory]].
   *
   * @param baseSorted as for [[merge]]
   */
  def mergeBatches(baseSorted: Boolean): BatchMerge =
    if (runs == null || !baseSorted) new HashedBatchMerge(complete(), layout, fold)
    else {
      sortRuns()
      keepUsed()
      new SortedBatchMerge(runs, layout, fold)
    }

  private def complete(): KeyTable = {
    if (runs != null) moveToTable()
    keepUsed()
    table
  }

  private def keepUsed(): Unit = if (memory != null) memory.keep(usedBytes)

  /** Merges the versions where nothing is stored. */
  def merge(): MergeIterator = merge(Iterator.empty, baseSorted = true)

  /**
   * The versions for another log, key by key, those of one key oldest first: combined as far as the rule allows while
   * the stored row is not known. Deletes and partial versions stay what they are.
   */
  def emitted(): MergeIterator =
    if (sorted == null) {
      val versions = complete()
      uncombined = 0 // each is emitted
      new EmittedVersions(versions, fold)
    } else counting(SortedMerge.logsForLog(sorted.cursor(), layout, fold))

  /** The newest version buffered for a key, or null; only while everything is in memory. For tests. */
  private[merganser] def get(key: UTF8String): Version = {
    if (runs != null) moveToTable()
    val entry = table.find(key)
    if (entry < 0) null else table.record(entry)
  }
}

object VersionBuffer {
  private val OverheadBytes = 120L

  private def byKey(layout: RowLayout): Comparator[Version] =
    (one, other) => layout.key(one.row).compareTo(layout.key(other.row))
}

/** Each version of a table as it is. */
private final class EmittedVersions(table: KeyTable, fold: KeyFold) extends MergeIterator(fold) {
  private[this] var entry = 0
  private[this] var rest  = List.empty[Version]

  override def next(): Boolean = {
    if (rest.isEmpty && entry < table.size) {
      rest = table.record(entry).oldestFirst
      entry += 1
    }
    rest.nonEmpty && {
      emit(rest.head)
      rest = rest.tail
      true
    }
  }
}

/** A merge with a table of versions: first those whose key is stored, then the others. */
private[buffer] abstract class TableMerge(table: KeyedVersions, fold: KeyFold) extends MergeIterator(fold) {
  private[this] val count   = table.size
  private[this] val matched = new Array[Long]((count + 63) / 64) // a bit for each entry
  private[this] var rest    = 0

  /** Counts the keys that are merged, if it is set. */
  final var tally: MergeTally = _

  protected final def mergeAt(row: InternalRow, entry: Int): Unit = {
    val again = (matched(entry >> 6) & (1L << entry)) != 0
    matched(entry >> 6) |= 1L << entry
    merge(row, table.record(entry), again)
    if (tally ne null) tally.add(this)
  }

  /** After the stored rows: the next key that is not stored; false at the end. */
  protected final def nextNew(): Boolean = {
    while (rest < count && (matched(rest >> 6) & (1L << rest)) != 0) rest += 1
    if (rest >= count) false
    else {
      merge(null, table.record(rest), again = false)
      if (tally ne null) tally.add(this)
      rest += 1
      true
    }
  }
}

/** Stored rows stream past a table of versions; keys that are not stored come after them. No order is promised. */
private final class KeyedMerge(base: Iterator[InternalRow], table: KeyTable, layout: RowLayout, fold: KeyFold)
    extends TableMerge(table, fold) {
  private[this] val keyOrdinal = layout.keyOrdinal

  override def next(): Boolean =
    if (base.hasNext) {
      val row   = base.next()
      val entry = table.find(row, keyOrdinal)
      if (entry < 0) unchanged(row) else mergeAt(row, entry)
      true
    } else nextNew()
}
