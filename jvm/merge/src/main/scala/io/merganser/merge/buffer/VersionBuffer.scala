package io.merganser.merge.buffer

import io.merganser.merge.{Version, MergeRule, RowLayout}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

/**
 * Versions of keys, oldest first as they are added, waiting for the stored rows.
 *
 * Versions are combined as they come where the rule is associative; otherwise those of a key are kept apart and folded
 * from the stored row. In memory it is an open-addressed table on the key's bytes. Beyond `bufferBytes` it goes over to
 * sorted runs that Spark's memory manager spills to local disk, and the stored rows are then merged in key order.
 *
 * @param bufferBytes memory for versions before they are sorted and spilled, in bytes. Outside a Spark task there is
 *                    no memory manager to spill with, and everything stays in memory.
 */
final class VersionBuffer(layout: RowLayout, rule: MergeRule, bufferBytes: Long) {
  private[this] val associative         = rule.laws.associative
  private[this] val table               = new KeyTable
  private[this] var usedBytes           = 0L
  private[this] var sorted: SortedSpill = _

  /** Number of keys buffered in memory. */
  def keyCount: Int = table.size

  def isEmpty: Boolean = table.size == 0 && sorted == null

  /** Adds a version newer than all that were added before; its row is copied if it is kept. */
  def add(version: Version): Unit =
    if (sorted != null) sorted.add(version)
    else {
      val entry = table.find(version.row, layout.keyOrdinal)
      if (entry < 0) {
        val copied = version.copy()
        table.put(layout.key(copied.row), copied)
        usedBytes += sizeOf(copied)
      } else combine(entry, table.record(entry), version)
      if (usedBytes > bufferBytes && TaskContext.get() != null) goSorted()
    }

  private def combine(entry: Int, held: Version, version: Version): Unit =
    if (!associative || held.isPartial || version.isPartial || held.hasEarlier) {
      val copied = version.copy().after(held)
      table.replace(entry, layout.key(copied.row), copied)
      usedBytes += sizeOf(copied)
    } else {
      val combinedUnordered = held.combinedUnordered || version.combinedUnordered
      val result            = rule.merge(held, version)
      if (result eq held) held.combinedUnordered = combinedUnordered
      else {
        // A row the rule made may hold on to the reader's bytes.
        val kept = if (result.row eq held.row) result else result.copy()
        kept.combinedUnordered = combinedUnordered
        table.replace(entry, layout.key(kept.row), kept)
        usedBytes += sizeOf(kept) - sizeOf(held)
      }
    }

  private def sizeOf(record: Version): Long = VersionBuffer.OverheadBytes + RowSize.of(record.row)

  private def goSorted(): Unit = {
    sorted = new SortedSpill(layout)
    table.foreach(sorted.addWithEarlier)
    table.clear()
    usedBytes = 0
  }

  /**
   * What the versions come to where they meet the stored rows. Nothing is added afterwards.
   *
   * @param base       stored rows, in any order unless `baseSorted`; a row may be reused by its reader
   * @param baseSorted whether they come in ascending order of their key's unsigned bytes
   */
  def merge(base: Iterator[InternalRow], baseSorted: Boolean): MergeIterator =
    if (sorted == null) new KeyedMerge(base, table, layout, rule)
    else
      new SortedMerge(if (baseSorted) base else SortedSpill.sortByKey(base, layout), sorted.cursor(), layout, rule, ofBatch = false)

  /** The same for stored rows that come in column batches; None once the versions are on disk, where rows have to be sorted. */
  def mergeBatches(): Option[BatchMerge] = if (sorted == null) Some(new BatchMerge(table, layout, rule)) else None

  /** What the versions come to by themselves. */
  def merge(): MergeIterator = merge(Iterator.empty, baseSorted = true)

  /** The version waiting for a key, or null; only while everything is in memory. For tests and explanations. */
  private[merganser] def get(key: UTF8String): Version = {
    val entry = table.find(key)
    if (entry < 0) null else table.record(entry)
  }
}

object VersionBuffer {
  private val OverheadBytes = 120L
}

/** A merge with a table of versions: which of them stored rows have met, and then those that none has. */
private[buffer] abstract class TableMerge(table: KeyTable, rule: MergeRule) extends MergeIterator(rule) {
  private[this] val count = table.size
  private[this] val met   = new Array[Long]((count + 63) / 64) // a bit for each entry
  private[this] var rest  = 0

  protected final def meetAt(row: InternalRow, entry: Int): Unit = {
    val again = (met(entry >> 6) & (1L << entry)) != 0
    met(entry >> 6) |= 1L << entry
    meet(row, table.record(entry), again)
  }

  /** After the stored rows: the next key that is not stored; false at the end. */
  protected final def nextNew(): Boolean = {
    while (rest < count && (met(rest >> 6) & (1L << rest)) != 0) rest += 1
    if (rest >= count) false
    else {
      meet(null, table.record(rest), again = false)
      rest += 1
      true
    }
  }
}

/** Stored rows stream past a table of versions; what no stored row met comes after them. No order is promised. */
private final class KeyedMerge(base: Iterator[InternalRow], table: KeyTable, layout: RowLayout, rule: MergeRule)
    extends TableMerge(table, rule) {
  private[this] val keyOrdinal = layout.keyOrdinal

  override def next(): Boolean =
    if (base.hasNext) {
      val row   = base.next()
      val entry = table.find(row, keyOrdinal)
      if (entry < 0) unchanged(row) else meetAt(row, entry)
      true
    } else nextNew()
}
