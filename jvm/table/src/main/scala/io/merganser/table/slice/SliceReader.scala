package io.merganser.table.slice

import io.merganser.merge.RowLayout
import io.merganser.merge.buffer.SortedRows
import io.merganser.table.schema.MetaColumns
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.sql.types.{BooleanType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

import java.io.Closeable

/** Reads the rows of file slices: base file and log files go through the one merge. */
final class SliceReader(val input: SliceInput) extends Serializable {
  import input._

  /**
   * The slice's live rows, one per record key, in no guaranteed order.
   *
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING if a file was cleaned after the slice was listed
   */
  def rows(slice: FileSlice): SliceRows =
    if (slice.logs.isEmpty) baseRows(slice) else new LiveRows(merge(slice))

  /** The base file's rows, not merged with the logs. */
  def baseRows(slice: FileSlice): SliceRows = {
    val reader = openBase(SlicePart(slice), rowColumns, rowFilters)
    opened(reader.map(_.rows()).getOrElse(Iterator.empty), reader.toSeq)
  }

  /**
   * The slice's live rows in ascending order of their key's unsigned bytes. Rows that are stored in another order are
   * sorted in the task's memory, which spills them to local disk.
   *
   * @param keeps whether the rows of a key are needed; null for all
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING
   */
  def sortedRows(slice: FileSlice, keeps: UTF8String => Boolean): SliceRows = {
    val columns                             = if (slice.logs.isEmpty) requested else schema
    val layout                              = RowLayout(columns, MetaColumns.RecordKey, Nil, Nil)
    def needed(rows: Iterator[InternalRow]) = if (keeps == null) rows else rows.filter(row => keeps(layout.key(row)))
    if (slice.logs.isEmpty) {
      val reader = openBase(SlicePart(slice), rowColumns, rowFilters)
      val rows   = needed(reader.map(_.rows()).getOrElse(Iterator.empty))
      opened(if (reader.forall(_.footer.isSorted)) rows else SortedRows.byKey(rows, layout), reader.toSeq)
    } else {
      val live = rows(slice)
      opened(SortedRows.byKey(needed(live), layout), Seq(live))
    }
  }

  /** Merges the slice's base rows with its log records. */
  def merge(slice: FileSlice): OpenMerge = open(SlicePart(slice), versions(slice))

  /** The same for a base file that replaces the slice's: see [[ReplacedRows]]. */
  def merge(slice: FileSlice, writer: SliceWriter): OpenMerge = openReplaced(slice, versions(slice), writer)

  /** The base file's rows with the columns of [[schema]], as a merge reads them. */
  def storedRows(slice: FileSlice): SliceRows = {
    val reader = openBase(SlicePart(slice), mergeColumns, mergeFilters)
    opened(reader.map(_.rows()).getOrElse(Iterator.empty), reader.toSeq)
  }

  /**
   * The live rows of some keys, in no guaranteed order.
   *
   * @param stored the base file's rows of these keys, with the columns of [[schema]]
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING
   */
  def mergedRows(slice: FileSlice, stored: Iterator[InternalRow], keys: UTF8String => Boolean): SliceRows = {
    val buffer = newBuffer(slice)
    retain(slice, buffer, keys)
    scan(slice, version => if (keys(layout.key(version.row))) buffer.add(version))
    new LiveRows(new OpenMerge(buffer.merge(stored, baseSorted = false), layout, None, buffer, None))
  }

  /**
   * What each key of the slice is, in ascending order of its unsigned bytes: its row, or the delete that removed it,
   * with the columns of [[schema]]. Two columns follow: whether it is a delete, and whether an unconditional one.
   *
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING
   */
  def keyStates(slice: FileSlice): SliceRows = {
    val open   = merge(slice)
    val flags  = new GenericInternalRow(2)
    val joined = new JoinedRow
    val states = Iterator.continually(open.merge).takeWhile(_.next()).filter(merge =>
      merge.isLive || !merge.winner.isPartial).map { merge =>
      flags.update(0, !merge.isLive)
      flags.update(1, !merge.isLive && merge.winner.isUnconditional)
      joined(merge.row, flags)
    }
    opened(SortedRows.byKey(states, SliceReader.withFlags(layout)), Seq(open))
  }

  /** The deletes of slices that are about to be merged into base files: retained ones, and those in their logs. */
  def retainedDeletes(slices: Seq[FileSlice]): Tombstones =
    slices.foldLeft(Tombstones.none) { (all, slice) =>
      val own =
        new TombstoneCollector(tombstones(slice), layout.ordering, layout.keyOrdinal, table.visibility.maxInstant)
      if (slice.logs.nonEmpty) {
        val open = merge(slice)
        try while (open.merge.next()) if (!open.merge.isLive) own.gone(open.merge.winner)
        finally open.close()
      }
      all.newest(own.result, layout, fold(slice.group))
    }

  private def opened(rows: Iterator[InternalRow], open: Seq[Closeable]): SliceRows = new SliceRows {
    override def hasNext: Boolean    = rows.hasNext
    override def next(): InternalRow = rows.next()
    override def close(): Unit       = open.foreach(_.close())
  }
}

private object SliceReader {
  private def withFlags(layout: RowLayout): RowLayout = layout.copy(schema =
    StructType(layout.schema ++ Seq("isDelete", "isUnconditional").map(StructField(_, BooleanType, nullable = false))))
}
