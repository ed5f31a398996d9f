package io.merganser.table.explain

import io.merganser.merge.{Json, RowLayout, Version}
import io.merganser.merge.buffer.{KeyTrace, Outcome, TraceStep}
import io.merganser.table.base.BaseFileFooter
import io.merganser.table.change.ChangeReason
import io.merganser.table.file.{BaseFile, FileGroupId, LogFile}
import io.merganser.table.index.StoredBloomFilter
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.{FileSlice, SliceInput, SliceReader, SliceVersions, TableSnapshot, VersionReceiver}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.sources.EqualTo
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.mutable

/**
 * Reads the versions of one key in file groups that may have it, and merges them one after the other by the table's
 * rule, as readers do. In a task.
 *
 * A base file is read if the range and the Bloom filter in its footer admit the key; the logs of a slice if its base
 * file has it, or if they may have inserted it. What lost against a row of a copy-on-write table is in no file.
 *
 * @param zone in which timestamps are shown
 */
final class RecordHistory(
    table: TableSnapshot,
    zone: String,
    key: String
) extends Serializable {
  import table.{columns, config, rule, storage}

  private val input = new SliceInput(table, StructType(columns ++ MetaColumns.schema),
    keyFilters = Seq(EqualTo(MetaColumns.RecordKey, key)))

  /**
   * @throws io.merganser.merge.MerganserException SLICE_FILE_MISSING if a clean removed a file meanwhile, and what
   *                                               reading a slice throws
   */
  def of(group: CandidateGroup): GroupHistory = new GroupFold(group).result

  private final class GroupFold(group: CandidateGroup) {
    private[this] val schema     = input.schema
    private[this] val layout     = input.layout
    private[this] val fold       = input.fold(FileGroupId(group.partitionPath, group.fileId))
    private[this] val reasons    = new ChangeReason(rule, columns)
    private[this] val sentences  = new RecordSentences(rule, layout, columns.length, zone)
    private[this] val commitTime = schema.fieldIndex(MetaColumns.CommitTime)
    private[this] val wantedKey  = UTF8String.fromString(key)
    private[this] val keyBytes   = key.getBytes("UTF-8")
    private[this] val steps      = mutable.ArrayBuffer.empty[RecordStep]
    private[this] var opened     = OpenedFiles(0, 0, 0)
    private[this] var current    = -1 // position of the step whose row is the key's
    private[this] var state      = null: Version
    private[this] val origins    = new ColumnOrigins(columns)
    private[this] var compaction = ""

    def result: GroupHistory = {
      val slices = joined
      slices.indices.foreach { i =>
        val slice = slices(i)._1
        val found = slice.base.map(base => base -> storedRows(slice, base))
        found.foreach { case (base, rows) => add(slice, base, rows) }
        val stored = state
        val first  = steps.length
        if (slice.logs.nonEmpty && (slices(i)._2 || state != null)) addLogs(slice)
        if (i == slices.length - 1) compaction = sentences.nextCompaction(config.isMergeOnRead,
          slice.logs.nonEmpty, live(stored), live(state), steps.length - first,
          if (current < 0) "" else steps(current).commit, config.tombstoneHours.isDefined)
      }
      if (steps.nonEmpty) end()
      GroupHistory(group.partitionPath, group.fileId, group.replacedBy, steps.toList, compaction, opened)
    }

    private def end(): Unit = group.replacedBy match {
      case Some(instant) =>
        compaction = sentences.replaced(instant)
        val last = steps.last
        steps += RecordStep(last.slice, instant, "", isInLog = false, VersionKind.Row, RecordDecision.Replaced,
          sentences.replaced(instant), None, None, None, None, None)
      case None if current >= 0 => steps(current) = steps(current).copy(isCurrent = true)
      case None                 => ()
    }

    /** A slice without a base file follows a compaction that is planned: its logs are read with the slice before. */
    private def joined: IndexedSeq[(FileSlice, Boolean)] = {
      val all = mutable.ArrayBuffer.empty[(FileSlice, Boolean)]
      group.slices.indices.foreach { i =>
        val slice     = group.slices(i)
        val mayInsert = group.inserting(i)
        if (slice.base.isEmpty && all.nonEmpty) {
          val (last, lastInserts) = all.last
          all(all.length - 1) = (last.copy(logs = (last.logs ++ slice.logs).sorted), lastInserts || mayInsert)
        } else all += ((slice, mayInsert))
      }
      all.toIndexedSeq
    }

    private def storedRows(slice: FileSlice, base: BaseFile): Seq[InternalRow] = {
      opened += OpenedFiles(1, 0, 0)
      val footer = BaseFileFooter.read(storage.conf, storage.path(base.path), base.sizeBytes)
      if (!mayHold(footer)) Nil
      else {
        opened += OpenedFiles(0, 1, 0)
        val rows = new SliceReader(input).storedRows(slice)
        try rows.filter(row => layout.key(row) == wantedKey).map(_.copy()).toList
        finally rows.close()
      }
    }

    private def mayHold(footer: BaseFileFooter): Boolean =
      footer.minKey.forall(min => UTF8String.fromString(min).compareTo(wantedKey) <= 0) &&
        footer.maxKey.forall(max => UTF8String.fromString(max).compareTo(wantedKey) >= 0) &&
        footer.bloomFilter.flatMap(StoredBloomFilter.decode).forall(_.mayContain(keyBytes))

    private def add(slice: FileSlice, base: BaseFile, rows: Seq[InternalRow]): Unit = {
      val before = live(state)
      val last   = Option(state)
      rows match {
        case row +: copies =>
          val version = new Version().set(row, isDelete = false, isUnconditional = false)
          val commit  = commitOf(row, base.instant)
          val isNew = if (row.isNullAt(commitTime)) before == null || !isSame(before.row, row)
          else commit == base.instant
          val decision = if (!isNew) RecordDecision.Stored else RecordDecision.of(reasons.of(rowOf(before), row))
          val reason =
            if (isNew) sentences.written(decision, before, row)
            else sentences.stored(base.instant, commit, before != null && !isSame(before.row, row))
          if (isNew && rule.isDecidedByOrdering) origins.all(commit, base.name)
          else if (isNew || before == null || !isSame(before.row, row))
            origins.changed(rowOf(before), row, commit, base.name)
          state = version
          current = steps.length
          steps += step(slice, commit, base.name, isInLog = false, version, decision, reason, before, version)
          copies.foreach { copy =>
            val other = new Version().set(copy, isDelete = false, isUnconditional = false)
            steps += step(slice, commitOf(copy, base.instant), base.name, isInLog = false, other,
              RecordDecision.Duplicate, sentences.duplicate(rows.size), version, version)
          }
        case _ =>
          state = input.tombstones(slice).versions(layout, slice.partitionPath).find(wantedKey)
          current = -1
          val retained = Option(state).filter(delete => !last.exists(sentences.isSameDelete(_, delete)))
          if (before != null || retained.isDefined)
            steps += RecordStep(slice.baseInstant, base.instant, base.name, isInLog = false, VersionKind.Delete,
              RecordDecision.Deleted,
              retained.fold(sentences.gone(base.instant))(_ => sentences.retained(base.instant)),
              Option(state).flatMap(sentences.ordering), Option(before).flatMap(sentences.ordering), None, None, None)
      }
    }

    /** Logs of an earlier rule are not merged any more: what became of them is in the next base file. */
    private def addLogs(slice: FileSlice): Unit = if (slice.isOfRule(config)) {
      opened += OpenedFiles(0, 0, slice.logs.count(!_.name.endsWith(".cdc")))
      val trace = new KeyTrace(fold, state)
      new SliceVersions(input).eachVersion(slice)(new VersionReceiver {
        private[this] var (file, instant) = ("", "")

        override def block(log: LogFile, of: String): Unit = {
          file = log.name
          instant = of
        }

        override def add(version: Version): Unit = if (layout.key(version.row) == wantedKey) {
          val traced = trace.add(version.copy())
          val commit = if (version.isDelete) instant else commitOf(version.row, instant)
          if (traced.after != null) state = traced.after
          steps += logged(slice, traced, commit, file)
        }
      })
    }

    private def logged(slice: FileSlice, traced: TraceStep, commit: String, file: String): RecordStep = {
      val TraceStep(version, before, after, outcome) = traced
      val decision                                   = RecordDecision.of(traced, reasons)
      outcome match {
        case Outcome.Inserted | Outcome.Updated =>
          current = steps.length
          if ((after.row eq version.row) || outcome == Outcome.Inserted) origins.all(commit, file)
          else origins.changed(before.row, after.row, commit, file)
        case Outcome.Deleted | Outcome.Absent => current = -1
        case _                                => ()
      }
      step(slice, commit, file, isInLog = true, version, decision, sentences.merged(traced, decision), before, after)
    }

    private def step(
        slice: FileSlice,
        commit: String,
        file: String,
        isInLog: Boolean,
        version: Version,
        decision: RecordDecision,
        reason: String,
        before: Version,
        after: Version
    ): RecordStep = {
      val row = live(after)
      RecordStep(slice.baseInstant, commit, file, isInLog, sentences.kind(version), decision, reason,
        sentences.ordering(version), Option(before).flatMap(sentences.ordering), sentences.values(version),
        Option(row).flatMap(sentences.values), Option(row).map(_ => origins.json))
    }

    /** In a table without meta columns, the write of the file. */
    private def commitOf(row: InternalRow, instant: String): String =
      if (row.isNullAt(commitTime)) instant else row.getUTF8String(commitTime).toString

    private def live(version: Version): Version = if (version == null || version.isDelete) null else version

    private def rowOf(version: Version): InternalRow = if (version == null) null else version.row

    private def isSame(one: InternalRow, other: InternalRow): Boolean = sentences.row(one) == sentences.row(other)
  }
}

/** For each column of a key's row the commit and the file that its value came from. */
private final class ColumnOrigins(columns: StructType) {
  private[this] val froms = new Array[(String, String)](columns.length)

  /** The whole row is of one version. */
  def all(commit: String, file: String): Unit = columns.indices.foreach(froms(_) = (commit, file))

  /**
   * The row is made of two versions: a column that has another value than before is of the newer one.
   *
   * @param before null if nothing is known of it
   */
  def changed(before: InternalRow, after: InternalRow, commit: String, file: String): Unit =
    columns.indices.foreach { i =>
      if (before == null || froms(i) == null || !ColumnOrigins.isSame(before, after, i, columns))
        froms(i) = (commit, file)
    }

  def json: String = {
    val node = Json.createObjectNode()
    columns.indices.filter(froms(_) != null).foreach { i =>
      node.putObject(columns(i).name).put("commit", froms(i)._1).put("file", froms(i)._2)
    }
    node.toString
  }
}

private object ColumnOrigins {
  private val shown = new ValueJson("UTC")

  def isSame(before: InternalRow, after: InternalRow, at: Int, columns: StructType): Boolean = {
    val dataType               = columns(at).dataType
    def text(row: InternalRow) = shown.values(Seq(("", RowLayout.valueAt(row, at, dataType), dataType)))
    text(before) == text(after)
  }
}
