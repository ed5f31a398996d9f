// Hot path: one call per row.
package io.merganser.table.slice

import io.merganser.merge.buffer.{MergeCounts, MergeIterator, MergeTally, Outcome, RowEquality}
import io.merganser.table.base.{BaseFileFooter, BaseFileWriter, EventTimes, RecentRowBuffer, RecentRows, ReplacedFile}
import io.merganser.table.file.{FileNames, Marker, MarkerKind, WriteToken}
import io.merganser.table.log.{ChangeLogWriter, MetaRow}
import io.merganser.table.timeline.WriteStat
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.JoinedRow
import org.apache.spark.unsafe.types.UTF8String

/**
 * A base file that is being written, with counts of the outcomes of the merge.
 *
 * @param updatesCommitMetadata whether changed rows get the commit metadata columns of this instant
 * @param replaced footer of the base file that this one supersedes, if it is known
 * @param moved    deletes to retain that are in no file before this one
 * @param sources  files whose rows come first, in their order: see [[move]]
 */
private[slice] final class OpenBaseFile(
    slices: SliceWriter,
    partitionPath: String,
    fileId: String,
    previous: Option[FileSlice],
    token: WriteToken,
    updatesCommitMetadata: Boolean,
    replaced: Option[BaseFileFooter] = None,
    moved: => Tombstones = Tombstones.none,
    sources: Seq[ReplacedFile] = Nil
) {
  import slices.{baseOptions, baseSchema, eventTime, instant, markers, storage}
  import OpenBaseFile._

  private[this] val width      = slices.width
  private[this] val storesKeys = slices.config.storesKeys

  private[this] val name                     = FileNames.base(fileId, token.toString, instant)
  private[this] val meta                     = new MetaRow(instant, token, UTF8String.fromString(name), storesKeys)
  private[this] val joined                   = new JoinedRow
  private[this] val stored                   = slices.storedColumns
  private[this] val times                    = new EventTimes(eventTime)
  private[this] var writer: BaseFileWriter   = _
  private[this] var isPatched                = false // whether the writer gets the rows of replaced files
  private[this] var rows                     = 0L
  private[this] var check                    = FirstCheck
  private[this] var keyWhenFull: UTF8String  = _
  private[this] var changes: ChangeLogWriter = _ // null if none are written
  // Compactions count no updates without effect.
  private[this] val tally =
    new MergeTally(if (updatesCommitMetadata) new RowEquality(slices.schema) else null, countsLateness = true)
  private[this] val tombstones = slices.tombstones.map(_.collector(previous.flatMap(_.base), moved)).orNull

  /** Opens a file that replaces another, even if it gets no row. A service makes no changes. */
  def openReplacement(): Unit = {
    if (updatesCommitMetadata) changes = slices.openChanges(partitionPath, fileId, token).orNull
    open()
  }

  private def open(): Unit = {
    val kind = if (previous.exists(_.base.isDefined)) MarkerKind.Merge else MarkerKind.Create
    token.announce(Marker(partitionPath, name, kind), markers)
    writer =
      new BaseFileWriter(storage.conf, storage.path(FileNames.path(partitionPath, name)), baseSchema, baseOptions,
        storesKeys, recentRows, sources ++ replacedFile)
    isPatched = writer.isPatched
  }

  private def replacedFile: Option[ReplacedFile] =
    for {
      footer <- replaced
      slice  <- previous
      file   <- slices.replacedFile(slice, footer)
    } yield file

  private def recentRows: Option[RecentRowBuffer] =
    for {
      footer <- replaced.filter(_ => storesKeys)
      base   <- previous.flatMap(_.base)
      rows   <- RecentRows.following(footer, base.instant, baseOptions.recentRows, slices.baseCopies)
    } yield rows

  def add(merge: MergeIterator): Unit = {
    val row = merge.row
    tally.add(merge)
    if (changes != null) merge.outcome match {
      case Outcome.Updated | Outcome.Inserted => changes.put(row.getUTF8String(width), merge.storedRow, row)
      case Outcome.Deleted => changes.put(merge.storedRow.getUTF8String(width), merge.storedRow, null)
      case _               =>
    }
    if (tombstones ne null)
      if (!merge.isLive) tombstones.gone(merge.winner) else if (merge.outcome == Outcome.Inserted) tombstones.live(row)
    if (merge.isLive) {
      if (merge.outcome >= Outcome.Updated) times.add(row, null)
      if (isPatched) patch(merge) else put(row, updatesCommitMetadata && merge.outcome >= Outcome.Updated)
    } else dropIfDeleted(merge)
  }

  /** Adds the row of a merge with one of the sources, of which no outcome counts. */
  def move(merge: MergeIterator): Unit = {
    if (writer == null) open()
    if (merge.isLive) patch(merge) else dropIfDeleted(merge)
  }

  private def dropIfDeleted(merge: MergeIterator): Unit =
    if (isPatched && merge.outcome == Outcome.Deleted) writer.drop()

  private def patch(merge: MergeIterator): Unit = {
    val row = merge.row
    if (merge.outcome >= Outcome.Updated) {
      if (merge.outcome == Outcome.Updated) writer.replace(full(merge.storedRow, isNew = false))
      put(row, updatesCommitMetadata)
    } else {
      if (writer.keepsByKey && !writer.collects(row.getUTF8String(width + 2))) writer.keepKey(row.getUTF8String(width))
      else {
        writer.keep(full(row, isNew = false))
        if (!storesKeys) writer.track(row.getUTF8String(width))
      }
      rows += 1
    }
  }

  /** The row as the file has it; reused. */
  private def full(row: InternalRow, isNew: Boolean): InternalRow =
    stored(joined(if (isNew) meta.stamped(row, width) else meta.kept(row, width), row))

  /** Adds a row that is merged with nothing. */
  def add(row: InternalRow): Unit = {
    if (tombstones ne null) tombstones.live(row)
    put(row, updatesCommitMetadata)
  }

  private def put(row: InternalRow, isNew: Boolean): Unit = {
    if (writer == null) open()
    writer.write(full(row, isNew))
    if (!storesKeys) writer.track(row.getUTF8String(width))
    rows += 1
    if (rows == check) checkSize(row)
  }

  /** The size estimate visits every column, so the next check is half way to the row that would fill the file. */
  private def checkSize(row: InternalRow): Unit = {
    val (bytes, max) = (writer.estimatedBytes, baseOptions.maxFileBytes)
    if (bytes >= max) keyWhenFull = row.getUTF8String(width).copy()
    else
      check = rows + math.max(1L, math.min(LargestStep, (max - bytes) / math.max(1L, bytes / rows) / 2))
  }

  def isFull: Boolean = keyWhenFull != null

  /** Whether the file is full and the row has another key than the last one. */
  def endsBefore(row: InternalRow): Boolean = keyWhenFull != null && row.getUTF8String(width) != keyWhenFull

  def counts: MergeCounts = MergeCounts.of(tally)

  /** None if no row was written, no delete is retained and no file was required. */
  def close(): Option[WrittenFile] = {
    val retained = if (tombstones eq null) Tombstones.none else slices.tombstones.get.retained(tombstones)
    if (writer == null && !retained.isEmpty) open()
    if (writer == null) None
    else if (sources.nonEmpty && rows == 0) {
      abort()
      None
    } else {
      slices.tombstones.filterNot(_ => retained.isEmpty).foreach(_.write(retained, writer))
      val written = writer.close()
      Some(WrittenFile(
          WriteStat(
            fileId = fileId,
            path = FileNames.path(partitionPath, name),
            partitionPath = partitionPath,
            prevCommit = previous.flatMap(_.base).map(_.instant).getOrElse("null"),
            numWrites = written.rowCount,
            numInserts = tally.inserted,
            numUpdateWrites = tally.updated,
            numDeletes = tally.deleted,
            fileSizeInBytes = written.sizeBytes,
            totalWriteBytes = written.sizeBytes,
            prevBaseFile = previous.flatMap(_.base).map(_.name),
            cdcStats = if (changes == null) Map.empty else changes.close(),
            minEventTime = times.least,
            maxEventTime = times.greatest
          ),
          counts
        ))
    }
  }

  def abort(): Unit = {
    if (writer != null) writer.abort()
    if (changes != null) changes.abort()
  }
}

private object OpenBaseFile {

  /** Rows before the first check of a new file's size, and the most between two checks. */
  private val FirstCheck  = 100L
  private val LargestStep = 10000L
}
