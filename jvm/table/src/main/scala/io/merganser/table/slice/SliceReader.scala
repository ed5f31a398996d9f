package io.merganser.table.slice

import io.merganser.merge.{KeyFold, Laws, MerganserException, RowLayout, Version}
import io.merganser.merge.buffer.{MergeTally, SortedRows, VersionBuffer}
import io.merganser.table.avro.Milliseconds
import io.merganser.table.base.{BaseFileFooter, BaseFileSection, RecentRows}
import io.merganser.table.file.{FileGroupId, FileNames, LogFile}
import io.merganser.table.log.{LogBlocks, LogScanned, LogScanner, LogSink}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.CompiledRule
import io.merganser.table.schema.MetaColumns
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.sql.execution.merganser.RowsToBatches
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{BooleanType, StructField, StructType}
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.unsafe.types.UTF8String

import java.io.Closeable

/**
 * Reads file slices of one table: base file and log files go through the one merge.
 *
 * @param projected   columns to return, data and meta columns in any order; other columns that the merge needs are read
 *                    too and follow them in the rows
 * @param filters     filters that may prune row groups of a base file; rows that do not satisfy them may be returned
 * @param keyFilters  the filters that refer to record key columns only: they are true for all versions of a key or for
 *                    none, so they may also prune the input of a merge
 * @param bufferBytes memory for log records, in bytes, before they are sorted and spilled
 */
final class SliceReader(
    table: TableSnapshot,
    projected: StructType,
    filters: Seq[Filter] = Nil,
    keyFilters: Seq[Filter] = Nil,
    bufferBytes: Long = SliceReader.DefaultBufferBytes
) extends Serializable {
  import table.{config, rowKey, rule, storage, visibility}

  private val requested = Milliseconds.like(projected, table.columns)

  /** The columns of the rows, the requested ones first. */
  val schema: StructType = CompiledRule.layoutSchema(requested, table.columns, config, rule)

  private lazy val compiled = CompiledRule(rule, config, schema)

  private val ofRows  = new DerivedColumns(config, requested, rowKey)
  private val ofMerge = new DerivedColumns(config, schema, rowKey)

  /** What a rule compares that takes each row from one version as a whole. */
  private lazy val ofDecision =
    new DerivedColumns(config, CompiledRule.layoutSchema(new StructType, table.columns, config, rule), rowKey)

  private lazy val ofKeys =
    new DerivedColumns(config, StructType(schema.filter(_.name == MetaColumns.RecordKey)), rowKey)

  /**
   * The slice's live rows, one per record key, in no guaranteed order.
   *
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING if a file was cleaned after the slice was listed
   */
  def rows(slice: FileSlice): SliceRows =
    if (slice.logs.isEmpty) baseRows(slice) else liveRows(merge(slice))

  /** The base file's rows, not merged with the logs. */
  def baseRows(slice: FileSlice): SliceRows = {
    val reader = openBase(slice, ofRows, filters)
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
      val reader = openBase(slice, ofRows, filters)
      val rows   = needed(reader.map(_.rows()).getOrElse(Iterator.empty))
      opened(if (reader.forall(_.footer.isSorted)) rows else SortedRows.byKey(rows, layout), reader.toSeq)
    } else {
      val live = rows(slice)
      opened(SortedRows.byKey(needed(live), layout), Seq(live))
    }
  }

  /** Passes the key of each record of the slice's logs, as often as it is there; the key is reused. */
  def logKeys(slice: FileSlice)(add: UTF8String => Unit): Unit = missingNamed(slice) {
    val sink = new LogSink {
      override def row(row: InternalRow, provided: Array[Boolean], inserts: Boolean): Unit = add(row.getUTF8String(0))
      override def delete(key: UTF8String, partitionPath: UTF8String, ordering: Array[Any]): Unit = add(key)
    }
    scanner.scan(slice.logs, ofKeys.stored, ofKeys.sink(slice.partitionPath, sink))
    ()
  }

  private def opened(rows: Iterator[InternalRow], open: Seq[Closeable]): SliceRows = new SliceRows {
    override def hasNext: Boolean    = rows.hasNext
    override def next(): InternalRow = rows.next()
    override def close(): Unit       = open.foreach(_.close())
  }

  /** Ordering values of deletes are converted to the types that rows are read with. */
  private def scanner = new LogScanner(
    storage,
    // A table that was upgraded may have logs of version 6, with blocks of writes that were taken back since.
    if (config.isCreatedInLayout2) config.version else math.min(config.version, 6),
    CompiledRule.orderingTypes(rule, schema),
    visibility.completed(_),
    visibility.maxInstant,
    log => config.version >= 8 && (log.committedBytes.isDefined || config.isCreatedInLayout2),
    visibility.columns
  )

  /**
   * The slice's live rows in column batches of the requested columns. Rows without log records are returned as read.
   *
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING
   */
  def batches(slice: FileSlice): SliceBatches =
    if (slice.logs.isEmpty) baseBatches(slice) else mergedBatches(slice, versions(slice))

  /** The base file's rows, not merged with the logs. */
  def baseBatches(slice: FileSlice): SliceBatches = baseBatches(slice, 0L, Long.MaxValue)

  /** Only the rows of row groups whose midpoint is in a range of the file, in bytes. */
  def baseBatches(slice: FileSlice, start: Long, length: Long): SliceBatches = {
    val reader = openBase(slice, ofRows, filters, start, length)
    SliceBatches(reader.map(_.batches()).getOrElse(Iterator.empty), reader.toSeq)
  }

  /**
   * The same for a reader that needs rows from a commit time on: others may be missing.
   *
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING
   */
  def recentBatches(slice: FileSlice, start: Long, length: Long, since: String): SliceBatches = {
    def held(footer: BaseFileFooter) = RecentRows.of(footer).filter(_.hold(since)).map(_.section)
    val reader                       = openBase(slice, ofRows, filters, start, length, section = held)
    // Of several ranges of a file, the first one has them.
    val batches = reader.filter(start == 0 || !_.readsSection).map(_.batches()).getOrElse(Iterator.empty)
    SliceBatches(batches, reader.toSeq)
  }

  private def mergedBatches(slice: FileSlice, buffer: VersionBuffer): SliceBatches = {
    val tally = new MergeTally
    tally.versions = buffer.versionCount
    buffer.mergeBatches() match {
      case Some(merge) =>
        tally.duplicates = buffer.versionCount - buffer.keyCount
        merge.tally = tally
        val reader  = openBase(slice, ofMerge, keyFilters)
        val batches = reader.map(_.batches()).getOrElse(Iterator.empty)
        SliceBatches(new MergedBatches(batches, merge, requested), reader.toSeq :+ buffer, tally)
      case None =>
        val open = merge(slice, buffer)
        SliceBatches(RowsToBatches(liveRows(open, tally), requested, SliceReader.BatchRows), Seq(open), tally)
    }
  }

  /**
   * The same for a reader that needs no row as the base file has it: such rows may be missing. Where each row is one
   * version as a whole, only those columns of the base file are read that decide which, and of a file with distinct
   * keys only row groups and pages with a row that may win.
   *
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING
   */
  def loggedBatches(slice: FileSlice): SliceBatches = {
    var isWhole = rule.isDecidedByOrdering
    val buffer  = newBuffer(slice)
    val decides = new DecidingRows(rule, layout)
    retain(slice, buffer)
    scan(slice, version => { isWhole &= !version.isPartial; decides.add(version); buffer.add(version) })
    (if (isWhole) buffer.mergeBatches() else None).fold(mergedBatches(slice, buffer)) { merge =>
      def mayWin(footer: BaseFileFooter): Seq[Filter] = if (footer.hasDistinctKeys) decides.filters else Nil
      val reader                                      = openBase(slice, ofDecision, keyFilters, more = mayWin)
      val batches =
        if (reader.forall(decides.areNone && _.footer.hasDistinctKeys)) Iterator.empty
        else reader.iterator.flatMap(_.batches().map(withoutOthers))
      SliceBatches(new MergedBatches(batches, merge, requested, returnsStored = false), reader.toSeq :+ buffer)
    }
  }

  /** Batches of [[ofDecision]] with the columns of [[schema]]: the others are null. */
  private def withoutOthers: ColumnarBatch => ColumnarBatch = {
    val columns = schema.fields.map { field =>
      val none = new ConstantColumnVector(SliceReader.BatchRows, field.dataType)
      none.setNull()
      ofDecision.schema.fieldNames.indexOf(field.name) -> none
    }
    batch =>
      new ColumnarBatch(columns.map { case (at, none) => if (at < 0) none else batch.column(at) }, batch.numRows)
  }

  /** Merges the slice's base rows with its log records. */
  def merge(slice: FileSlice): OpenMerge = merge(slice, versions(slice))

  /** The versions in the slice's logs, merged as far as the rule allows without the stored rows. */
  def logVersions(slice: FileSlice): OpenLogMerge = {
    val buffer  = newBuffer(slice)
    val scanned = scan(slice, buffer.add)
    new OpenLogMerge(buffer.emitted(), compiled.layout, scanned.instants, buffer)
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
    opened(SortedRows.byKey(states, SliceReader.withFlags(compiled.layout)), Seq(open))
  }

  /** The base file's rows with the columns of [[schema]], as a merge reads them. */
  def storedRows(slice: FileSlice): SliceRows = {
    val reader = openBase(slice, ofMerge, keyFilters)
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
    scan(slice, version => if (keys(compiled.layout.key(version.row))) buffer.add(version))
    liveRows(new OpenMerge(buffer.merge(stored, baseSorted = false), compiled.layout, None, buffer, None))
  }

  /** Passes the versions in the slice's logs one by one, oldest first; none is merged with another. */
  def eachVersion(slice: FileSlice)(receiver: VersionReceiver): Unit = missingNamed(slice) {
    requireOwnRule(slice)
    val sink = new VersionSink(compiled.layout) {
      override def block(log: LogFile, instant: String): Unit = receiver.block(log, instant)
      override protected def add(version: Version): Unit      = receiver.add(version)
    }
    scanner.scan(slice.logs, ofMerge.stored, ofMerge.sink(slice.partitionPath, sink))
    ()
  }

  /** Where the columns of [[schema]] are that a merge needs. */
  def layout: RowLayout = compiled.layout

  /** Folds the versions of the keys of a file group by the table's rule. */
  def fold(group: FileGroupId): KeyFold = compiled.fold(FileNames.path(group.partitionPath, group.fileId))

  /** The laws of the table's rule. */
  def laws: Laws = compiled.laws

  /** The visible blocks of the slice's logs. */
  def logBlocks(slice: FileSlice): LogBlocks = missingNamed(slice)(scanner.blocks(slice.logs))

  private def versions(slice: FileSlice): VersionBuffer = {
    val buffer = newBuffer(slice)
    retain(slice, buffer)
    scan(slice, buffer.add)
    buffer
  }

  /** Adds the deletes that the base file retains, which are older than what the logs have. */
  private def retain(slice: FileSlice, buffer: VersionBuffer, keys: UTF8String => Boolean = _ => true): Unit = {
    val retained = tombstones(slice)
    val deletes  = retained.versions(compiled.layout, slice.partitionPath)
    retained.keys.filter(keys).foreach { key =>
      val delete = deletes.find(key)
      delete.isRetained = true
      buffer.add(delete)
    }
  }

  /** The deletes of slices that are about to be merged into base files: retained ones, and those in their logs. */
  def retainedDeletes(slices: Seq[FileSlice]): Tombstones = {
    val layout = compiled.layout
    slices.foldLeft(Tombstones.none) { (all, slice) =>
      val own =
        new TombstoneCollector(tombstones(slice), layout.ordering, layout.keyOrdinal, visibility.maxInstant)
      if (slice.logs.nonEmpty) {
        val open = merge(slice)
        try while (open.merge.next()) if (!open.merge.isLive) own.gone(open.merge.winner)
        finally open.close()
      }
      all.newest(own.result, layout, fold(slice.group))
    }
  }

  /** The deletes that the slice's base file retains. */
  def tombstones(slice: FileSlice): Tombstones = slice.base match {
    case Some(base) if config.tombstoneHours.isDefined && compiled.layout.ordering.nonEmpty =>
      val footer = SliceReader.missingNamed(config, base.path)(
        BaseFileFooter.read(storage.conf, storage.path(base.path), base.sizeBytes))
      Tombstones.of(storage, base, footer, compiled.layout.ordering)
    case _ => Tombstones.none
  }

  private def newBuffer(slice: FileSlice): VersionBuffer =
    new VersionBuffer(compiled.layout, compiled.fold(FileNames.path(slice.partitionPath, slice.fileId)), bufferBytes)

  /** Whether the slice's logs were written under the rule that the table has; another one would give other rows. */
  def isOfRule(slice: FileSlice): Boolean = SliceReader.isOfRule(config, slice)

  private def requireOwnRule(slice: FileSlice): Unit =
    if (!isOfRule(slice))
      throw io.merganser.merge.MerganserException("RULE_CHANGED_SINCE", "table" -> config.name,
        "fileGroup" -> slice.fileId, "since" -> config.ruleSince.getOrElse("none"))

  private def scan(slice: FileSlice, next: Version => Unit): LogScanned = missingNamed(slice) {
    requireOwnRule(slice)
    val sink = new VersionSink(compiled.layout) {
      override protected def add(version: Version): Unit = next(version)
    }
    scanner.scan(slice.logs, ofMerge.stored, ofMerge.sink(slice.partitionPath, sink))
  }

  private def merge(slice: FileSlice, buffer: VersionBuffer): OpenMerge = {
    val reader = openBase(slice, ofMerge, keyFilters)
    val rows   = reader.map(_.rows()).getOrElse(Iterator.empty)
    val sorted = reader.forall(_.footer.isSorted)
    new OpenMerge(buffer.merge(rows, sorted), compiled.layout, reader.map(_.footer), buffer, reader)
  }

  private def liveRows(open: OpenMerge, tally: MergeTally = null): SliceRows = new SliceRows {
    private[this] val merge    = open.merge
    private[this] var ready    = false
    private[this] var finished = false

    override def hasNext: Boolean = {
      while (!ready && !finished) {
        if (!merge.next()) finished = true
        else {
          ready = merge.isLive
          if (tally ne null) tally.add(merge)
        }
      }
      ready
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException("no more rows")
      ready = false
      merge.row
    }

    override def close(): Unit = open.close()
  }

  private def openBase(
      slice: FileSlice,
      columns: DerivedColumns,
      filters: Seq[Filter],
      start: Long = 0L,
      length: Long = Long.MaxValue,
      more: BaseFileFooter => Seq[Filter] = _ => Nil,
      section: BaseFileFooter => Option[BaseFileSection] = _ => None
  ): Option[TableFileReader] = slice.base.map { base =>
    SliceReader.missingNamed(config, base.path) {
      // Read here, where a missing file is reported by name.
      val footer = BaseFileFooter.read(storage.conf, storage.path(base.path), base.sizeBytes)
      new TableFileReader(storage, slice.partitionPath, base, columns, filters ++ more(footer), start, length,
        Some(footer), visibility.columns(base.instant), section(footer), SliceReader.missing(config, base.path))
    }
  }

  private def missingNamed[T](slice: FileSlice)(read: => T): T =
    SliceReader.missingNamed(config,
      s"of file group ${slice.fileId} (${slice.logs.take(10).map(_.name).mkString(", ")})")(read)
}

object SliceReader {
  private val BatchRows = 4096

  val DefaultBufferBytes: Long = 256L << 20

  /** Whether the slice's logs were written under the rule that the table has. */
  def isOfRule(config: TableConfig, slice: FileSlice): Boolean =
    config.ruleSince.forall(since => slice.logs.forall(_.instant > since))

  private def withFlags(layout: RowLayout): RowLayout = layout.copy(schema =
    StructType(layout.schema ++ Seq("isDelete", "isUnconditional").map(StructField(_, BooleanType, nullable = false))))

  private[slice] def missingNamed[T](config: TableConfig, what: => String)(read: => T): T =
    try read
    catch { case e: java.io.FileNotFoundException => throw missing(config, what)(e) }

  private def missing(config: TableConfig, what: => String)(cause: java.io.FileNotFoundException): MerganserException =
    MerganserException("SLICE_FILE_MISSING", "table" -> config.name, "file" -> what, "by" -> "the query's plan")
      .causedBy(cause)
}
