package io.merganser.spark.write

import io.merganser.merge.MerganserException
import io.merganser.merge.buffer.MergeCounts
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.merge.WrittenGroup
import io.merganser.spark.write.place.{BucketPlaces, IndexResolver, StoredKeyForm, WriteSlices}
import io.merganser.spark.write.prepare.{ColumnMask, GeneratedKeys, Preparation, PreparedRows, RowChecks, WriteRow}
import io.merganser.spark.write.tag.LookupCounts
import io.merganser.table.commit.{CommitRequest, KeyScope, Rollback, Transaction, Work, WriteBasis}
import io.merganser.table.options.{IndexType, MissingColumns, StoredKeyPolicy, WriteOperation}
import io.merganser.table.rule.{CompiledRule, RuleLaws}
import io.merganser.table.schema.{FrameCheck, SchemaEvolution}
import io.merganser.table.settings.{KeylessTable, WriteConfig}
import io.merganser.table.slice.FileSlice
import io.merganser.table.timeline.{Action, CommitMetadata, OperationType, Timeline, WriteStat}
import org.apache.spark.sql.{Column, DataFrame, SparkSession}
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types.StructType

/**
 * Result of one write.
 *
 * @param instant      requested time of its commit; empty if nothing was written and `hoodie.allow.empty.commit` is
 *                     false
 * @param filesWritten base and log files
 * @param bytesWritten size of those files, in bytes
 * @param elapsedMs    from the call to the commit, in milliseconds
 * @param notes        what else the user should know
 * @param dryRun       of a write that was not committed: what it would have done to rows
 * @param lookup       of a statement that looked up its keys: what that read; None too if it repeats a committed one
 */
final case class WriteResult(
    instant: String,
    operation: WriteOperation,
    counts: MergeCounts,
    filesWritten: Int,
    rowsWritten: Long,
    bytesWritten: Long,
    elapsedMs: Long,
    notes: WriteNotes = WriteNotes(),
    dryRun: Option[DryRun] = None,
    lookup: Option[LookupCounts] = None
)

object WriteResult {

  /**
   * The result of a write that was committed before.
   *
   * @param metadata of its commit; None if that is no longer on the timeline: the counts are zero then
   * @param started  of the call, in nanoseconds
   */
  private[write] def of(
      instant: String,
      operation: WriteOperation,
      metadata: Option[CommitMetadata],
      started: Long
  ): WriteResult = {
    val stats = metadata.toSeq.flatMap(_.allStats)
    WriteResult(instant, operation, metadata.fold(MergeCounts())(Counts.of), stats.size, stats.map(_.numWrites).sum,
      stats.map(_.totalWriteBytes).sum, (System.nanoTime() - started) / 1000000L)
  }
}

/** Rows of a statement, computed after the write has begun, from the slices that it writes to. */
trait StatementRows {

  /** @param slices of the snapshot that the write sees */
  def frame(table: OpenTable, slices: WriteSlices): StatementFrame
}

/** @param lookup what a lookup of keys reads for these rows */
final case class StatementFrame(rows: DataFrame, lookup: Option[LookupCounts] = None)

/**
 * An attempt of a write that has begun.
 *
 * @param table   of the snapshot that the write sees, as `slices`
 * @param instant the write's own, of which keys are generated where the table has no key columns
 * @param attempt 0 for the first
 */
private final case class BegunWrite(table: OpenTable, slices: WriteSlices, instant: String, attempt: Int)

private final case class IncomingRows(prepared: PreparedRows, lookup: Option[LookupCounts] = None)

/**
 * The whole of a write: combine -> tag -> merge -> write -> commit.
 *
 * All rows of a key, in order of arrival, reach the one task that writes their file group; there the batch is combined
 * and merged with the stored rows in a single pass.
 *
 * @param fixedIndex used in place of the table's: for rows that have their slices already
 * @param newKeysIn  the buckets of those that have none
 */
final class TableWrite(
    session: SparkSession,
    opened: OpenTable,
    settings: WriteConfig,
    fixedIndex: Option[IndexType] = None,
    newKeysIn: Option[IndexType.Bucket] = None
) {
  private val storage = opened.storage
  private val config  = opened.config

  /**
   * @param frame           rows with the table's columns, or its key and partition columns for a delete; evaluated for
   *                        each attempt
   * @param schema          the table's data columns from this write on
   * @param unconditionalDelete true for rows that delete their key whatever its ordering value
   * @param replaced        stored rows that the same commit removes
   * @param masks           which columns the rows provide, if not all of them; see [[Preparation]]
   * @param readAt          timeline at which the frame reads the table itself, if it does
   * @throws MerganserException COMMIT_CONFLICT, ROWS_OUTSIDE_REPLACED, or the error of a rejected row; nothing is
   *                            visible then
   */
  def run(
      frame: => DataFrame,
      schema: StructType,
      unconditionalDelete: Column,
      replaced: Replaced = Replaced.Nothing,
      masks: Seq[ColumnMask] = Nil,
      readAt: Option[Timeline] = None
  ): WriteResult = {
    def rows(instant: String) = IncomingRows(incoming(frame, schema, unconditionalDelete, masks, instant))
    requireNonBlocking(replaced, readsTable = readAt.isDefined, isPartial = masks.nonEmpty)
    if (KeylessTable.is(config)) commit(schema, replaced, readAt)(begun => rows(begun.instant))
    else {
      // Those of the first attempt are prepared before the write begins, so that an error leaves nothing.
      val first = rows(instant = "")
      commit(schema, replaced, readAt)(begun => if (begun.attempt == 0) first else rows(instant = ""))
    }
  }

  /**
   * Like [[run]], for the rows of a statement.
   *
   * @param readAt          timeline at which the statement read the table to compute its rows, if it did
   * @param looksUpAllPartitions true if the statement looked up the keys it inserts in all partitions
   */
  def change(schema: StructType, masks: Seq[ColumnMask], readAt: Option[Timeline], looksUpAllPartitions: Boolean)(
      rows: StatementRows
  ): WriteResult = {
    requireNonBlocking(Replaced.Nothing, readsTable = true, isPartial = masks.nonEmpty)
    commit(schema, Replaced.Nothing, readAt, looksUpAllPartitions) { begun =>
      val frame = rows.frame(begun.table, begun.slices)
      IncomingRows(incoming(frame.rows, schema, col(WriteRow.UnconditionalDelete.name), masks, begun.instant),
        frame.lookup)
    }
  }

  private def requireNonBlocking(replaced: Replaced, readsTable: Boolean, isPartial: Boolean): Unit =
    if (settings.nonBlocking)
      NonBlocking.require(settings, config, IndexResolver.resolve(settings.index, opened), replaced, readsTable,
        isPartial)

  /** @param instant the write's own, of which keys are generated where the table has no key columns */
  private def incoming(
      frame: DataFrame,
      schema: StructType,
      unconditionalDelete: Column,
      masks: Seq[ColumnMask],
      instant: String
  ): PreparedRows = {
    settings.eventTimeField.foreach(FrameCheck.requireEventTime(schema, config.name, _))
    val isDelete = settings.operation == WriteOperation.Delete
    val keyed    = if (KeylessTable.is(config)) GeneratedKeys.added(session, frame, instant) else frame
    Preparation(settings.keyed(config), settings.rule, schema, RowChecks.of(settings),
      allowMissing = isDelete || settings.missingColumns != MissingColumns.Reject, masks,
      IndexResolver.globalKeys(settings.index, config)).rows(keyed, unconditionalDelete)
  }

  private def commit(
      schema: StructType,
      replaced: Replaced,
      readAt: Option[Timeline],
      looksUpAllPartitions: Boolean = false
  )(rows: BegunWrite => IncomingRows): WriteResult = {
    RuleLaws.requireStated(settings.rule, config, schema)
    // Rows that were read from the table are those of then: writing them again would undo what others have changed.
    val retries = if (readAt.isDefined) 0 else settings.conflictRetries
    new Attempts(opened, settings).run(retries)(attempt(schema, replaced, readAt, looksUpAllPartitions, _)(rows))
  }

  private def attempt(
      schema: StructType,
      replaced: Replaced,
      readAt: Option[Timeline],
      looksUpAllPartitions: Boolean,
      number: Int
  )(rows: BegunWrite => IncomingRows): WriteResult = {
    val started = System.nanoTime()
    // One that only removes partitions stores no key, and one that replaces all rows may store them in any form.
    if (!replaced.isInstanceOf[Replaced.Dropped] && replaced != Replaced.All)
      StoredKeyForm.requireOne(session, settings, opened)
    val index       = fixedIndex.getOrElse(IndexResolver.resolve(settings.index, opened))
    val isOverwrite = replaced != Replaced.Nothing
    val action =
      if (isOverwrite) Action.ReplaceCommit else if (config.isMergeOnRead) Action.DeltaCommit else Action.Commit
    var given: Option[IncomingRows] = None
    val (instant, written, notes, preview) =
      try
        transacted(action, readAt) { transaction =>
          val table = new OpenTable(storage, config, transaction.timeline)
          requireSameColumns(table, transaction.instant)
          // With a base file left by a dead writer, other engines' readers would lose later updates of its group.
          def listed(partitions: Seq[String]): Unit = {
            StoredKeyForm.requireOneIn(session, settings, table, table.view.slicesOfAny(partitions))
            if (!transaction.isDryRun)
              partitions.foreach(p => Rollback.moveOrphans(storage, config, table.view.orphans(p)))
          }
          // An overwrite replaces the partitions of its rows, so there is nothing to merge them with.
          val slices = if (isOverwrite) WriteSlices.none(table) else new WriteSlices(table, listed)
          given = Some(rows(BegunWrite(table, slices, transaction.instant, number)))
          val incoming = given.get.prepared
          val tasks    = WriteTasks(session, table, settings, index, schema, incoming.schema, transaction, newKeysIn)
          val written  = write(tasks, incoming.rows, slices)
          val files    = written.flatMap(_.stats)
          val metadata = commitMetadata(replaced, table, schema, written)
          if (!transaction.isDryRun)
            BucketPlaces.renew(index, table, transaction.instant, metadata.replacedFileIds.keys)
          def previewed = settings.dryRun.map(DryRun.of(session, table, settings, written, metadata.replacedFileIds, _))
          if (files.isEmpty && metadata.replacedFileIds.isEmpty && !settings.commitsEmpty)
            Work(("", written, WriteNotes(ignoredOptions = settings.ignored), previewed), None)
          else {
            val fileIds = files.map(_.fileId).toSet
            val touched = slices.listed.filter(s => fileIds(s.fileId)).map(_.group).toSet
            val scope   = if (looksUpAllPartitions) inTable(index) else newKeys(index, isOverwrite)
            val basis = WriteBasis(scope, replacedPartitions(replaced, metadata.stats.keySet), slices.groups,
              settings.nonBlocking, BucketPlaces.ranges(index, table, transaction.instant, isOverwrite))
            val notes = this.notes(schema).copy(warnings = CompiledRule.warning(config, schema).toSeq)
            Work((transaction.instant, written, noteLogs(notes, slices.listed, files), previewed),
              Some(CommitRequest(metadata, touched, basis)))
          }
        }
      catch {
        case failure: Throwable => throw given.fold(failure)(_.prepared.named(failure))
      }
    val done = result(if (preview.isEmpty) instant else "", written, started)
      .copy(notes = notes, dryRun = preview, lookup = given.flatMap(_.lookup))
    if (preview.isDefined) DryRuns.keep(session, done)
    done
  }

  private def write(tasks: WriteTasks, rows: DataFrame, slices: WriteSlices): Seq[WrittenGroup] =
    try
      tasks.index match {
        case bucket: IndexType.Bucket                             => WriteByBucket(tasks).write(rows, slices, bucket)
        case _ if settings.operation == WriteOperation.BulkInsert => WriteByRange(tasks).write(rows)
        case _                                                    => WriteBySlice(tasks).write(rows, slices)
      }
    finally tasks.close()

  private def transacted[T](action: Action, readAt: Option[Timeline])(body: Transaction => Work[T]): T =
    if (settings.dryRun.isDefined) Transaction.dryRun(storage, config, action, options(readAt))(body)
    else Transaction.run(storage, config, action, options(readAt))(body)

  private def options(readAt: Option[Timeline]): Transaction.Options =
    Transaction.Options.of(settings).copy(readAt = readAt, opened = Some(opened.timeline))

  /** The rows have the columns of the table as it was opened: rewritten files would lose columns added since. */
  private def requireSameColumns(now: OpenTable, instant: String): Unit =
    if (now.schema != opened.schema)
      throw MerganserException("COMMIT_CONFLICT", "instant" -> instant, "path" -> storage,
        "reason" -> "another writer changed the table's columns since the write was planned")

  private def operationType(replaced: Replaced): OperationType = replaced match {
    case Replaced.Nothing                     => OperationType.of(settings.operation)
    case Replaced.All                         => OperationType.InsertOverwriteTable
    case Replaced.Written | _: Replaced.Where => OperationType.InsertOverwrite
    case _: Replaced.Dropped                  => OperationType.DeletePartition
  }

  /** File groups that readers no longer see, by partition. */
  private def replacedBy(replaced: Replaced, written: Set[String], table: OpenTable): Map[String, Seq[String]] = {
    val gone = replacedPartitions(replaced, written)
    replaced match {
      case Replaced.Where(condition, _) if !written.forall(gone) =>
        throw MerganserException("ROWS_OUTSIDE_REPLACED", "table" -> config.name, "condition" -> condition,
          "partitions" -> written.toSeq.sorted.filterNot(gone).take(10).mkString(", "))
      case _ => ()
    }
    if (replaced == Replaced.Nothing) Map.empty
    else {
      val partitions = if (replaced == Replaced.Written) written.toSeq else table.view.partitions.filter(gone)
      table.view.slicesOfAny(partitions).groupBy(_.partitionPath).map { case (p, slices) => p -> slices.map(_.fileId) }
    }
  }

  /** True for partitions whose rows are removed, both existing ones and those that other writers may add. */
  private def replacedPartitions(replaced: Replaced, written: Set[String]): String => Boolean = replaced match {
    case Replaced.Nothing          => _ => false
    case Replaced.All              => _ => true
    case Replaced.Written          => written
    case Replaced.Dropped(isGone)  => isGone
    case Replaced.Where(_, isGone) => isGone
  }

  /** Where the write looked up its keys; nowhere for buckets, since every writer of a key touches the same bucket. */
  private def newKeys(index: IndexType, isOverwrite: Boolean): KeyScope = {
    val looksUp = settings.operation match {
      case WriteOperation.Upsert => true
      case WriteOperation.Insert =>
        settings.storedKeys == StoredKeyPolicy.Drop || settings.storedKeys == StoredKeyPolicy.Fail
      case _ => false
    }
    if (!looksUp || isOverwrite || index.isInstanceOf[IndexType.Bucket]) KeyScope.Nowhere
    else if (IndexResolver.globalKeys(index, config).isDefined) KeyScope.InTable
    else KeyScope.InPartition
  }

  private def inTable(index: IndexType): KeyScope = index match {
    case _: IndexType.Bucket if config.partitionFields.isEmpty => KeyScope.Nowhere
    case _: IndexType.Bucket if config.isMergeOnRead           => KeyScope.InBuckets
    case _                                                     => KeyScope.InTable
  }

  private def commitMetadata(
      replaced: Replaced,
      table: OpenTable,
      schema: StructType,
      written: Seq[WrittenGroup]
  ): CommitMetadata = {
    val files = written.flatMap(_.stats)
    TableCommit.metadata(operationType(replaced), table, schema, files, Some(WrittenGroup.counts(written)),
      replacedBy(replaced, files.map(_.partitionPath).toSet, table),
      table.timeline.listAdded(table.forCommit(schema)) ++ settings.commitMetadata)
  }

  private def notes(schema: StructType): WriteNotes = {
    val changes = SchemaEvolution.changes(opened.schema, schema)
    WriteNotes(ignoredOptions = settings.ignored, columnsAdded = changes.added, columnsWidened = changes.widened)
  }

  /** A warning, unless this write compacts. */
  private def noteLogs(notes: WriteNotes, slices: Seq[FileSlice], written: Seq[WriteStat]): WriteNotes =
    TableWrite.manyLogs(slices, written).fold(notes) { sentence =>
      val compacts = settings.compaction.isInline || settings.compaction.isUnconfigured
      notes.copy(warnings = notes.warnings ++ Seq(sentence).filterNot(_ => compacts),
        manyLogs = TableWrite.longest(slices, written).map(_.group))
    }

  private def result(instant: String, written: Seq[WrittenGroup], started: Long): WriteResult = {
    val files = written.flatMap(_.stats)
    WriteResult(
      instant,
      settings.operation,
      WrittenGroup.counts(written),
      files.size,
      files.map(_.numWrites).sum,
      files.map(_.totalWriteBytes).sum,
      (System.nanoTime() - started) / 1000000L
    )
  }
}

object TableWrite {

  /** Number of log files of a slice from which on a write compacts the table, or warns that nothing does. */
  private[spark] val ManyLogs = 100

  private[spark] def manyLogs(slices: Seq[FileSlice], written: Seq[WriteStat]): Option[String] =
    longest(slices, written).map { slice =>
      manyLogs(slice, slice.logs.size + 1) +
        "nothing compacts them: set hoodie.compact.inline=true, or CALL run_compaction."
    }

  /** The beginning of a sentence about a slice. */
  private[spark] def manyLogs(slice: FileSlice, logs: Int): String =
    s"File group '${slice.fileId}' of partition '${slice.partitionPath}' has $logs log files that every read merges, " +
      "and "

  /** The slice with the most logs of those to which a write has appended, if they are many. */
  private def longest(slices: Seq[FileSlice], written: Seq[WriteStat]): Option[FileSlice] = {
    val appended = written.filter(_.isLogFile).map(_.group).toSet
    slices.filter(s => appended(s.group)).sortBy(-_.logs.size).headOption.filter(_.logs.size >= ManyLogs)
  }
}
