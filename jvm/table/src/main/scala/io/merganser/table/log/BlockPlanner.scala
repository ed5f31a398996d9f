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

/** The kind of records in one block of a log file. */
private sealed trait BlockKind

private object BlockKind {

  /** Rows with all columns. */
  case object FullRows extends BlockKind

  /**
   * Partial rows that provide the same columns.
   *
   * @param provided by position in the merge's layout
   * @param inserts  whether rows with a key that is not stored are inserted
   */
  final class PartialRows(val provided: Array[Boolean], val inserts: Boolean) extends BlockKind {
    override def equals(other: Any): Boolean = other match {
      case that: PartialRows => inserts == that.inserts && java.util.Arrays.equals(provided, that.provided)
      case _                 => false
    }
    override def hashCode: Int = java.util.Arrays.hashCode(provided)
  }

  /** Deletes, either all with an ordering value or all without (unconditional). */
  final case class Deletes(areOrdered: Boolean) extends BlockKind
}

/** A block to be written, with its records so far. */
private final class PlannedBlock(val kind: BlockKind) {
  val rows    = mutable.ArrayBuffer.empty[InternalRow]
  val deletes = mutable.ArrayBuffer.empty[LogDelete]
}

/**
 * How versions are stored in a log.
 *
 * @param storedDeletes     recognizes a delete by the columns that the file stores
 * @param writesDeletedRows true if the rule uses columns of a delete other than its ordering value: a delete that is
 *                          recognized by its row is then written as that row
 * @param supportsPartials  false if the log supports full rows only; versions that are still partial are then ignored
 * @param isOfLogs          whether the versions are those of other logs, which all stay what they are
 */
private[table] final case class LogForm(
    storedDeletes: DeleteCheck,
    writesDeletedRows: Boolean,
    supportsPartials: Boolean,
    isOfLogs: Boolean = false
)

/**
 * Distributes the versions of a batch over the blocks of a log file so that readers, which read blocks and their
 * records in order, see the versions of a key in their original order.
 *
 * Versions arrive key by key. Each is assigned to the first block of its kind that is not before the last block of its
 * key. Rows of the first block are written as they arrive; the other blocks are buffered. Once these have grown to
 * `bufferBytes`, they are written after the current key, and the next key starts with new blocks. So memory is bounded
 * by `bufferBytes` plus the versions of one key.
 *
 * @param merge             one version a step; those of a key oldest first
 * @param schema            the table's data columns
 * @param times             collects the event times of the rows
 */
private[table] final class BlockPlanner(
    merge: MergeIterator,
    layout: RowLayout,
    form: LogForm,
    schema: StructType,
    partitionPath: String,
    meta: MetaRow,
    times: EventTimes,
    bufferBytes: Long = BlockPlanner.BufferBytes
) {
  import form._

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
  private[this] var pending: InternalRow           = _

  /** Deletes that were written as rows, once all is written. */
  var deletedRows = 0L

  /** True if there is nothing to write. */
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

  /** The rows of the first block. It ends with the last version, or at the next key when the other blocks are full. */
  private final class Streamed extends Iterator[InternalRow] {
    private[this] var isReturned = false

    override def hasNext: Boolean = {
      if (isReturned) {
        version = advance() // not earlier: it overwrites the returned row
        isReturned = false
      }
      while (pending == null && version != null && !isFull) {
        assign(version)
        if (pending == null) version = advance()
      }
      pending != null
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException("no more rows")
      val row = pending
      pending = null
      isReturned = true
      row
    }
  }

  /** The next version; if they were merged with stored rows, the next full row or delete. */
  private def advance(): Version = {
    var found: Version = null
    while (found == null && merge.next())
      if (supportsPartials || isOfLogs || merge.winner == null || !merge.winner.isPartial) found = merge.winner
    if (found != null && !found.isDelete) times.add(found.row, found.provided)
    found
  }

  private def isFull: Boolean = laterBytes > bufferBytes && layout.key(version.row) != key

  private def assign(version: Version): Unit = {
    val own = layout.key(version.row)
    if (own != key) {
      key = own.copy()
      last = 0
    }
    if (version.endsHistory && !version.isUnconditional) delete(null)
    if (version.isDelete && !(isOfLogs && version.isPartial)) assignDelete(version)
    else row(version.row, kindOf(version))
  }

  private def kindOf(version: Version): BlockKind =
    if (version.provided == null) BlockKind.FullRows
    else {
      if (partial == null || (partial.provided ne version.provided) || partial.inserts != version.inserts)
        partial = new BlockKind.PartialRows(version.provided, version.inserts)
      partial
    }

  private def assignDelete(version: Version): Unit = {
    // Other readers do not support null ordering values in a delete block, so such a delete is written as a row too.
    val isRow =
      !version.isUnconditional && (writesDeletedRows || orderingHasNull(version.row)) && storedDeletes.isDelete(
        version.row)
    if (isRow) {
      deletedRows += 1
      row(version.row, BlockKind.FullRows)
    } else delete(if (version.isUnconditional) null else orderingOf(version.row))
  }

  private def row(row: InternalRow, kind: BlockKind): Unit =
    if (last == 0 && (first == null || first == kind)) {
      first = kind
      pending = row
    } else {
      val copied = row.copy()
      block(kind).rows += copied
      laterBytes += RowSize.of(copied)
    }

  private def delete(ordering: Array[Any]): Unit = {
    block(BlockKind.Deletes(ordering != null)).deletes += LogDelete(key, partition, ordering)
    laterBytes += BlockPlanner.DeleteBytes + key.numBytes
  }

  /** The first block of the kind not before the key's last one. Block 0 is the streamed one; `later` begins with 1. */
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

  /** Memory for buffered blocks, in bytes. */
  private val BufferBytes = 64L << 20

  /** Approximate memory of a delete besides its key, in bytes. */
  private val DeleteBytes = 150L
}
