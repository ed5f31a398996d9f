package io.merganser.spark.write.merge

import io.merganser.merge.{KeyFold, RowLayout, Version}
import io.merganser.merge.buffer.{MergeCounts, MergeIterator, SortedMerge, SortedRows, StoredDeletes, VersionCursor}
import io.merganser.spark.write.place.FileGroupTarget
import io.merganser.spark.write.prepare.PreparedSchema
import io.merganser.table.base.BaseFileFooter
import io.merganser.table.file.{BaseFile, FileNames, WriteToken}
import io.merganser.table.rule.CompiledRule
import io.merganser.table.slice._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

import java.io.Closeable

import scala.collection.mutable

/**
 * How the versions of a batch are merged with each other and with the stored rows.
 *
 * @param combinesNew  if false, every version of a key that is not stored becomes a row of its own
 * @param mergesStored if false, rows are added beside stored ones of the same key, as in a plain insert
 */
final case class MergePhases(combinesNew: Boolean, mergesStored: Boolean) {

  /**
   * In an existing file group, versions that are merged with stored rows are also merged with each other: no key is
   * written twice.
   */
  def combines(group: FileGroupTarget): Boolean = combinesNew || (mergesStored && group.slice.isDefined)

  /** The merge of a batch that is written into a base file. @param deletes that it retains; null for none */
  def merge(
      group: FileGroupTarget,
      stored: Iterator[InternalRow],
      versions: VersionCursor,
      layout: RowLayout,
      fold: KeyFold,
      deletes: StoredDeletes
  ): SortedMerge = (mergesStored, combines(group)) match {
    case (true, true)   => SortedMerge.rewrite(stored, versions, layout, fold, deletes = deletes)
    case (true, false)  => SortedMerge.rewriteUncombined(stored, versions, layout, fold)
    case (false, true)  => SortedMerge.insertBeside(stored, versions, layout, fold)
    case (false, false) => SortedMerge.insertUncombined(stored, versions, layout, fold)
  }
}

/** Rows that readers see, and the table's rule for them. */
final case class StoredRows(reader: SliceReader, compiled: CompiledRule)

/**
 * How a write appends to logs.
 *
 * @param writesDeletedRows true where the rule reads more of a delete than its ordering value
 * @param stored           reader of the stored rows, if partial rows need them
 * @param mergesWithStored true if partial rows are merged with the stored ones and logged in full: layouts before
 *                         version 8 have no partial rows
 * @param completesOrdering true where rows that lack ordering fields get the stored values
 * @param keys             reader of the keys in logs
 */
final case class LogWrites(
    writesDeletedRows: Boolean,
    stored: Option[StoredRows],
    mergesWithStored: Boolean,
    completesOrdering: Boolean,
    keys: SliceVersions
)

/**
 * The file groups of rows.
 *
 * @param ordinal of the column with the number of a row's file group; [[GroupTargets.Single]] if each partition path of
 *                a task has one group, which has the number 0
 * @param of      the file group of a (partition path, group number)
 */
final case class GroupTargets(ordinal: Int, of: (UTF8String, Int) => FileGroupTarget)

object GroupTargets {

  /** In place of an ordinal. */
  final val Single = -1
}

/**
 * Last step of a write, in a task: rows sorted by file group, key and arrival are merged with the stored rows of
 * their group, and one file is written for each group; a new group that is full is continued in another.
 *
 * @param rowKey     how keys of stored rows are computed, in a table that stores none
 * @param previewing of a dry run
 */
final class GroupWriter(
    writer: SliceWriter,
    incoming: PreparedSchema,
    compiled: CompiledRule,
    phases: MergePhases,
    targets: GroupTargets,
    logs: LogWrites,
    rowKey: Option[RowKey],
    previewing: Option[Previewing]
) extends Serializable {
  private def stored  = writer.storedIn
  private val layout  = compiled.layout
  private val columns = new DerivedColumns(writer.config, incoming.layout, rowKey)

  def run(rows: Iterator[InternalRow]): Iterator[WrittenGroup] = TaskFiles.write(writer, run = 0) { token =>
    val groups = new GroupedRows(rows, incoming, layout, targets.ordinal)
    Iterator.continually(groups).takeWhile(_.hasGroup).map(write(_, token))
  }

  private def write(groups: GroupedRows, token: WriteToken): WrittenGroup = {
    val group    = targets.of(groups.partitionPath, groups.group)
    val fold     = compiled.fold(FileNames.path(group.partitionPath, group.fileId))
    val cursor   = groups.openGroup()
    val combines = phases.combines(group)
    val preview  = previewing.map(new GroupPreview(_, group, cursor, fold))
    val versions = preview.fold(cursor)(_.seen)
    if (group.isLog) {
      try {
        val (files, refused, merge) =
          appendLog(group.slice.get, versions, fold, token, preview, deletesOf(group, None))
        val appended = MergeCounts.sum(files.map(_.counts))
        val known    = groups.known.fold(appended)(_.instead(appended))
        groupWritten(files, known + MergeCounts(late = refused, tombstones = refused), merge, combines, preview)
      } finally preview.foreach(_.close())
    } else {
      val base = for (slice <- group.slice; file <- slice.base) yield replaced(slice, file)
      try {
        val (rows, read) = base.fold((Iterator.empty: Iterator[InternalRow], versions))(_.sorted(versions))
        val merge        = phases.merge(group, rows, read, layout, fold, deletesOf(group, base).orNull)
        val result       = preview.fold[MergeIterator](merge)(_.of(merge))
        val written =
          if (group.slice.isEmpty && !group.isBucket)
            writer.writeNewBases(group.partitionPath, group.fileId, result, token)
          else
            writer.writeBase(group.partitionPath, group.fileId, group.slice, result, updatesCommitMetadata = true,
              token, base.map(_.footer))
        groupWritten(written.files, written.counts, merge, combines, preview)
      } finally base.foreach(_.close())
    }
  }

  /** @return the files, the number of versions that lost to deletes of the base file, and the merge */
  private def appendLog(
      slice: FileSlice,
      cursor: VersionCursor,
      fold: KeyFold,
      token: WriteToken,
      preview: Option[GroupPreview],
      deletes: Option[StoredDeletes]
  ): (Seq[WrittenFile], Long, SortedMerge) = {
    val open = logs.stored.map(stored => (stored.reader.rows(slice), stored.compiled))
    try {
      val merge = open match {
        case None => SortedMerge.forLog(cursor, layout, fold)
        case Some((rows, ofTable)) =>
          val sorted = SortedRows.byKey(rows, ofTable.layout)
          if (logs.mergesWithStored) SortedMerge.rewrite(sorted, cursor, layout, fold)
          else {
            val completed =
              new LoggedVersions(cursor, sorted, ofTable.layout, ofTable.fold("none"), layout, logs.completesOrdering)
            SortedMerge.forLog(completed, layout, fold)
          }
      }
      val result = preview.fold[MergeIterator](merge)(_.appending(slice, merge))
      val left   = deletes.map(new UnrefusedVersions(result, _, keysInLogs(slice), layout, fold))
      val files = writer.appendLog(slice, left.getOrElse(result), layout, token, logs.writesDeletedRows,
        inserted = left.fold(0L)(_.insertedCount))
      (files, left.fold(0L)(_.refusedCount), merge)
    } finally open.foreach(_._1.close())
  }

  private def keysInLogs(slice: FileSlice): collection.Set[UTF8String] = {
    val found = mutable.HashSet.empty[UTF8String]
    if (slice.logs.nonEmpty) logs.keys.logKeys(slice)(key => found += key.copy())
    found
  }

  /** What a dry run shows of one file group. */
  private final class GroupPreview(how: Previewing, group: FileGroupTarget, cursor: VersionCursor, fold: KeyFold)
      extends Closeable {
    private[this] val rows  = how.open(layout, group.partitionPath, phases.mergesStored)
    private[this] var ofLog = Option.empty[LogPreview]
    val seen: SeenVersions  = new SeenVersions(cursor, layout)

    def of(merge: SortedMerge): MergeIterator =
      new FollowedMerge(merge, fold)(new BasePreview(layout, seen, rows).see)

    def appending(slice: FileSlice, merge: SortedMerge): MergeIterator = {
      val log = new LogPreview(how.stored, slice, layout, how.columns, fold, seen, rows)
      ofLog = Some(log)
      new FollowedMerge(merge, fold)(log.see)
    }

    /** @param all counts of the write */
    def result(all: MergeCounts): MergePreview = {
      val merged = ofLog.fold(all)(_.result.copy(duplicates = all.duplicates))
      MergePreview(merged, rows.result)
    }

    override def close(): Unit = ofLog.foreach(_.close())
  }

  private def groupWritten(
      files: Seq[WrittenFile],
      counts: MergeCounts,
      merge: SortedMerge,
      combines: Boolean,
      preview: Option[GroupPreview]
  ): WrittenGroup = {
    val all = counts.copy(duplicates = if (combines) merge.duplicateCount else 0L)
    WrittenGroup(files, all, preview.map(_.result(all)))
  }

  /** The deletes that the base file of the group retains; None if it retains none. */
  private def deletesOf(group: FileGroupTarget, open: Option[ReplacedRows]): Option[StoredDeletes] =
    group.slice.flatMap(_.base).filter(_ => writer.config.tombstoneHours.isDefined).flatMap { base =>
      val footer   = open.fold(BaseFileFooter.read(stored.conf, stored.path(base.path), base.sizeBytes))(_.footer)
      val retained = Tombstones.of(stored, base, footer, layout.ordering)
      if (retained.isEmpty) None else Some(retained.versions(layout, group.partitionPath))
    }

  private def replaced(slice: FileSlice, base: BaseFile): ReplacedRows = {
    val columnsOf = writer.history.map(_.columns(base.instant))
    new ReplacedRows(writer, slice, layout, isChanged = true, readsByKeys = previewing.isEmpty && columns.isEmpty,
      options => new TableFileReader(stored, slice.partitionPath, base, columns, options.copy(columns = columnsOf)))
  }
}

/** Splits a task's rows into its file groups; each group's rows are its versions, in key order. */
private final class GroupedRows(
    rows: Iterator[InternalRow],
    incoming: PreparedSchema,
    layout: RowLayout,
    groupOrdinal: Int
) {
  private[this] var ahead: InternalRow = if (rows.hasNext) rows.next() else null
  private[this] var open: GroupCursor  = _

  private[this] var outcomes: KnownOutcomes = _

  /** Outcomes of the rows of the group that was opened last, if they have them. */
  def known: Option[KnownOutcomes] = Option(outcomes)

  /** True if another group follows; unread rows of the group before it are skipped. */
  def hasGroup: Boolean = {
    if (open != null) {
      while (open.next()) {}
      open = null
    }
    ahead != null
  }

  def partitionPath: UTF8String = ahead.getUTF8String(incoming.partitionOrdinal)

  def group: Int = if (groupOrdinal == GroupTargets.Single) 0 else ahead.getInt(groupOrdinal)

  def openGroup(): VersionCursor = {
    if (incoming.outcomeOrdinal >= 0) outcomes = new KnownOutcomes(incoming.keyOrdinal, incoming.outcomeOrdinal)
    open = new GroupCursor(partitionPath.copy(), group)
    open
  }

  private final class GroupCursor(path: UTF8String, number: Int) extends VersionCursor {
    private[this] var started = false
    override val record       = new Version

    override def next(): Boolean = {
      if (started && ahead != null && isOwn) ahead = if (rows.hasNext) rows.next() else null
      started = true
      ahead != null && isOwn && {
        incoming.fill(record, ahead, layout)
        if (outcomes != null) outcomes.see(ahead, record.isDelete)
        true
      }
    }

    private def isOwn: Boolean =
      GroupedRows.this.group == number && ahead.getUTF8String(incoming.partitionOrdinal).equals(path)
  }
}
