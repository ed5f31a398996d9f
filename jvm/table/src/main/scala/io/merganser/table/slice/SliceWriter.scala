package io.merganser.table.slice

import io.merganser.merge.{DeleteCheck, RowLayout}
import io.merganser.merge.buffer.{MergeCounts, MergeIterator}
import io.merganser.table.base.{BaseFileFooter, BaseFileOptions, EventTimeColumn, EventTimes, ReplacedFile}
import io.merganser.table.file.{FileGroupId, FileNames, Marker, MarkerKind, Markers, WriteToken}
import io.merganser.table.log.{
  BlockPlanner,
  ChangeLogWriter,
  LogForm,
  LogNames,
  LogOptions,
  LogWriter,
  LogWritten,
  MetaRow
}
import io.merganser.table.options.ChangeLogging
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.PayloadClasses
import io.merganser.table.schema.{DroppedColumns, MetaColumns, SchemaHistory}
import io.merganser.table.storage.{DiscardedFiles, Storage}
import io.merganser.table.timeline.WriteStat
import org.apache.spark.sql.catalyst.{InternalRow, ProjectingInternalRow}
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** One written file, as the commit will record it, and counts of its rows. */
final case class WrittenFile(stat: WriteStat, counts: MergeCounts)

/**
 * The files that the result of a merge was written to.
 *
 * @param files  none if there was no row to write
 * @param counts of the merge
 */
final case class WrittenFiles(files: Seq[WrittenFile], counts: MergeCounts)

/**
 * Writes base files and log files of one instant.
 *
 * Its input rows have the columns of [[SliceWriter.rowSchema]]: the table's data columns, then the record key, the
 * partition path, and the commit time and sequence number of rows that are already stored.
 *
 * @param schema  the table's data columns
 * @param instant requested time of the commit that writes
 * @param eventTime the column whose range is in the statistics of each file
 * @param history the versions of the columns, if the table has any: stored rows that are written again are read by
 *                them, and logs have full rows
 * @param changes  what change files have, if writes leave some beside the base files that replace others
 * @param compactions instants of pending compactions by file group; below version 8 new log files are named after them
 * @param stored  the storage of the files that are replaced; None: that of the written ones
 */
final case class SliceWriter(
    storage: Storage,
    config: TableConfig,
    schema: StructType,
    instant: String,
    markers: Markers,
    baseOptions: BaseFileOptions,
    logOptions: LogOptions,
    compactions: Map[FileGroupId, String] = Map.empty,
    eventTime: Option[EventTimeColumn] = None,
    history: Option[SchemaHistory] = None,
    changes: Option[ChangeLogging] = None,
    stored: Option[Storage] = None
) {
  private[slice] val width = schema.length

  /** Where the files are that are replaced. */
  def storedIn: Storage = stored.getOrElse(storage)

  /** How base files retain deletes; None if they do not. */
  private[slice] val tombstones: Option[TombstoneFiles] =
    config.tombstoneHours.map(new TombstoneFiles(storedIn, config, SliceWriter.rowSchema(schema),
        instant, _))
  private val fileSchema = StructType(MetaColumns.schema ++ schema)

  /** The columns of base files. */
  private[slice] val baseSchema = DroppedColumns.removed(config, fileSchema)

  /** Copies rows of base files, into a row that is reused. */
  @transient private[slice] lazy val baseCopies: UnsafeProjection = UnsafeProjection.create(baseSchema)

  /** Leaves out of rows what base files do not have; the returned row is reused. */
  private[slice] def storedColumns: InternalRow => InternalRow =
    if (baseSchema.length == fileSchema.length) row => row
    else {
      val projected = ProjectingInternalRow(baseSchema, baseSchema.fieldNames.map(fileSchema.fieldIndex).toIndexedSeq)
      row => { projected.project(row); projected }
    }

  /** Recognizes a delete by the columns that the file stores. */
  private val storedDeletes = DeleteCheck(schema, PayloadClasses.markers(config))

  /**
   * Writes a base file from the result of the merge.
   *
   * @param previous the slice that this file supersedes, if any
   * @param updatesCommitMetadata true if changed rows get the commit metadata columns of this instant; false in a
   *   compaction, which leaves them unchanged
   * @param replaced footer of the base file of `previous`, if it is known: with it the new file can have
   *   [[io.merganser.table.base.RecentRows recent rows]]
   * @return no file if there is no row to write and no previous slice
   */
  def writeBase(
      partitionPath: String,
      fileId: String,
      previous: Option[FileSlice],
      merge: MergeIterator,
      updatesCommitMetadata: Boolean,
      token: WriteToken,
      replaced: Option[BaseFileFooter] = None
  ): WrittenFiles = {
    val file = new OpenBaseFile(this, partitionPath, fileId, previous, token, updatesCommitMetadata, replaced)
    try {
      if (previous.isDefined) file.openReplacement()
      while (merge.next()) file.add(merge)
      WrittenFiles(file.close().toSeq, file.counts)
    } catch {
      case e: Throwable =>
        file.abort()
        throw e
    }
  }

  /**
   * The base file of a slice, if its bytes may be part of the file that replaces it. Where a table has versions of its
   * columns, the values of stored ones may have another form. Where the logs are large, little of the file stays, and
   * their versions take memory, of which encoded columns take as much again as a row group.
   */
  private[slice] def replacedFile(slice: FileSlice, footer: BaseFileFooter): Option[ReplacedFile] =
    slice.base.filter(base => history.isEmpty && slice.logs.map(_.sizeBytes).sum <= base.sizeBytes / 4).flatMap(base =>
      ReplacedFile.of(storedIn.conf, storedIn.path(base.path), base.sizeBytes, footer, baseSchema, baseOptions))

  /**
   * The same where unchanged rows of the file are written by their keys alone, so that a merge need not read their
   * other columns: see [[TouchedRows]].
   */
  private[slice] def keptByKey(slice: FileSlice, footer: BaseFileFooter): Option[ReplacedFile] =
    if (config.storesKeys) replacedFile(slice, footer) else None

  /** The same writer, whose files and markers go nowhere: a dry run needs their sizes. */
  def discarding: SliceWriter = {
    val nowhere = DiscardedFiles.storage(storage)
    copy(storage = nowhere, markers = new Markers(nowhere, instant), changes = None,
      stored = Some(storedIn))
  }

  /** The change file of a base file that replaces another. Announced like a log file. */
  private[slice] def openChanges(partitionPath: String, fileId: String, token: WriteToken): Option[ChangeLogWriter] =
    changes.map { mode =>
      val kind = if (namesLogsBySlice) MarkerKind.Append else MarkerKind.Create
      new ChangeLogWriter(storage, config.name,
        LogNames(partitionPath, fileId, instant, version = 1, token.toString, FileNames.ChangeSuffix), mode, schema,
        SliceWriter.rowSchema(schema), logOptions, name => token.announce(Marker(partitionPath, name, kind), markers))
    }

  /**
   * Writes the base file of a new group, and of further new groups as files fill up. No key is split between groups.
   *
   * @param fileId id of the first group
   */
  def writeNewBases(
      partitionPath: String,
      fileId: String,
      merge: MergeIterator,
      token: WriteToken
  ): WrittenFiles = {
    def open(group: String) = new OpenBaseFile(this, partitionPath, group, None, token, updatesCommitMetadata = true)
    val written             = Seq.newBuilder[WrittenFile]
    var counts              = MergeCounts()
    var count               = 0
    var file                = open(fileId)
    try {
      while (merge.next()) {
        if (merge.isLive && file.endsBefore(merge.row)) {
          written ++= file.close()
          counts += file.counts
          count += 1
          file = open(FileNames.following(fileId, count))
        }
        file.add(merge)
      }
      written ++= file.close()
      WrittenFiles(written.result(), counts + file.counts)
    } catch {
      case e: Throwable =>
        file.abort()
        throw e
    }
  }

  /**
   * Writes stored rows in the given order to the base files of new groups, each filled up to the largest size.
   *
   * @param fileId        id of the first group
   * @param rows          of [[SliceWriter.rowSchema]]; may be reused objects
   * @param updatesCommitMetadata true if the rows get the commit metadata columns of this instant
   * @param moved         deletes of the files that are replaced, which the first file retains; read if any are retained
   * @return empty if there is no row and no delete to retain
   */
  def rewrite(
      partitionPath: String,
      fileId: String,
      rows: Iterator[InternalRow],
      updatesCommitMetadata: Boolean,
      token: WriteToken,
      moved: => Tombstones = Tombstones.none
  ): Seq[WrittenFile] = {
    val written = Seq.newBuilder[WrittenFile]
    var count   = 0
    var file    = new OpenBaseFile(this, partitionPath, fileId, None, token, updatesCommitMetadata, moved = moved)
    try {
      rows.foreach { row =>
        if (file.isFull) {
          written ++= file.close()
          count += 1
          file = new OpenBaseFile(this, partitionPath, FileNames.following(fileId, count), None, token,
            updatesCommitMetadata)
        }
        file.add(row)
      }
      written ++= file.close()
      written.result()
    } catch {
      case e: Throwable =>
        file.abort()
        throw e
    }
  }

  /**
   * Writes the live rows of slices to the base files of new groups, each filled up to the largest size with whole
   * slices. Bytes of their base files are copied where no version changes them. Rows keep their commit metadata
   * columns.
   *
   * @param fileId id of the first group
   * @param reader of [[SliceWriter.rowSchema]]
   */
  def join(
      partitionPath: String,
      fileId: String,
      slices: Seq[FileSlice],
      reader: SliceReader,
      token: WriteToken
  ): Seq[WrittenFile] = filled(slices).zipWithIndex.flatMap { case (some, i) =>
    val copied = some.flatMap(slice => joinedFile(slice).map(slice -> _)).sortBy(_._2.minKey)
    val others = some.diff(copied.map(_._1))
    val file = new OpenBaseFile(this, partitionPath, FileNames.following(fileId, i), None, token,
      updatesCommitMetadata = false, sources = copied.map(_._2))
    try {
      copied.foreach { case (slice, _) =>
        val open = reader.merge(slice, this)
        try while (open.merge.next()) file.move(open.merge)
        finally open.close()
      }
      others.foreach { slice =>
        val rows = reader.rows(slice)
        try rows.foreach(file.add(_))
        finally rows.close()
      }
      file.close()
    } catch {
      case e: Throwable =>
        file.abort()
        throw e
    }
  }

  private def filled(slices: Seq[FileSlice]): Seq[Seq[FileSlice]] =
    slices.foldLeft(Vector.empty[Vector[FileSlice]]) { (files, slice) =>
      if (files.nonEmpty && (files.last :+ slice).map(_.sizeBytes).sum <= baseOptions.maxFileBytes)
        files.init :+ (files.last :+ slice)
      else files :+ Vector(slice)
    }

  /** The base file of a slice if its row groups may be those of a larger file. */
  private def joinedFile(slice: FileSlice): Option[ReplacedFile] = slice.base.flatMap { base =>
    replacedFile(slice, BaseFileFooter.read(storedIn.conf, storedIn.path(base.path), base.sizeBytes))
      .filter(_.fills(baseOptions.rowGroupBytes))
  }

  private def namesLogsBySlice: Boolean = config.version < 8

  /** Named after the delta commit, from 1 on; below version 8 after the slice, from the next number on. */
  private def logNames(slice: FileSlice, token: WriteToken): LogNames = {
    val named = if (namesLogsBySlice) compactions.getOrElse(slice.group, slice.baseInstant) else instant
    val last =
      if (!namesLogsBySlice) 0 else slice.logs.filter(_.instant == named).map(_.version).foldLeft(0)(math.max(_, _))
    LogNames(slice.partitionPath, slice.fileId, named, last + 1, token.toString)
  }

  /**
   * Appends the versions of a batch to a slice's log, in one or more files; versions of a key stay in their order.
   *
   * @param merge            one version a step, not merged with stored rows; below version 8, where a log holds only
   *                         full rows, already merged with them
   * @param writesDeletedRows true if the rule uses columns of a delete other than its ordering value
   * @param compacted        for a log compaction, the instants whose blocks these replace: rows are those of the
   *                         slice's logs and keep their commit metadata columns
   * @param inserted         keys among them that the base file does not have; read after all were appended
   * @return empty if there is nothing to append
   */
  def appendLog(
      slice: FileSlice,
      merge: MergeIterator,
      layout: RowLayout,
      token: WriteToken,
      writesDeletedRows: Boolean = false,
      compacted: Seq[String] = Nil,
      inserted: => Long = 0L
  ): Seq[WrittenFile] = {
    val names    = logNames(slice, token)
    val isOfLogs = compacted.nonEmpty
    val meta =
      new MetaRow(instant, token, UTF8String.fromString(slice.fileId), config.storesKeys, keepsCommit = isOfLogs)
    val times = new EventTimes(eventTime)
    val form  = LogForm(storedDeletes, writesDeletedRows, config.version >= 8 && history.isEmpty, isOfLogs)
    val blocks =
      new BlockPlanner(merge, layout, form, schema, slice.partitionPath, meta, times)
    if (blocks.isEmpty) Nil
    else {
      val kind                         = if (namesLogsBySlice) MarkerKind.Append else MarkerKind.Create
      def announce(name: String): Unit = token.announce(Marker(slice.partitionPath, name, kind), markers)
      val writer = new LogWriter(storage, config.name, names, instant, fileSchema, logOptions, announce, compacted)
      try {
        blocks.write(writer)
        val last    = writer.close()
        val all     = writer.earlier :+ last
        val inserts = inserted
        all.zipWithIndex.map { case (written, i) =>
          val stat = statOfLog(slice, names, written, i, if (i == 0) inserts else 0L, isOfLogs)
          WrittenFile(stat.copy(minEventTime = times.least, maxEventTime = times.greatest),
            if (isOfLogs) MergeCounts()
            else MergeCounts(appended = written.records + written.deletes,
              appendedDeletes = written.deletes + (if (i == 0) blocks.deletedRows else 0L)))
        }
      } catch {
        case e: Throwable =>
          writer.abort()
          throw e
      }
    }
  }

  /** @param place its place among the log files that are written together */
  private def statOfLog(
      slice: FileSlice,
      names: LogNames,
      written: LogWritten,
      place: Int,
      inserts: Long,
      isOfLogs: Boolean
  ): WriteStat = {
    // Hudi's readers of changes find here what the log is to be compared with.
    val earlier = if (changes.isEmpty || isOfLogs) Nil else slice.logs.map(_.name)
    WriteStat(
      fileId = slice.fileId,
      path = FileNames.path(slice.partitionPath, written.name),
      partitionPath = slice.partitionPath,
      prevCommit = names.instant,
      numWrites = written.records + written.deletes,
      numInserts = inserts,
      numUpdateWrites = written.records - math.min(inserts, written.records),
      numDeletes = written.deletes,
      fileSizeInBytes = written.sizeBytes,
      totalWriteBytes = written.sizeBytes,
      logVersion = Some(names.version + place),
      logOffset = Some(0L),
      baseFile = Some(slice.base.map(_.name).getOrElse("")),
      logFiles = earlier :+ written.name,
      totalLogFilesCompacted = if (isOfLogs) slice.logs.size.toLong else 0L,
      checksums = if (namesLogsBySlice) "" else written.checksums
    )
  }
}

object SliceWriter {

  /** The columns of the rows that a write processes. */
  def rowSchema(schema: StructType): StructType =
    StructType(schema ++ Seq(MetaColumns.RecordKey, MetaColumns.PartitionPath, MetaColumns.CommitTime,
      MetaColumns.CommitSeqno).map(
      MetaColumns.schema(_)))
}
