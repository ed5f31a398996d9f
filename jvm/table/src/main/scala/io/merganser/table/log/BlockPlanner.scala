package io.merganser.table.log

import io.merganser.merge.{DeleteCheck, RowLayout, Version}
import io.merganser.merge.buffer.{MergeIterator, RowSize}
import io.merganser.table.base.EventTimes
import io.merganser.table.schema.MetaColumns
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.mutable

/** What one block of a log file holds. */
private sealed trait BlockKind

private object BlockKind {

  /** Rows of all columns. */
  case object FullRows extends BlockKind

  /**
   * Rows that provide the same columns.
   *
   * @param provided by position in the merge's layout
   * @param inserts  whether they are rows of their own where nothing is stored
   */
  final class PartialRows(val provided: Array[Boolean], val inserts: Boolean) extends BlockKind {
    override def equals(other: Any): Boolean = other match {
      case that: PartialRows => inserts == that.inserts && java.util.Arrays.equals(provided, that.provided)
      case _                 => false
    }
    override def hashCode: Int = java.util.Arrays.hashCode(provided)
  }

  /** Deletes, all of them with an ordering value, or all of them without. */
  final case class Deletes(areOrdered: Boolean) extends BlockKind
}

/** A block to come, and what was put into it so far. */
private final class PlannedBlock(val kind: BlockKind) {
  val rows    = mutable.ArrayBuffer.empty[InternalRow]
  val deletes = mutable.ArrayBuffer.empty[LogDelete]
}

/**
 * Lays the versions of a batch into the blocks of one log file, so that those of a key are read in the order in which they
 * came: readers take a file's blocks one after the other, and a block's records too.
 *
 * The versions come key by key. Each goes to the first block of its kind that does not lie before the last one of its key.
 * The first block takes rows as they come and is written on the way; the others wait in memory. When they have grown to
 * `bufferBytes`, they are written after the current key, and the next key begins with blocks of its own. So memory holds
 * that much and the versions of one key.
 *
 * @param merge             the versions, one for each step; of a key, oldest first
 * @param takesPartials     false where the log knows no rows of some columns; one that is still partial changes nothing then
 * @param storedDeletes     tells a delete by what the file keeps of its row
 * @param keepsDeletedRows  true where the rule looks at more of a delete than its ordering value: one whose row says itself
 *                          that it is a delete is then written as that row
 * @param schema            the table's data columns
 * @param times             gathers the event times of the rows
 */
private[table] final class BlockPlanner(
    merge: MergeIterator,
    layout: RowLayout,
    storedDeletes: DeleteCheck,
    keepsDeletedRows: Boolean,
    takesPartials: Boolean,
    schema: StructType,
    partitionPath: String,
    meta: MetaRow,
    times: EventTimes,
    bufferBytes: Long = BlockPlanner.BufferBytes
) {
  private[this] val width                          = schema.length
  private[this] val orderingFields                 = StructType(layout.ordering.map(_.leaf))
  private[this] val partition                      = UTF8String.fromString(partitionPath)
  private[this] var version: Version               = advance()
  private[this] var first: BlockKind               = _
  private[this] var partial: BlockKind.PartialRows = _
  private[this] val later                          = mutable.ArrayBuffer.empty[PlannedBlock]
  private[this] var laterBytes                     = 0L
  private[this] var key: UTF8String                = _
  private[this] var last                           = 0
  private[this] var ahead: InternalRow             = _

  /** True when there is nothing to write. */
  def isEmpty: Boolean = version == null

  def write(writer: LogWriter): Unit = while (version != null) {
    first = null
    last = 0
    val streamed = new Streamed
    if (streamed.hasNext) rows(writer, first, streamed)
    later.foreach { block =>
      block.kind match {
        case _: BlockKind.Deletes => writer.deleteBlock(block.deletes.iterator, orderingFields)
        case kind                 => rows(writer, kind, block.rows.iterator)
      }
    }
    later.clear()
    laterBytes = 0
  }

  private def rows(writer: LogWriter, kind: BlockKind, rows: Iterator[InternalRow]): Unit = kind match {
    case partial: BlockKind.PartialRows =>
      val picked = (0 until width).filter(partial.provided(_)).toArray
      val types  = picked.map(schema(_).dataType)
      val values = new GenericInternalRow(picked.length)
      val stored = rows.map { row =>
        var i = 0
        while (i < picked.length) {
          values.update(i, RowLayout.valueAt(row, picked(i), types(i)))
          i += 1
        }
        meta.joined(row, width, values)
      }
      writer.partialBlock(MetaColumns.before(StructType(picked.map(schema(_)))), stored, partial.inserts)
    case _ => writer.dataBlock(rows.map(meta.joined(_, width)))
  }

  /** The rows of the first block. It ends with the versions, or where the others are full and another key begins. */
  private final class Streamed extends Iterator[InternalRow] {
    private[this] var isTaken = false

    override def hasNext: Boolean = {
      if (isTaken) {
        version = advance() // not earlier: it overwrites the row that was taken
        isTaken = false
      }
      while (ahead == null && version != null && !isFull) {
        place(version)
        if (ahead == null) version = advance()
      }
      ahead != null
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException("no more rows")
      val row = ahead
      ahead = null
      isTaken = true
      row
    }
  }

  /** The next version; where they were merged with stored rows, the next that changes one or is a row. */
  private def advance(): Version = {
    var found: Version = null
    while (found == null && merge.next())
      if (takesPartials || merge.winner == null || !merge.winner.isPartial) found = merge.winner
    if (found != null && !found.isDelete) times.add(found.row, found.provided)
    found
  }

  private def isFull: Boolean = laterBytes > bufferBytes && layout.key(version.row) != key

  private def place(version: Version): Unit = {
    val own = layout.key(version.row)
    if (own != key) {
      key = own.copy()
      last = 0
    }
    if (version.endsHistory && !version.isUnordered) delete(null)
    if (version.isDelete) placeDelete(version) else row(version.row, kindOf(version))
  }

  private def kindOf(version: Version): BlockKind =
    if (version.provided == null) BlockKind.FullRows
    else {
      if (partial == null || (partial.provided ne version.provided) || partial.inserts != version.inserts)
        partial = new BlockKind.PartialRows(version.provided, version.inserts)
      partial
    }

  private def placeDelete(version: Version): Unit = {
    // Other readers know no null among the ordering values of a delete block, so such a delete stays a row as well.
    val isRow =
      !version.isUnordered && (keepsDeletedRows || orderingHasNull(version.row)) && storedDeletes.isDelete(version.row)
    if (isRow) row(version.row, BlockKind.FullRows)
    else delete(if (version.isUnordered) null else orderingOf(version.row))
  }

  private def row(row: InternalRow, kind: BlockKind): Unit =
    if (last == 0 && (first == null || first == kind)) {
      first = kind
      ahead = row
    } else {
      val copied = row.copy()
      block(kind).rows += copied
      laterBytes += RowSize.of(copied)
    }

  private def delete(ordering: Array[Any]): Unit = {
    block(BlockKind.Deletes(ordering != null)).deletes += LogDelete(key, partition, ordering)
    laterBytes += BlockPlanner.DeleteBytes + key.numBytes
  }

  /** The first block of the kind that is not before the key's last one; blocks are counted from 1, after the first. */
  private def block(kind: BlockKind): PlannedBlock = {
    var i = math.max(last, 1)
    while (i <= later.size && later(i - 1).kind != kind) i += 1
    if (i > later.size) later += new PlannedBlock(kind)
    last = i
    later(i - 1)
  }

  private def orderingHasNull(row: InternalRow): Boolean = layout.ordering.exists(_.valueIn(row) == null)

  private def orderingOf(row: InternalRow): Array[Any] =
    if (layout.ordering.isEmpty) null
    else layout.ordering.map(field => InternalRow.copyValue(field.valueIn(row)))
}

private object BlockPlanner {

  /** Memory for blocks that wait. */
  private val BufferBytes = 64L << 20

  /** About what a delete takes besides its key. */
  private val DeleteBytes = 150L
}
