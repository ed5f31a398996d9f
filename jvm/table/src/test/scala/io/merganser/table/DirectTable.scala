package io.merganser.table

import io.merganser.merge.{Change, DeleteCheck, Notation, RowLayout, Version}
import io.merganser.merge.buffer.{SortedMerge, VersionCursor}
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.base.{BaseFileFooter, BaseFileOptions, BaseReadOptions, RecentRows}
import io.merganser.table.change.{ChangeImages, ChangedRows, CommitWindow, GroupChange, GroupChanges, ImageReader}
import io.merganser.table.commit._
import io.merganser.table.explain.{CandidateGroup, GroupHistory, RecordHistory, ValueJson}
import io.merganser.table.file.{FileNames, WriteToken}
import io.merganser.table.index.BucketIndex
import io.merganser.table.log.LogOptions
import io.merganser.table.options.{FailedWrites, Heartbeats}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.{CompiledRule, StoredRule}
import io.merganser.table.schema.MetaColumns
import io.merganser.table.service.LogCompactionSelection
import io.merganser.table.slice._
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{Action, CommitMetadata, CompactionPlan, Instant, OperationType, Timeline}
import io.merganser.table.verify.{BaseFileCheck, Finding, SliceReplay}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.JavaConverters._

/**
 * The table of [[io.merganser.merge.Notation]], written and read by this module alone: the steps of an engine in a
 * single thread. Keys that end in an even digit are in partition p0, the others in p1.
 *
 * @param bucketed file groups by the hash of the key, two per partition, instead of by looking up the stored keys
 * @param mergers  classes of user-written mergers
 * @param nested   the column `ts` is a struct in a struct, with the ordering field `ts.of.at` inside
 * @param recentRows largest share of its rows that a rewritten base file has a second time
 * @param rowGroupBytes   size of row groups
 * @param copiesFromBytes size from which on base files are copied in part
 */
final class DirectTable(
    val storage: Storage,
    bucketed: Boolean,
    options: Transaction.Options = Transaction.Options(),
    mergers: Seq[String] = Nil,
    nested: Boolean = false,
    recentRows: Double = 0.0,
    rowGroupBytes: Long = BaseFileOptions().rowGroupBytes,
    copiesFromBytes: Long = 0L
) {
  import DirectTable._

  private val columns   = if (nested) nestedSchema else schema
  private val rowSchema = SliceWriter.rowSchema(columns)

  private lazy val config   = TableConfig.load(storage)
  private lazy val rule     = StoredRule.of(config, mergers)
  private lazy val compiled = CompiledRule(rule, config, CompiledRule.layoutSchema(rowSchema, columns, config, rule))

  def timeline: Timeline = Timeline.load(storage, config)

  private def view(now: Timeline) = new TableView(storage, config, now)

  private def snapshot(now: Timeline) = TableSnapshot(storage, config, rule, columns, LogVisibility(now))

  private def reader(now: Timeline, requested: StructType = columns) =
    snapshot(now).reader(requested)

  private def batches(now: Timeline) = new SliceBatchReader(new SliceInput(snapshot(now), rowSchema))

  /** The rows that a reader sees now. */
  def rows: Seq[Change] = rows(timeline)

  /** The rows that a reader of an earlier time sees. */
  def rowsAsOf(instant: String): Seq[Change] = rows(new TimeTravel(storage, config, timeline).to(instant))

  /** Key, commit time and sequence number of each row. */
  def commitColumns: Seq[(String, String, String)] = {
    val now = timeline
    val at  = rowSchema.fieldNames.indexOf(MetaColumns.RecordKey)
    view(now).slices.flatMap { slice =>
      val rows = reader(now, rowSchema).rows(slice)
      try rows.map(r =>
          (r.getUTF8String(at).toString, r.getUTF8String(at + 2).toString, r.getUTF8String(at + 3).toString)).toList
      finally rows.close()
    }.sorted
  }

  /** The rows that a reader of a timeline sees. */
  def rows(now: Timeline): Seq[Change] =
    view(now).slices.flatMap(slice => read(reader(now).rows(slice)))

  /** The rows that a scan reads now, in column batches. */
  def scannedRows: Seq[Change] = {
    val now = timeline
    val of  = new SliceBatchReader(new SliceInput(snapshot(now), columns))
    view(now).slices.flatMap { slice =>
      val batches = of.batches(SlicePart(slice))
      try batches.flatMap(_.rowIterator.asScala.map(change)).toList
      finally batches.close()
    }
  }

  /** What each commit changed, in the order of the commits: before and after. */
  def imagesByCommit: Seq[(String, Seq[(Option[Change], Option[Change])])] = imagesByCommitOf(_.reader())

  def imagesByCommitOf(readerOf: ChangeImages => ImageReader): Seq[(String, Seq[(Option[Change], Option[Change])])] = {
    val now = timeline
    images(new GroupChanges(storage, config, now).of(now.completed.map(i => i -> now.metadata(i))), readerOf)
  }

  /** What each commit of a window changed, as [[imagesByCommit]]. */
  def imagesIn(since: String, until: Option[String]): Seq[(String, Seq[(Option[Change], Option[Change])])] = {
    images(CommitWindow.of(storage, config, timeline, since, until, usesCommitTimes = false).changes())
  }

  /** What a stream of change data begins with: the rows as of a time. */
  def snapshotImages(until: String): Seq[(String, Seq[(Option[Change], Option[Change])])] = {
    val now  = timeline
    val past = CommitWindow.of(storage, config, now, CommitWindow.Earliest, Some(until), usesCommitTimes = false).view
    images(new GroupChanges(storage, config, now).inserts(past, view(past).slices, until))
  }

  /** The rows that were changed last in a window. */
  def changedIn(since: String, until: Option[String]): Seq[Change] = {
    val changed = ChangedRows.of(CommitWindow.of(storage, config, timeline, since, until))
    val slices  = changed.groups.fold(view(changed.view).slices)(view(changed.view).slicesOf(_))
    val at      = rowSchema.fieldIndex(MetaColumns.CommitTime)
    slices.flatMap { slice =>
      val rows = reader(changed.view, rowSchema).rows(slice)
      try rows.filter(row => changed.times.forall(_(row.getUTF8String(at).toString))).map(change).toList
      finally rows.close()
    }
  }

  private def images(
      groups: Seq[GroupChange],
      readerOf: ChangeImages => ImageReader = _.reader()
  ): Seq[(String, Seq[(Option[Change], Option[Change])])] = {
    val images = readerOf(new ChangeImages(snapshot(timeline)))
    groups.map(_.instant).distinct.map { instant =>
      instant -> groups.filter(_.instant == instant).flatMap { group =>
        val open = images.open(group)
        try Iterator.continually(open).takeWhile(_.next()).map(o =>
            (Option(o.before).map(change), Option(o.after).map(change))).toList
        finally open.close()
      }
    }
  }

  /** What became of the versions of a key, in the file groups that have it. */
  def explained(key: String): Seq[GroupHistory] = histories(key).filter(_.steps.nonEmpty)

  /** The same in all file groups. */
  def histories(key: String): Seq[GroupHistory] = {
    val now       = timeline
    val slices    = view(now).allSlices(view(now).partitions).toIndexedSeq
    val inserting = LogInserts.in(slices, config, now, areBuckets = false)
    val history   = new RecordHistory(snapshot(now), "UTC", key)
    slices.indices.groupBy(i => slices(i).group).toSeq.map { case (group, at) =>
      val inserts = at.indices.filter(i => inserting(at(i))).toSet
      history.of(CandidateGroup(group.partitionPath, group.fileId, at.map(slices), inserts, None))
    }
  }

  /** The rows that the explanations of all keys end with, as JSON; a step that is current has one. */
  def explainedRows(keys: Iterable[String]): Seq[String] =
    keys.toSeq.distinct.flatMap(explained).flatMap(_.steps).filter(_.isCurrent).map(_.result.get)

  /** What is wrong with the rows of the newest slices. */
  def findings: Seq[Finding] = {
    val now = timeline
    val written = now.completed.flatMap(now.metadata(_).allStats).map(s =>
      FileNames.path(s.partitionPath, s.fileName) -> s.numWrites).toMap
    val bases  = new BaseFileCheck(storage, config, now.completedInstants, now.history, None, written, None, None)
    val replay = new SliceReplay(snapshot(now), None)
    view(now).slices.flatMap(slice => slice.base.toSeq.flatMap(bases.of(slice, _)) ++ replay.of(slice))
  }

  /** The rows that a reader sees, as JSON. */
  def shownRows: Seq[String] = {
    val now   = timeline
    val shown = new ValueJson("UTC")
    view(now).slices.flatMap { slice =>
      val rows = reader(now).rows(slice)
      try rows.map(shown.row(_, columns, columns.indices)).toList
      finally rows.close()
    }
  }

  /**
   * The rows that were written after the base file of their slice, as JSON: as a reader of changes finds them, and as
   * any other.
   */
  def newerThanBase: (Seq[String], Seq[String]) = {
    val now    = timeline
    val shown  = new ValueJson("UTC")
    val slices = view(now).slices.filter(slice => slice.base.isDefined && slice.logs.nonEmpty)
    def rows(open: FileSlice => SliceBatches) = slices.flatMap { slice =>
      val batches = open(slice)
      def isNewer(row: InternalRow) =
        row.getUTF8String(rowSchema.fieldIndex(MetaColumns.CommitTime)).toString > slice.base.get.instant
      try batches.flatMap(_.rowIterator.asScala.filter(isNewer).map(shown.row(_, rowSchema, rowSchema.indices))).toList
      finally batches.close()
    }.sorted
    (rows(slice => batches(now).loggedBatches(SlicePart(slice))), rows(slice => batches(now).batches(SlicePart(slice))))
  }

  /** How many of the newest base files have rows a second time. */
  def sections: Int = view(timeline).slices.flatMap(_.base).count(base =>
    RecentRows.of(BaseFileFooter.read(storage.conf, storage.path(base.path))).isDefined)

  /** A read of the first file slice. */
  def first[T](read: (SliceReader, FileSlice) => T): T = read(reader(timeline, rowSchema), view(timeline).slices.head)

  /** The rows of base files without logs with commit times from one on, as JSON: as a reader of changes finds them. */
  def rowsSince(instant: String): Seq[String] =
    rowsSince(instant, slice => batches(timeline).recentBatches(SlicePart(slice), instant))

  /** The same rows, as any other reader finds them. */
  def filteredSince(instant: String): Seq[String] =
    rowsSince(instant, slice => batches(timeline).batches(SlicePart(slice)))

  private def rowsSince(instant: String, open: FileSlice => SliceBatches): Seq[String] = {
    val shown = new ValueJson("UTC")
    val at    = rowSchema.fieldIndex(MetaColumns.CommitTime)
    view(timeline).slices.filter(slice => slice.base.isDefined && slice.logs.isEmpty).flatMap { slice =>
      val batches = SliceBatches.where(open(slice), at, rowSchema.length)(instant <= _)
      try batches.flatMap(_.rowIterator.asScala.map(shown.row(_, rowSchema, rowSchema.indices))).toList
      finally batches.close()
    }.sorted
  }

  /** Whether changes are read of change files, by commit and file group. */
  def changesAreStored: Seq[Boolean] = {
    val now = timeline
    new GroupChanges(storage, config, now).of(now.completed.map(i => i -> now.metadata(i))).map(_.changeFiles.nonEmpty)
  }

  /** The rows of the base files alone. */
  def readOptimizedRows: Seq[Change] = readOptimizedRows(timeline)

  def readOptimizedRows(now: Timeline): Seq[Change] =
    view(now).readOptimizedSlices.flatMap(slice => read(reader(now).baseRows(slice)))

  private def action: Action = if (config.isMergeOnRead) Action.DeltaCommit else Action.Commit

  private val settings =
    if (options.heartbeatMs.isDefined) options.copy(failedWrites = FailedWrites.Lazy(Heartbeats.ExpiredAfterMs))
    else options

  /** @return the file groups it was split into */
  def upsert(changes: Seq[Change]): Seq[Part] = Transaction.run(storage, config, action, settings)(write(_, changes))

  /** An upsert whose files are written but not committed yet. */
  def begun(changes: Seq[Change]): Begun = {
    Rollback.failed(storage, config, settings)
    val transaction = Transaction.begin(storage, config, action, options = settings)
    try new Begun(transaction, write(transaction, changes))
    catch { case e: Throwable => throw transaction.abandon(e) }
  }

  final class Begun(transaction: Transaction, work: Work[Seq[Part]]) {
    def parts: Seq[Part] = work.result

    def commit(): Unit = { transaction.run(_ => work); () }
  }

  private def write(transaction: Transaction, changes: Seq[Change]): Work[Seq[Part]] = {
    val slices = view(transaction.timeline).slices
    val parts = changes.groupBy(c => partitionOf(c.key)).toSeq.sortBy(_._1).flatMap { case (partition, some) =>
      place(transaction, partition, slices, some)
    }
    val written = parts.zipWithIndex.flatMap { case (part, task) =>
      write(transaction, part, WriteToken(task, 0, task.toLong))
    }
    val metadata = CommitMetadata(OperationType.Upsert, written.map(_.stat).groupBy(_.partitionPath), extra)
    val basis    = WriteBasis(if (bucketed) KeyScope.Nowhere else KeyScope.InPartition)
    Work(parts, Some(CommitRequest(metadata, parts.flatMap(_.slice).map(_.group).toSet, basis)))
  }

  /** Replaces the rows of some partitions by others, in new file groups. */
  def overwrite(operation: OperationType, partitions: Set[String], changes: Seq[Change] = Nil): Unit =
    Transaction.run(storage, config, Action.ReplaceCommit, settings) { transaction =>
      val replaced = view(transaction.timeline).slicesOf(partitions.toSeq.sorted)
      val written = changes.groupBy(c => partitionOf(c.key)).toSeq.flatMap { case (partition, some) =>
        place(transaction, partition, Nil, some)
      }.zipWithIndex.flatMap { case (part, task) => write(transaction, part, WriteToken(task, 0, task.toLong)) }
      replacing(operation, written, replaced)
    }

  /** Writes the rows of each partition to a new file group, as a clustering does. */
  def cluster(): Unit = Transaction.run(storage, config, Action.ReplaceCommit, settings) { transaction =>
    val replaced = view(transaction.timeline).slices
    val written = replaced.groupBy(_.partitionPath).toSeq.zipWithIndex.flatMap { case ((partition, slices), task) =>
      val rows = slices.map(reader(transaction.timeline, rowSchema).sortedRows(_, null))
      try writer(transaction).rewrite(partition, FileNames.newFileId(), rows.iterator.flatten,
          updatesCommitMetadata = false, WriteToken(task, 0, task.toLong))
      finally rows.foreach(_.close())
    }
    replacing(OperationType.Cluster, written, replaced)
  }

  /** Writes the slices of each partition to a new file group, as a clustering that sorts nothing does. */
  def join(): Unit = Transaction.run(storage, config, Action.ReplaceCommit, settings) { transaction =>
    val replaced = view(transaction.timeline).slices
    val written = replaced.groupBy(_.partitionPath).toSeq.zipWithIndex.flatMap { case ((partition, slices), task) =>
      writer(transaction).join(partition, FileNames.newFileId(), slices, reader(transaction.timeline, rowSchema),
        WriteToken(task, 0, task.toLong))
    }
    replacing(OperationType.Cluster, written, replaced)
  }

  private def replacing(
      operation: OperationType,
      written: Seq[WrittenFile],
      replaced: Seq[FileSlice]
  ): Work[Unit] = {
    val metadata = CommitMetadata(operation, written.map(_.stat).groupBy(_.partitionPath), extra,
      replaced.groupBy(_.partitionPath).map { case (partition, some) => partition -> some.map(_.fileId) })
    Work((), Some(CommitRequest(metadata, replaced.map(_.group).toSet)))
  }

  /** Schedules a compaction of all slices with logs. */
  def scheduleCompaction(): Option[Instant] = CompactionSchedule.schedule(storage, config, options.access) { now =>
    Some(view(now).slices.filter(_.logs.nonEmpty)).filter(_.nonEmpty).map(slices =>
      CompactionPlan(slices.map(s => CompactionPlan.operation(s.group, s.baseInstant, s.base, s.logs))))
  }

  /** Runs the scheduled compactions. */
  def runCompactions(): Unit = timeline.pendingCompactions.foreach { instant =>
    ScheduledCompactions.begin(storage, config, instant, options).run { transaction =>
      val operations = transaction.timeline.compactionPlan(instant).operations
      val now        = transaction.timeline
      val slices     = PlannedSlices.of(storage, config, view(now), now.compactionPlan(instant))
      val written = slices.zipWithIndex.flatMap { case (slice, task) =>
        val files = writer(transaction)
        val open  = reader(transaction.timeline, rowSchema).merge(slice, files)
        try files.writeBase(slice.partitionPath, slice.fileId, Some(slice), open.merge,
            updatesCommitMetadata = false,
            WriteToken(task, transaction.runNumber, task.toLong), open.footer).files
        finally open.close()
      }
      val metadata = CommitMetadata(OperationType.Compact, written.map(_.stat).groupBy(_.partitionPath), extra)
      Work((), Some(CommitRequest(metadata, operations.map(_.group).toSet)))
    }
  }

  def compact(): Unit = {
    scheduleCompaction()
    runCompactions()
  }

  /** Schedules a log compaction of all slices with blocks of several writes. */
  def scheduleLogCompaction(): Option[Instant] =
    CompactionSchedule.schedule(storage, config, options.access, action = Action.LogCompaction) { now =>
      val due = LogCompactionSelection.candidates(view(now).slices, config, now).filter(slice =>
        LogCompactionSelection.isDue(snapshot(now).versions(rowSchema).logBlocks(slice), leastBlocks = 2,
          takesPartial = true))
      Some(LogCompactionSelection.plan(due)).filter(_.operations.nonEmpty)
    }

  /** Runs the scheduled log compactions; removes those with nothing to do. */
  def runLogCompactions(): Unit = timeline.pendingLogCompactions.foreach { instant =>
    val run = beginLogCompaction(instant)
    if (run.isEmpty) {
      run.transaction.rollback()
      assert(CompactionSchedule.cancel(storage, config, instant, options))
    } else run.commit()
  }

  /** A run of a log compaction whose files are written but not committed yet. */
  def beginLogCompaction(instant: Instant): BegunLogs = {
    val transaction = ScheduledCompactions.begin(storage, config, instant, options)
    try {
      val now     = transaction.timeline
      val slices  = LogCompactionSelection.current(now.compactionPlan(instant), view(now), now)
      val visible = LogVisibility(now).copy(maxInstant = instant.requested)
      val written = slices.zipWithIndex.flatMap { case (slice, task) =>
        val logs = TableSnapshot(storage, config, rule, columns, visible).versions(rowSchema).logVersions(slice)
        try writer(transaction).appendLog(slice, logs.merge, logs.layout,
            WriteToken(task, transaction.runNumber, task.toLong), rule.columns(columns).nonEmpty, logs.instants)
        finally logs.close()
      }
      val metadata = CommitMetadata(OperationType.LogCompact, written.map(_.stat).groupBy(_.partitionPath), extra)
      new BegunLogs(transaction, CommitRequest(metadata, slices.map(_.group).toSet))
    } catch { case e: Throwable => throw transaction.abandon(e) }
  }

  final class BegunLogs(val transaction: Transaction, request: CommitRequest) {
    def isEmpty: Boolean = request.metadata.stats.isEmpty

    def commit(): Unit = { transaction.run(_ => Work((), Some(request))); () }
  }

  def compactLogs(): Unit = {
    scheduleLogCompaction()
    runLogCompactions()
  }

  private def place(
      transaction: Transaction,
      partition: String,
      all: Seq[FileSlice],
      changes: Seq[Change]
  ): Seq[Part] = {
    val slices = all.filter(_.partitionPath == partition)
    if (bucketed)
      changes.groupBy(c => BucketIndex.bucket(c.key, Nil, 2)).toSeq.sortBy(_._1).map { case (bucket, some) =>
        val slice = slices.find(s => FileNames.bucketOf(s.fileId).contains(bucket))
        Part(partition, slice.fold(FileNames.bucketFileId(bucket, transaction.instant, partition))(_.fileId), slice,
          config.isMergeOnRead && slice.isDefined, some)
      }
    else {
      val stored = slices.flatMap(s => read(reader(transaction.timeline).baseRows(s)).map(_.key -> s)).toMap
      val small  = slices.find(s => s.logs.isEmpty && s.base.isDefined)
      changes.groupBy(c => stored.get(c.key).orElse(small)).toSeq.sortBy(_._1.map(_.fileId)).map { case (slice, some) =>
        Part(partition, slice.fold(FileNames.newFileId())(_.fileId), slice,
          config.isMergeOnRead && some.forall(c => stored.contains(c.key)), some)
      }
    }
  }

  private def write(transaction: Transaction, part: Part, token: WriteToken): Seq[WrittenFile] = {
    val batch = new Batch(part, compiled.layout, nested)
    val fold  = compiled.fold(FileNames.path(part.partition, part.fileId))
    if (part.isLog) writer(transaction).appendLog(part.slice.get,
      SortedMerge.forLog(batch, compiled.layout, fold), compiled.layout, token)
    else {
      val derived = new DerivedColumns(config, compiled.layout.schema, None)
      val replaced = for (slice <- part.slice; base <- slice.base) yield {
        val open = new TableFileReader(storage, part.partition, base, derived, _: BaseReadOptions)
        new ReplacedRows(writer(transaction), slice, compiled.layout, isChanged = true, readsByKeys = true, open)
      }
      try {
        val (rows, versions) =
          replaced.fold((Iterator.empty: Iterator[InternalRow], batch: VersionCursor))(_.sorted(batch))
        val merge = SortedMerge.rewrite(rows, versions, compiled.layout, fold)
        if (part.slice.isEmpty && !bucketed)
          writer(transaction).writeNewBases(part.partition, part.fileId, merge, token).files
        else
          writer(transaction).writeBase(part.partition, part.fileId, part.slice, merge, updatesCommitMetadata = true,
            token, replaced.map(_.footer)).files
      } finally replaced.foreach(_.close())
    }
  }

  private def writer(transaction: Transaction): SliceWriter =
    SliceWriter(storage, config, columns, transaction.instant, transaction.markers,
      BaseFileOptions(codec = "uncompressed", rowGroupBytes, recentRows = recentRows,
        copiesFromBytes = copiesFromBytes), LogOptions(), changes = config.changeLogging)

  private def extra: Map[String, String] =
    Map("schema" -> AvroSchemas.toAvro(columns, config.name).toString)

  private def read(rows: SliceRows): Seq[Change] =
    try rows.map(change).toList
    finally rows.close()

  private def change(row: InternalRow): Change = {
    def text(i: Int) = if (row.isNullAt(i)) None else Some(row.getUTF8String(i).toString)
    def ts           = if (nested) row.getStruct(1, 1).getStruct(0, 1).getLong(0) else row.getLong(1)
    Change(text(0).get, if (row.isNullAt(1)) None else Some(ts), Seq(text(2), text(3)))
  }
}

object DirectTable {

  /** The part of a batch that goes to one file group. */
  final case class Part(
      partition: String,
      fileId: String,
      slice: Option[FileSlice],
      isLog: Boolean,
      changes: Seq[Change]
  )

  val schema: StructType = StructType(
    Notation.schema.map(_.copy(nullable = true)) ++ Seq(StructField("part", StringType),
      StructField(DeleteCheck.FlagColumn, BooleanType)))

  private val nestedSchema: StructType = StructType(schema.map { field =>
    if (field.name == "ts")
      field.copy(dataType = new StructType().add("of", new StructType().add("at", field.dataType)))
    else field
  })

  def partitionOf(key: String): String = s"p${key.last.asDigit % 2}"

  def properties(mergeOnRead: Boolean, eventTime: Boolean = true): Map[String, String] = Map(
    "hoodie.table.name" -> "t",
    "hoodie.table.type" -> (if (mergeOnRead) "MERGE_ON_READ" else "COPY_ON_WRITE"),
    "hoodie.table.version" -> "9",
    "hoodie.timeline.layout.version" -> "2",
    "hoodie.table.recordkey.fields" -> "k",
    "hoodie.table.partition.fields" -> "part",
    "hoodie.table.timeline.timezone" -> "UTC"
  ) ++ (if (eventTime) Map("hoodie.record.merge.mode" -> "EVENT_TIME_ORDERING", "hoodie.table.ordering.fields" -> "ts")
        else Map("hoodie.record.merge.mode" -> "COMMIT_TIME_ORDERING"))

  /** A batch's versions of one file group, by key and then in order of arrival; one row object for all. */
  private final class Batch(part: Part, layout: RowLayout, nested: Boolean) extends VersionCursor {
    private val left = part.changes.sortBy(_.key).iterator
    private val row  = new GenericInternalRow(layout.schema.length)
    private val path = UTF8String.fromString(part.partition)

    override val record: Version = new Version

    override def next(): Boolean = left.hasNext && {
      val change = left.next()
      val key    = UTF8String.fromString(change.key)
      val ts     = change.ts.map(at => if (nested) Rows.row(Rows.row(at)) else at)
      val values =
        Seq[Any](key, ts.orNull, text(change.values.head), text(change.values(1)), path, change.isDelete, key, path)
      (0 until layout.schema.length).foreach(i => row.update(i, if (i < values.length) values(i) else null))
      if (change.isDelete && !change.ordered) record.set(row, isDelete = true, isUnconditional = true)
      else layout.fill(record, row: InternalRow, if (change.isPartial) mask(change) else null, change.inserts)
      true
    }

    private def mask(change: Change): Array[Boolean] =
      (true +: change.provided).toArray.padTo(layout.schema.length, true)

    private def text(value: Option[String]): UTF8String = value.map(UTF8String.fromString).orNull
  }
}
