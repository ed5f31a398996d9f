package io.merganser.table.slice

import io.merganser.merge.{DeleteCheck, OrderingComparator, RowLayout}
import io.merganser.merge.buffer.{MergeIterator, Outcome}
import io.merganser.table.base.{BaseFileOptions, BaseFileWriter, EventTimeColumn, EventTimes}
import io.merganser.table.file.{FileGroupId, FileNames, Markers, WriteToken}
import io.merganser.table.log.{BlockPlanner, LogOptions, LogWriter, MetaRow}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.PayloadClasses
import io.merganser.table.schema.MetaColumns
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{MergeCounts, WriteStat}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.JoinedRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** One file written, as the commit will record it. */
final case class SliceWritten(stat: WriteStat, counts: MergeCounts)

/**
 * Writes base files and log files of one instant.
 *
 * The rows it is given have the columns of [[SliceWriter.rowSchema]]: the table's data columns, then the record key, the
 * partition path, and the commit time and sequence number of rows that are already stored.
 *
 * @param schema  the table's data columns
 * @param instant requested time of the commit that writes
 * @param eventTime the column whose range the statistics of each file keep
 * @param compactions pending ones by partition path and file id; below version 8 they name the log files to come
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
    eventTime: Option[EventTimeColumn] = None
) {
  private val width      = schema.length
  private val fileSchema = StructType(MetaColumns.schema ++ schema)

  /** Tells a delete by what the file keeps of its row. */
  private val storedDeletes = DeleteCheck(schema, PayloadClasses.markers(config))

  /**
   * Writes a base file from what the merge leaves.
   *
   * @param previous   the slice whose base file this one follows, if any
   * @param stampAll   true when winners are changes of this instant; false in a compaction, where they keep their own
   * @param ordering   compares ordering values, to count ties; null under a rule that has none
   * @return nothing if there is no row to write and no earlier slice to follow
   */
  def writeBase(
      partitionPath: String,
      fileId: String,
      previous: Option[FileSlice],
      merge: MergeIterator,
      stampAll: Boolean,
      ordering: OrderingComparator,
      token: WriteToken
  ): Option[SliceWritten] = {
    val file = new OpenBase(partitionPath, fileId, previous, token)
    try {
      if (previous.isDefined) file.open()
      while (merge.next()) file.add(merge, stampAll, ordering)
      file.close()
    } catch {
      case e: Throwable =>
        file.abort()
        throw e
    }
  }

  /**
   * Writes the base file of a new group; where it is full, of further new groups, which begin with another key.
   *
   * @param fileId of the first group
   * @return nothing if there is no row to write
   */
  def writeNewBases(
      partitionPath: String,
      fileId: String,
      merge: MergeIterator,
      ordering: OrderingComparator,
      token: WriteToken
  ): Seq[SliceWritten] = {
    val written = Seq.newBuilder[SliceWritten]
    var count   = 0
    var file    = new OpenBase(partitionPath, fileId, None, token)
    try {
      while (merge.next()) {
        if (merge.isLive && file.endsBefore(merge.row)) {
          written ++= file.close()
          count += 1
          file = new OpenBase(partitionPath, FileNames.following(fileId, count), None, token)
        }
        file.add(merge, stampAll = true, ordering)
      }
      written ++= file.close()
      written.result()
    } catch {
      case e: Throwable =>
        file.abort()
        throw e
    }
  }

  /** A base file that is being written, and what the merge made of rows meanwhile. */
  private final class OpenBase(partitionPath: String, fileId: String, previous: Option[FileSlice], token: WriteToken) {
    private[this] val name                   = FileNames.base(fileId, token.toString, instant)
    private[this] val meta                   = new MetaRow(instant, token, UTF8String.fromString(name))
    private[this] val joined                 = new JoinedRow
    private[this] val times                  = new EventTimes(eventTime)
    private[this] var writer: BaseFileWriter = _
    private[this] var (inserted, updated, unchanged, late, deleted, ties) = (0L, 0L, 0L, 0L, 0L, 0L)
    private[this] var rows                                                = 0L
    private[this] var check                                               = SliceWriter.FirstCheck
    private[this] var lastKey: UTF8String                                 = _

    def open(): Unit = {
      markers.create(partitionPath, name, if (previous.exists(_.base.isDefined)) "MERGE" else "CREATE")
      writer =
        new BaseFileWriter(storage.conf, storage.path(FileNames.path(partitionPath, name)), fileSchema, baseOptions)
    }

    def add(merge: MergeIterator, stampAll: Boolean, ordering: OrderingComparator): Unit = {
      val row = merge.row
      merge.outcome match {
        case Outcome.Unchanged => unchanged += 1
        case Outcome.Late      => late += 1
        case Outcome.Updated =>
          updated += 1
          if (ordering != null && ordering.compare(merge.storedRow, row) == 0) ties += 1
        case Outcome.Inserted => inserted += 1
        case Outcome.Deleted  => deleted += 1
        case Outcome.Absent   =>
      }
      if (merge.isLive) {
        if (writer == null) open()
        val isNew = stampAll && merge.outcome >= Outcome.Updated
        if (merge.outcome >= Outcome.Updated) times.add(row, null)
        writer.write(joined(if (isNew) meta.stamped(row, width) else meta.kept(row, width), row))
        rows += 1
        if (rows == check) look(row)
      }
    }

    /** How full it is costs a look at each column, so it is looked at half way to where it would be full. */
    private def look(row: InternalRow): Unit = {
      val (bytes, max) = (writer.estimatedBytes, baseOptions.maxFileBytes)
      if (bytes >= max) lastKey = row.getUTF8String(width).copy()
      else
        check = rows + math.max(1L, math.min(SliceWriter.LargestStep, (max - bytes) / math.max(1L, bytes / rows) / 2))
    }

    /** Whether it is full, and the row is of another key than the last one. */
    def endsBefore(row: InternalRow): Boolean = lastKey != null && row.getUTF8String(width) != lastKey

    /** Nothing if no row was written, and none had to. */
    def close(): Option[SliceWritten] =
      if (writer == null) None
      else {
        val written = writer.close()
        Some(SliceWritten(
            WriteStat(
              fileId = fileId,
              path = FileNames.path(partitionPath, name),
              partitionPath = partitionPath,
              prevCommit = previous.flatMap(_.base).map(_.instant).getOrElse("null"),
              numWrites = written.rowCount,
              numInserts = inserted,
              numUpdateWrites = updated,
              numDeletes = deleted,
              fileSizeInBytes = written.sizeBytes,
              totalWriteBytes = written.sizeBytes,
              prevBaseFile = previous.flatMap(_.base).map(_.name),
              minEventTime = times.least,
              maxEventTime = times.greatest
            ),
            MergeCounts(inserted, updated, unchanged, late, deleted, ties)
          ))
      }

    def abort(): Unit = if (writer != null) writer.abort()
  }

  private def namesLogsBySlice: Boolean = config.version < 8

  /** Instant and number in the name of a log file: of the delta commit, or, below version 8, the slice's with the next number. */
  private def logName(slice: FileSlice): (String, Int) =
    if (!namesLogsBySlice) (instant, 1)
    else {
      val named = compactions.getOrElse(slice.group, slice.baseInstant)
      (named, slice.logs.filter(_.instant == named).map(_.version).foldLeft(0)(math.max(_, _)) + 1)
    }

  /**
   * Appends a log to a slice, in one file or more: the versions of a batch, those of a key in the order in which they came.
   *
   * @param merge            the versions one a step, with nothing stored under them; below version 8, where a log holds
   *                         full rows only, they were merged with the stored rows
   * @param keepsDeletedRows true where the rule looks at more of a delete than its ordering value
   * @return nothing if the batch comes to nothing
   */
  def appendLog(
      slice: FileSlice,
      merge: MergeIterator,
      layout: RowLayout,
      token: WriteToken,
      keepsDeletedRows: Boolean = false
  ): Seq[SliceWritten] = {
    val (nameInstant, version) = logName(slice)
    val meta                   = new MetaRow(instant, token, UTF8String.fromString(slice.fileId))
    val times                  = new EventTimes(eventTime)
    val blocks =
      new BlockPlanner(merge, layout, storedDeletes, keepsDeletedRows, takesPartials = config.version >= 8, schema,
        slice.partitionPath, meta, times)
    if (blocks.isEmpty) Nil
    else {
      val kind                         = if (namesLogsBySlice) "APPEND" else "CREATE"
      def announce(name: String): Unit = markers.create(slice.partitionPath, name, kind)
      val writer = new LogWriter(storage, config.name, slice.partitionPath, slice.fileId, nameInstant, instant, version,
        token.toString,
        fileSchema, logOptions, announce)
      try {
        blocks.write(writer)
        val last = writer.close()
        val all  = writer.earlier :+ last
        all.indices.map { i =>
          val written = all(i)
          SliceWritten(
            WriteStat(
              fileId = slice.fileId,
              path = FileNames.path(slice.partitionPath, written.name),
              partitionPath = slice.partitionPath,
              prevCommit = nameInstant,
              numWrites = written.records + written.deletes,
              numUpdateWrites = written.records,
              numDeletes = written.deletes,
              fileSizeInBytes = written.sizeBytes,
              totalWriteBytes = written.sizeBytes,
              logVersion = Some(version + i),
              logOffset = Some(0L),
              baseFile = Some(slice.base.map(_.name).getOrElse("")),
              logFiles = Seq(written.name),
              minEventTime = times.least,
              maxEventTime = times.greatest
            ),
            MergeCounts(appended = written.records + written.deletes, appendedDeletes = written.deletes)
          )
        }
      } catch {
        case e: Throwable =>
          writer.abort()
          throw e
      }
    }
  }
}

object SliceWriter {

  /** Rows after which a new file is first looked at for being full, and at most between two looks. */
  private val FirstCheck  = 100L
  private val LargestStep = 10000L

  /** The columns of the rows a write works on. */
  def rowSchema(schema: StructType): StructType =
    StructType(schema ++ Seq(MetaColumns.RecordKey, MetaColumns.PartitionPath, MetaColumns.CommitTime,
      MetaColumns.CommitSeqno).map(
      MetaColumns.schema(_)))
}
