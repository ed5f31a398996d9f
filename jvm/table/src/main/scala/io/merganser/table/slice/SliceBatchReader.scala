package io.merganser.table.slice

import io.merganser.merge.buffer.{MergeTally, VersionBuffer}
import io.merganser.table.base.{BaseFileFooter, RecentRows}
import io.merganser.table.rule.CompiledRule
import io.merganser.table.schema.MetaColumns
import org.apache.spark.sql.execution.merganser.RowsToBatches
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Reads file slices for a scan, in column batches: base file and log files go through the one merge. */
final class SliceBatchReader(input: SliceInput) extends Serializable {
  import input._
  import input.table.rule

  /** What a rule compares that takes each row from one version as a whole. */
  private lazy val decisionColumns = new DerivedColumns(table.config,
    CompiledRule.layoutSchema(new StructType, table.columns, table.config, rule), table.rowKey)

  /**
   * The part's live rows in column batches of the requested columns. Rows without log records are returned as read.
   *
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING
   */
  def batches(part: SlicePart): SliceBatches =
    if (part.slice.logs.isEmpty) baseBatches(part)
    else
      merged(part).fold(SliceBatches(Iterator.empty, Nil))(of => mergedBatches(of.part, versions(part.slice, of.keys)))

  /** The base file's rows, not merged with the logs. */
  def baseBatches(part: SlicePart): SliceBatches = {
    val reader = openBase(part, rowColumns, rowFilters)
    SliceBatches(asRequested(reader.map(_.batches()).getOrElse(Iterator.empty)), reader.toSeq)
  }

  private def asRequested(batches: Iterator[ColumnarBatch]): Iterator[ColumnarBatch] =
    if (rowColumns.schema.length == requested.length) batches
    else batches.map(batch => new ColumnarBatch(Array.tabulate(requested.length)(batch.column(_)), batch.numRows))

  /**
   * The same for a reader that needs rows from a commit time on: others may be missing.
   *
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING
   */
  def recentBatches(part: SlicePart, since: String): SliceBatches = {
    def held(footer: BaseFileFooter) = RecentRows.of(footer).filter(_.hold(since)).map(_.section)
    val reader                       = openBase(part, rowColumns, rowFilters, section = held)
    // Of several ranges of a file, the first one has them.
    val batches = reader.filter(part.start == 0 || !_.readsSection).map(_.batches()).getOrElse(Iterator.empty)
    SliceBatches(asRequested(batches), reader.toSeq)
  }

  private def mergedBatches(part: SlicePart, buffer: VersionBuffer): SliceBatches = {
    val tally = new MergeTally
    tally.versions = buffer.versionCount
    if (buffer.isInMemory) {
      val asksKeys = requested.fieldNames.contains(MetaColumns.RecordKey)
      val reader   = openBase(part, mergeColumns, mergeFilters, keysInPlace = !asksKeys)
      val merge    = buffer.mergeBatches(reader.forall(_.footer.isSorted))
      tally.duplicates = buffer.versionCount - buffer.keyCount
      merge.tally = tally
      val batches = reader.map(_.batches()).getOrElse(Iterator.empty)
      SliceBatches(new MergedBatches(batches, merge, requested), reader.toSeq :+ buffer, tally)
    } else {
      val open = input.open(part, buffer)
      SliceBatches(RowsToBatches(new LiveRows(open, tally), requested, SliceBatchReader.BatchRows), Seq(open), tally)
    }
  }

  /**
   * The same for a reader that needs no row as the base file has it: such rows may be missing. Where each row is one
   * version as a whole, only those columns of the base file are read that decide which, and of a file with distinct
   * keys only row groups and pages with a row that may win.
   *
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING
   */
  def loggedBatches(part: SlicePart): SliceBatches =
    merged(part).fold(SliceBatches(Iterator.empty, Nil))(of => loggedBatches(of.part, of.keys))

  private def loggedBatches(part: SlicePart, keys: KeySpan): SliceBatches = {
    var isWhole = rule.isDecidedByOrdering
    val buffer  = newBuffer(part.slice)
    val decides = new DecidingRows(rule, layout)
    retain(part.slice, buffer, keys.has)
    scan(part.slice,
      adding(version => { isWhole &= !version.isPartial; decides.add(version); buffer.add(version) }, keys))
    if (!isWhole || !buffer.isInMemory) mergedBatches(part, buffer)
    else {
      def mayWin(footer: BaseFileFooter): Seq[Filter] = if (footer.hasDistinctKeys) decides.filters else Nil
      val reader                                      = openBase(part, decisionColumns, mergeFilters, more = mayWin)
      val merge                                       = buffer.mergeBatches(reader.forall(_.footer.isSorted))
      val batches =
        if (reader.forall(decides.areNone && _.footer.hasDistinctKeys)) Iterator.empty
        else reader.iterator.flatMap(_.batches().map(withoutOthers))
      SliceBatches(new MergedBatches(batches, merge, requested, returnsStored = false), reader.toSeq :+ buffer)
    }
  }

  /** Batches of [[decisionColumns]] with the columns of [[schema]]: the others are null. */
  private def withoutOthers: ColumnarBatch => ColumnarBatch = {
    val columns = schema.fields.map { field =>
      val none = new ConstantColumnVector(SliceBatchReader.BatchRows, field.dataType)
      none.setNull()
      decisionColumns.schema.fieldNames.indexOf(field.name) -> none
    }
    batch =>
      new ColumnarBatch(columns.map { case (at, none) => if (at < 0) none else batch.column(at) }, batch.numRows)
  }
}

private object SliceBatchReader {
  private val BatchRows = 4096
}
