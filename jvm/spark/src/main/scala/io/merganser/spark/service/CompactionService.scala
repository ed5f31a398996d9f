package io.merganser.spark.service

import java.time.LocalDateTime

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.{Counts, TableWrite, WriterOptions}
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.commit.{CommitRequest, CompactionSchedule, LoggedPartitions, Transaction, Work}
import io.merganser.table.file.WriteToken
import io.merganser.table.options.{CompactionStrategy, FailedWrites}
import io.merganser.table.service.{CompactionDue, CompactionSelection}
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.{FileSlice, LogVisibility, PlannedSlices, SliceReader, SliceWriter, TableView}
import io.merganser.table.timeline._
import org.apache.spark.TaskContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.merganser.Partitions
import org.slf4j.LoggerFactory

/**
 * What one compaction did.
 *
 * @param bytesWritten size of the new base files, in bytes
 * @param elapsedMs    milliseconds
 * @param skipped      planned ones that were left alone, as another writer runs them
 */
final case class CompactionResult(
    instant: Option[String],
    filesWritten: Int,
    rowsWritten: Long,
    bytesWritten: Long,
    logFilesCompacted: Int,
    elapsedMs: Long,
    skipped: Seq[SkippedCompaction] = Nil
)

/** A planned compaction that was not run, and why. */
final case class SkippedCompaction(instant: String, reason: String)

/** Compaction of a merge-on-read table: read, which is slice -> merge -> rows, then write and commit. */
object CompactionService {

  private val Log = LoggerFactory.getLogger(classOf[CompactionResult])

  /** Plans a compaction of the slices that the configured strategy chooses; None if there are none. */
  def schedule(session: SparkSession, path: String, settings: WriteConfig): Option[String] =
    schedule(OpenTable.load(session, path), settings, listsAll = true).map(_.requested)

  /** @param listsAll also partitions that have no log by the commits since the last compaction of all slices */
  private def schedule(table: OpenTable, settings: WriteConfig, listsAll: Boolean): Option[Instant] = {
    if (!table.config.isMergeOnRead)
      throw MerganserException("COMPACTION_OF_COPY_ON_WRITE", "table" -> table.config.name)
    CompactionSchedule.schedule(table.storage, table.config, settings.lock, settings.permits, Some(table.timeline)) {
      now =>
        val view   = new TableView(table.storage, table.config, now)
        val choice = settings.compaction.choice
        // Which partitions are the latest can only be decided among all.
        val logged = if (listsAll || choice.strategies.contains(CompactionStrategy.DayBased)) None
        else LoggedPartitions.of(table.config, now)
        val all        = logged.getOrElse(view.partitions)
        val partitions = CompactionSelection.partitions(choice, all, localTime(table).toLocalDate)
        val slices     = if (logged.isDefined) view.slicesOfAny(partitions) else view.slicesOf(partitions)
        val operations = slices.filter(_.logs.nonEmpty).map(operation)
        val chosen     = CompactionSelection.operations(choice, operations)
        val isWhole    = partitions.size == all.size && chosen.size == operations.size
        Some(CompactionPlan(chosen, if (isWhole) LoggedPartitions.ofAllSlices else Map.empty)).filter(_ =>
          chosen.nonEmpty)
    }
  }

  private def operation(slice: FileSlice): CompactionOperation =
    CompactionPlan.operation(slice.group, slice.baseInstant, slice.base, slice.logs)

  /**
   * Runs planned compactions, oldest first, and registers the table. Those that another writer runs are left alone.
   *
   * @param chosen selects the instants to run from all planned ones
   */
  def run(
      session: SparkSession,
      path: String,
      settings: WriteConfig,
      chosen: Seq[String] => Seq[String] = identity
  ): CompactionResult = {
    val table   = OpenTable.load(session, path)
    val planned = table.timeline.pendingCompactions
    val wanted  = chosen(planned.map(_.requested)).toSet
    registered(session, table, settings, run(session, table, settings, planned.filter(i => wanted(i.requested))))
  }

  private def run(
      session: SparkSession,
      table: OpenTable,
      settings: WriteConfig,
      planned: Seq[Instant]
  ): CompactionResult = {
    val started = System.nanoTime()
    val results = planned.map { instant =>
      execute(session, table, instant, settings, started).left.map { reason =>
        Log.warn(s"compaction ${instant.requested} of ${table.storage} is left alone: $reason")
        SkippedCompaction(instant.requested, reason)
      }
    }
    val done    = results.collect { case Right(result) => result }
    val skipped = results.collect { case Left(l) => l }
    if (done.isEmpty) CompactionResult(None, 0, 0, 0, 0, elapsed(started), skipped)
    else done.reduce((a, b) =>
      CompactionResult(
        b.instant, a.filesWritten + b.filesWritten, a.rowsWritten + b.rowsWritten, a.bytesWritten + b.bytesWritten,
        a.logFilesCompacted + b.logFilesCompacted, b.elapsedMs)).copy(skipped = skipped)
  }

  /** Runs compactions that others planned, too, and registers the table. */
  def scheduleAndRun(session: SparkSession, path: String, settings: WriteConfig): CompactionResult = {
    val table = OpenTable.load(session, path)
    registered(session, table, settings, scheduleAndRun(session, table, settings, listsAll = true))
  }

  private def registered(
      session: SparkSession,
      table: OpenTable,
      settings: WriteConfig,
      result: CompactionResult
  ): CompactionResult = {
    result.instant.foreach(AfterCommit.register(session, table, settings, _))
    result
  }

  private def scheduleAndRun(
      session: SparkSession,
      table: OpenTable,
      settings: WriteConfig,
      listsAll: Boolean
  ): CompactionResult = {
    val planned = schedule(table, settings, listsAll)
    run(session, table, settings, (table.timeline.pendingCompactions ++ planned).distinct)
  }

  /** After a write: compacts, or schedules a compaction, if one is due and configured. */
  def inline(session: SparkSession, table: OpenTable, settings: WriteConfig): Unit = {
    val config = settings.compaction
    if (config.isInline || config.isScheduled) {
      val now = table.refreshed()
      if (CompactionDue.isDue(config, now.timeline, localTime(table))) {
        if (config.isInline) scheduleAndRun(session, now, settings, listsAll = false)
        else schedule(now, settings, listsAll = false)
        ()
      }
    }
  }

  private def localTime(table: OpenTable): LocalDateTime = LocalDateTime.now(table.config.timelineZone)

  /** @return the result, or why the compaction was left alone */
  private def execute(
      session: SparkSession,
      table: OpenTable,
      instant: Instant,
      settings: WriteConfig,
      started: Long
  ): Either[String, CompactionResult] = {
    // The transaction is that of the write before an inline compaction, and is committed with it.
    val options = Transaction.Options.of(settings)
      .copy(heartbeatMs = Some(settings.heartbeatIntervalMs), opened = Some(table.timeline), transaction = None)
    val expiredAfterMs = settings.failedWrites match {
      case FailedWrites.Lazy(afterMs) => afterMs
      case FailedWrites.Eager         => CompactionSchedule.ExpiredAfterMs
    }
    CompactionSchedule.claim(table.storage, table.config, instant, options, expiredAfterMs).map { claimed =>
      val now = new OpenTable(table.storage, table.config, claimed.timeline)
      claimed.run(rewrite(session, now, instant, settings, _)).copy(elapsedMs = elapsed(started))
    }
  }

  /** Merges the slices of the plan, each into a base file. */
  private def rewrite(
      session: SparkSession,
      table: OpenTable,
      instant: Instant,
      settings: WriteConfig,
      transaction: Transaction
  ): Work[CompactionResult] = {
    // In a table with versions of its columns, a file has those of its instant.
    val seen =
      if (table.timeline.history.isEmpty) table
      else Some(table.asOfInstant(instant.requested)).filter(_.schema.nonEmpty).getOrElse(table)
    val schema  = seen.schema
    val planned = PlannedSlices.of(table.storage, table.config, table.timeline.compactionPlan(instant))
    val slices  = table.view.committed(planned)
    val run     = transaction.runNumber
    val visible = LogVisibility(table.timeline).copy(history = seen.timeline.history)
    val reader =
      new SliceReader(table.storage, table.config, settings.rule, schema, SliceWriter.rowSchema(schema), visible,
        rowKey = table.rowKey)
    val writer = WriterOptions.writer(session, table, schema, transaction, settings)
    val written = Partitions.collect(session.sparkContext.parallelize(slices, math.max(1, slices.size))) { it =>
      val context = TaskContext.get()
      val token   = WriteToken(context.partitionId(), run, context.taskAttemptId())
      it.flatMap { slice =>
        val open = reader.merge(slice)
        try {
          val base = writer.writeBase(slice.partitionPath, slice.fileId, Some(slice), open.merge,
            updatesCommitMetadata = false, null, token)
          base.map(w => w.copy(stat = w.stat.copy(totalLogFilesCompacted = slice.logs.size.toLong)))
        } finally open.close()
      }
    }
    val metadata = CommitMetadata(
      OperationType.Compact,
      written.map(_.stat).groupBy(_.partitionPath),
      Map(
        "schema" -> AvroSchemas.toAvro(table.forCommit(schema), table.config.name).toString,
        TableWrite.WriterKey -> TableWrite.Writer,
        TableWrite.CountsKey -> Counts.toJson(written.map(_.counts).foldLeft(MergeCounts())(_ + _))
      )
    )
    val result = CompactionResult(Some(instant.requested), written.size, written.map(_.stat.numWrites).sum,
      written.map(_.stat.totalWriteBytes).sum, slices.map(_.logs.size).sum, elapsedMs = 0)
    Work(result, Some(CommitRequest(metadata, slices.map(_.group).toSet)))
  }

  private def elapsed(started: Long): Long = (System.nanoTime() - started) / 1000000L
}
