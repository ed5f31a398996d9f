// Hot path: one call per row.
package io.merganser.table.change

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.mutable

/**
 * The changes between two states of one file group: its rows before and after a write, both in ascending order of
 * their key's unsigned bytes, are merged as streams. Memory is that of the rows of one key.
 *
 * A row with the same values before and after is no change, whatever its commit metadata columns are. Of a key that is
 * stored several times, as plain inserts store it, equal rows are paired first; others in their order.
 *
 * @param projections of the rows; not used by another comparison meanwhile
 */
final class ImageComparison(
    before: Iterator[InternalRow],
    after: Iterator[InternalRow],
    projections: ImageProjections
) {
  private[this] val older = new ImageComparison.Side(before, projections.before, projections)
  private[this] val newer = new ImageComparison.Side(after, projections.after, projections)

  private[this] val several = mutable.Queue.empty[(UnsafeRow, UnsafeRow)]

  /** The row before; null for an insert. Reused. */
  var beforeImage: UnsafeRow = _

  /** The row after; null for a delete. Reused. */
  var afterImage: UnsafeRow = _

  /** Moves to the next change; false at the end. */
  def next(): Boolean = {
    var found = false
    while (!found && (several.nonEmpty || older.hasRow || newer.hasRow)) found = step()
    found
  }

  /** True if it is at a change. */
  private def step(): Boolean =
    if (several.nonEmpty) {
      val (from, to) = several.dequeue()
      set(from, to)
    } else {
      val order = if (!older.hasRow) 1 else if (!newer.hasRow) -1 else older.key.compareTo(newer.key)
      if (order < 0) {
        val image = older.image
        older.advance()
        set(image, null)
      } else if (order > 0) {
        val image = newer.image
        newer.advance()
        set(null, image)
      } else pair()
    }

  private def pair(): Boolean = {
    val (from, to) = (older.image, newer.image)
    older.advance()
    newer.advance()
    if (!older.repeats && !newer.repeats) !from.equals(to) && set(from, to)
    else {
      several ++= ImageComparison.paired(older.rest(from), newer.rest(to))
      false
    }
  }

  private def set(from: UnsafeRow, to: UnsafeRow): Boolean = {
    beforeImage = from
    afterImage = to
    true
  }
}

private object ImageComparison {

  /** One of the two states; at a row, unless it is at the end. */
  final class Side(rows: Iterator[InternalRow], side: ImageProjection, projections: ImageProjections) {
    private[this] val keyOrdinal        = projections.keyOrdinal
    private[this] var row               = if (rows.hasNext) rows.next() else null
    private[this] var passed: UnsafeRow = _

    def hasRow: Boolean = row != null

    def key: UTF8String = row.getUTF8String(keyOrdinal)

    /** The row's columns, valid until the next call. */
    def image: UnsafeRow = side.image(row)

    def advance(): Unit = {
      passed = side.key(row)
      row = if (rows.hasNext) rows.next() else null
    }

    /** Whether the row has the key of the one before. */
    def repeats: Boolean = hasRow && key.equals(passed.getUTF8String(0))

    /** Copies of the image that was returned and of those of further rows of its key. */
    def rest(first: UnsafeRow): Seq[UnsafeRow] = {
      val all = mutable.ArrayBuffer(first.copy())
      while (repeats) {
        all += image.copy()
        advance()
      }
      all.toSeq
    }
  }

  /** What changed between the rows of one key, as pairs of images; null where there is none. */
  def paired(before: Seq[UnsafeRow], after: Seq[UnsafeRow]): Seq[(UnsafeRow, UnsafeRow)] = {
    val added = after.toBuffer
    val gone = before.filter { row =>
      val at = added.indexOf(row)
      if (at >= 0) added.remove(at)
      at < 0
    }
    gone.zipAll(added.toSeq, null, null)
  }
}
