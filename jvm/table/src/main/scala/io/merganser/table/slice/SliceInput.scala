package io.merganser.table.slice

import io.merganser.merge.{KeyFold, Laws, MerganserException, RowLayout, Version}
import io.merganser.merge.buffer.VersionBuffer
import io.merganser.table.avro.Milliseconds
import io.merganser.table.base.{BaseFileFooter, BaseFileSection, BaseReadOptions}
import io.merganser.table.file.{BaseFile, FileGroupId, FileNames}
import io.merganser.table.log.{LogScanned, LogScanner}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.CompiledRule
import io.merganser.table.schema.MetaColumns
import org.apache.spark.sql.sources.{Filter, In}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * What readers of a table's file slices read: columns, and the base and log files opened with these. Sent to tasks.
 *
 * @param projected   columns to return, data and meta columns in any order; other columns that the merge needs are read
 *                    too and follow them in the rows
 * @param filters     filters that may prune row groups of a base file; rows that do not satisfy them may be returned
 * @param keyFilters  the filters that refer to record key columns only: they are true for all versions of a key or for
 *                    none, so they may also prune the input of a merge
 * @param recordKeys  the record keys of all rows that satisfy the filters, where these are few; None: not known. Rows
 *                    with other keys may be returned
 * @param bufferBytes memory for log records, in bytes, before they are sorted and spilled
 */
final class SliceInput(
    val table: TableSnapshot,
    projected: StructType,
    filters: Seq[Filter] = Nil,
    keyFilters: Seq[Filter] = Nil,
    recordKeys: Option[Seq[String]] = None,
    bufferBytes: Long = SliceInput.DefaultBufferBytes
) extends Serializable {
  import table.{config, rowKey, rule, storage, visibility}

  private[slice] val requested: StructType = Milliseconds.like(projected, table.columns)

  /** The columns of the rows, the requested ones first. */
  val schema: StructType = CompiledRule.layoutSchema(requested, table.columns, config, rule)

  private lazy val compiled = CompiledRule(rule, config, schema)

  /** Rows are in the order of their record keys, not of the key columns: numbers are sorted as strings. */
  private val named: Seq[Filter] = recordKeys.map(keys => In(MetaColumns.RecordKey, keys.toArray[Any])).toSeq

  private[slice] val rowFilters: Seq[Filter]   = filters ++ named
  private[slice] val mergeFilters: Seq[Filter] = keyFilters ++ named

  /** Parquet skips pages by columns that are read: the record key may follow the requested ones. */
  private[slice] val rowColumns = new DerivedColumns(config,
    if (named.isEmpty || requested.fieldNames.contains(MetaColumns.RecordKey)) requested
    else requested.add(MetaColumns.schema(MetaColumns.RecordKey)),
    rowKey)
  private[slice] val mergeColumns = new DerivedColumns(config, schema, rowKey)

  /** Where the columns of [[schema]] are that a merge needs. */
  def layout: RowLayout = compiled.layout

  /** Folds the versions of the keys of a file group by the table's rule. */
  def fold(group: FileGroupId): KeyFold = compiled.fold(FileNames.path(group.partitionPath, group.fileId))

  /** The laws of the table's rule. */
  def laws: Laws = compiled.laws

  /** The deletes that the slice's base file retains. */
  def tombstones(slice: FileSlice): Tombstones = slice.base match {
    case Some(base) if config.tombstoneHours.isDefined && compiled.layout.ordering.nonEmpty =>
      val footer = SliceInput.missingNamed(config, base.path)(readFooter(base))
      Tombstones.of(storage, base, footer, compiled.layout.ordering)
    case _ => Tombstones.none
  }

  /** Ordering values of deletes are converted to the types that rows are read with. */
  private[slice] def scanner: LogScanner = new LogScanner(
    storage,
    // A table that was upgraded may have logs of version 6, with blocks of writes that were taken back since.
    if (config.isCreatedInLayout2) config.version else math.min(config.version, 6),
    CompiledRule.orderingTypes(rule, schema),
    visibility.completed(_),
    visibility.maxInstant,
    log => config.version >= 8 && (log.committedBytes.isDefined || config.isCreatedInLayout2),
    visibility.columns
  )

  /** The part with its keys. If they are not known, the whole slice in place of its first part, and None for others. */
  private[slice] def merged(part: SlicePart): Option[MergedPart] = {
    def footer(base: BaseFile) = SliceInput.missingNamed(config, base.path)(readFooter(base))
    val keys = if (part.isWhole) None else part.slice.base.flatMap(b => KeySpan.of(footer(b), part.start, part.length))
    keys match {
      case Some(span)           => Some(MergedPart(part, span))
      case _ if part.start == 0 => Some(MergedPart(SlicePart(part.slice), KeySpan.All))
      case _                    => None
    }
  }

  private[slice] def versions(slice: FileSlice, keys: KeySpan = KeySpan.All): VersionBuffer = {
    val buffer = newBuffer(slice)
    retain(slice, buffer, keys.has)
    scan(slice, adding(buffer.add, keys))
    buffer
  }

  /** Passes on the versions that have one of the keys and are needed. */
  private[slice] def adding(next: Version => Unit, keys: KeySpan): Version => Unit = {
    val some = needed
    if ((some eq null) && (keys eq KeySpan.All)) next
    else version => {
      val key = layout.key(version.row)
      if (((some eq null) || some.contains(key)) && keys.has(key)) next(version)
    }
  }

  /** The keys of the versions that are needed; null for all. */
  private lazy val needed: Set[UTF8String] = recordKeys.map(_.map(UTF8String.fromString).toSet).orNull

  /** Adds the deletes that the base file retains, which are older than what the logs have. */
  private[slice] def retain(slice: FileSlice, buffer: VersionBuffer, keys: UTF8String => Boolean = _ => true): Unit = {
    val retained = tombstones(slice)
    val deletes  = retained.versions(compiled.layout, slice.partitionPath)
    retained.keys.filter(keys).foreach { key =>
      val delete = deletes.find(key)
      delete.isRetained = true
      buffer.add(delete)
    }
  }

  private[slice] def newBuffer(slice: FileSlice): VersionBuffer =
    new VersionBuffer(compiled.layout, compiled.fold(FileNames.path(slice.partitionPath, slice.fileId)), bufferBytes)

  private[slice] def requireOwnRule(slice: FileSlice): Unit =
    if (!slice.isOfRule(config))
      throw MerganserException("RULE_CHANGED_SINCE", "table" -> config.name,
        "fileGroup" -> slice.fileId, "since" -> config.ruleSince.getOrElse("none"))

  private[slice] def scan(slice: FileSlice, next: Version => Unit): LogScanned = missingNamed(slice) {
    requireOwnRule(slice)
    val sink = new VersionSink(compiled.layout) {
      override protected def add(version: Version): Unit = next(version)
    }
    scanner.scan(slice.logs, mergeColumns.stored, mergeColumns.sink(slice.partitionPath, sink))
  }

  private[slice] def open(part: SlicePart, buffer: VersionBuffer): OpenMerge = {
    val reader = openBase(part, mergeColumns, mergeFilters)
    val rows   = reader.map(_.rows()).getOrElse(Iterator.empty)
    val sorted = reader.forall(_.footer.isSorted)
    new OpenMerge(buffer.merge(rows, sorted), compiled.layout, reader.map(_.footer), buffer, reader)
  }

  /** The same for a file that replaces the base file; in key order if that one is. */
  private[slice] def openReplaced(slice: FileSlice, buffer: VersionBuffer, writer: SliceWriter): OpenMerge = {
    def open(base: BaseFile) = SliceInput.missingNamed(config, base.path) {
      new ReplacedRows(writer, slice, compiled.layout, isChanged = slice.logs.nonEmpty,
        readsByKeys = mergeColumns.isEmpty,
        options =>
          new TableFileReader(storage, slice.partitionPath, base, mergeColumns,
            options.copy(columns = visibility.columns(base.instant), missing = SliceInput.missing(config, base.path))))
    }
    val replaced = slice.base.map(open)
    val merge = replaced match {
      case Some(file) if !file.footer.isSorted => buffer.merge(file.unsorted, baseSorted = false)
      case Some(file) =>
        val (rows, versions) = file.sorted(buffer.cursor())
        buffer.mergeSorted(rows, versions)
      case None => buffer.mergeSorted(Iterator.empty, buffer.cursor())
    }
    new OpenMerge(merge, compiled.layout, replaced.map(_.footer), buffer, replaced)
  }

  private[slice] def openBase(
      part: SlicePart,
      columns: DerivedColumns,
      filters: Seq[Filter],
      more: BaseFileFooter => Seq[Filter] = _ => Nil,
      section: BaseFileFooter => Option[BaseFileSection] = _ => None,
      keysInPlace: Boolean = false
  ): Option[TableFileReader] = part.slice.base.map { base =>
    SliceInput.missingNamed(config, base.path) {
      // Read here, where a missing file is reported by name.
      val (footer, input) = if (keysInPlace) openFooter(base) else (readFooter(base), None)
      try new TableFileReader(storage, part.slice.partitionPath, base, columns,
          BaseReadOptions(filters ++ more(footer), part.start, part.length, Some(footer),
            visibility.columns(base.instant),
            section(footer), SliceInput.missing(config, base.path), input))
      catch { case e: Throwable => input.foreach(_.close()); throw e }
    }
  }

  private def readFooter(base: BaseFile) =
    BaseFileFooter.read(storage.conf, storage.path(base.path), base.sizeBytes)

  private def openFooter(base: BaseFile) = {
    val (footer, input) = BaseFileFooter.open(storage.conf, storage.path(base.path), base.sizeBytes)
    (footer, Some(input))
  }

  private[slice] def missingNamed[T](slice: FileSlice)(read: => T): T =
    SliceInput.missingNamed(config,
      s"of file group ${slice.fileId} (${slice.logs.take(10).map(_.name).mkString(", ")})")(read)
}

private[slice] object SliceInput {
  val DefaultBufferBytes: Long = 256L << 20

  def missingNamed[T](config: TableConfig, what: => String)(read: => T): T =
    try read
    catch { case e: java.io.FileNotFoundException => throw missing(config, what)(e) }

  private def missing(config: TableConfig, what: => String)(cause: java.io.FileNotFoundException): MerganserException =
    MerganserException("SLICE_FILE_MISSING", "table" -> config.name, "file" -> what, "by" -> "the query's plan")
      .causedBy(cause)
}
