// Hot path: one lookup per stored row.
package io.merganser.merge.buffer

import io.merganser.merge.{KeyFold, RowLayout}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

/**
 * The merge for stored rows that come in column batches: rows that no version touches stay in their batch, and only the
 * touched ones become rows and are merged.
 *
 * For each batch: [[take]] it, use its [[untouched]] rows, and call [[next]] until it is false before taking another.
 * After the last one, [[finish]], and [[next]] moves on to the keys that are not stored.
 */
abstract class BatchMerge private[buffer] (versions: KeyedVersions, layout: RowLayout, fold: KeyFold)
    extends TableMerge(versions, fold) {
  private[this] var batch: ColumnarBatch = _
  private[this] var touched              = new Array[Int](0)
  private[this] var entries              = new Array[Int](0)
  private[this] var touchedCount         = 0
  private[this] var at                   = 0
  private[this] var others               = new Array[Int](0)
  private[this] var isFinished           = false

  /** Matches the rows of a batch, with the columns of the layout; returns how many of them no version touches. */
  final def take(newBatch: ColumnarBatch): Int = {
    batch = newBatch
    val rows = newBatch.numRows
    if (touched.length < rows) {
      touched = new Array[Int](rows)
      entries = new Array[Int](rows)
    }
    touchedCount = 0
    at = 0
    find(newBatch.column(layout.keyOrdinal), rows)
    rows - touchedCount
  }

  /** Finds the rows with an entry, in ascending order. */
  protected def find(keys: ColumnVector, rows: Int): Unit

  protected final def touch(position: Int, entry: Int): Unit = {
    touched(touchedCount) = position
    entries(touchedCount) = entry
    touchedCount += 1
  }

  /** Positions of the batch's rows that no version touches, as many as [[take]] returned; until the next batch. */
  final def untouched: Array[Int] = {
    val rows = batch.numRows
    if (others.length < rows) others = new Array[Int](rows)
    var count = 0
    var next  = 0
    var i     = 0
    while (i < rows) {
      if (next < touchedCount && touched(next) == i) next += 1
      else {
        others(count) = i
        count += 1
      }
      i += 1
    }
    others
  }

  /** Position in the batch of the stored row that the last [[next]] merged. */
  final def position: Int = touched(at - 1)

  /** No batch follows: keys that were not matched are new. */
  final def finish(): Unit = isFinished = true

  final override def next(): Boolean =
    if (at < touchedCount) {
      val row: InternalRow = batch.getRow(touched(at))
      mergeAt(row, entries(at))
      at += 1
      true
    } else isFinished && nextNew()
}

/** Rows in any order. */
private[buffer] final class HashedBatchMerge(table: KeyTable, layout: RowLayout, fold: KeyFold)
    extends BatchMerge(table, layout, fold) {

  override protected def find(keys: ColumnVector, rows: Int): Unit = {
    var i = 0
    while (i < rows) {
      val entry = table.find(keys.getUTF8String(i))
      if (entry >= 0) touch(i, entry)
      i += 1
    }
  }
}

/** Rows in ascending order of their key's unsigned bytes: most are passed without a look at their keys. */
private[buffer] final class SortedBatchMerge(versions: KeyRuns, layout: RowLayout, fold: KeyFold)
    extends BatchMerge(versions, layout, fold) {
  private[this] val count   = versions.size
  private[this] var entry   = 0 // the first one whose key is not below those of the rows before
  private[this] var areLike = false

  override protected def find(keys: ColumnVector, rows: Int): Unit = {
    // What the first and the last one begin with, all begin with.
    areLike = rows > 0 && versions.isAlike(keys.getUTF8String(0)) && versions.isAlike(keys.getUTF8String(rows - 1))
    var i = 0
    while (i < rows && entry < count) {
      val order = compare(keys, i)
      if (order < 0) i = firstFrom(keys, i, rows)
      else if (order > 0) entry += 1
      else {
        touch(i, entry)
        i += 1
      }
    }
  }

  /** The first row that is not below the entry's key, in steps that double. @param below a row that is below it */
  private def firstFrom(keys: ColumnVector, below: Int, rows: Int): Int = {
    var low  = below
    var step = 1
    while (low + step < rows && compare(keys, low + step) < 0) {
      low += step
      step *= 2
    }
    var high = Math.min(low + step, rows)
    while (high - low > 1) {
      val middle = (low + high) >>> 1
      if (compare(keys, middle) < 0) low = middle else high = middle
    }
    high
  }

  private def compare(keys: ColumnVector, row: Int): Int =
    if (areLike) versions.compareAlike(keys.getUTF8String(row), entry)
    else versions.compare(keys.getUTF8String(row), entry)
}
