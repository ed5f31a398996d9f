package io.merganser.spark.compact

import io.merganser.merge.MerganserException
import io.merganser.spark.OpenTable
import io.merganser.spark.write.{Counts, TableWrite, WriterOptions}
import io.merganser.table.config.WriteConfig
import io.merganser.table.slice._
import io.merganser.table.timeline
import io.merganser.table.timeline.{Action, CommitMetadata, CompactionOperation, CompactionPlan, Instant, Timeline, Transaction}
import org.apache.spark.TaskContext
import org.apache.spark.sql.SparkSession

/**
 * What one compaction did.
 *
 * @param bytesWritten size of the new base files, in bytes
 * @param elapsedMs    milliseconds
 */
final case class CompactionResult(instant: Option[String], filesWritten: Int, rowsWritten: Long, bytesWritten: Long, logFilesCompacted: Int,
    elapsedMs: Long)

/** Compaction of a merge-on-read table: read, which is slice -> merge -> rows, then write and commit. */
object Compaction {

  /** Plans a compaction of every slice that has logs; None if there is none. */
  def schedule(session: SparkSession, path: String, settings: WriteConfig): Option[String] =
    schedule(OpenTable.load(session, path), settings)

  private def schedule(table: OpenTable, settings: WriteConfig): Option[String] = {
    if (!table.config.isMergeOnRead) throw MerganserException("COMPACTION_OF_COPY_ON_WRITE", "table" -> table.config.name)
    timeline.Compaction.schedule(table.storage, table.config, permits = settings.permits) { now =>
      val slices = new TableView(table.storage, table.config, now).slices.filter(_.logs.nonEmpty)
      if (slices.isEmpty) None else Some(CompactionPlan(slices.map(operation)))
    }.map(_.requested)
  }

  private def operation(slice: FileSlice): CompactionOperation = CompactionPlan.operation(
    slice.partitionPath,
    slice.fileId,
    slice.baseInstant,
    slice.base.map(b => b.name -> b.sizeBytes),
    slice.logs.map(l => l.name -> l.sizeBytes)
  )

  /** The slice as it was planned: what came after it stays in its logs. */
  private def planned(table: OpenTable, operation: CompactionOperation): FileSlice = {
    def sized(name: String): Long = table.storage
      .status(FileNames.path(operation.partitionPath, name))
      .getOrElse(throw MerganserException("SLICE_FILE_MISSING", "table" -> table.config.name, "file" -> name))
      .getLen
    FileSlice(
      operation.partitionPath,
      operation.fileId,
      operation.baseInstant,
      operation.baseFile.flatMap(name => FileNames.parseBase(operation.partitionPath, name, sized(name))),
      operation.logFiles.flatMap(name => FileNames.parseLog(operation.partitionPath, name, sized(name))).sorted
    )
  }

  /**
   * Runs planned compactions, oldest first.
   *
   * @param chosen given the instants of all, those to run
   */
  def run(session: SparkSession, path: String, settings: WriteConfig, chosen: Seq[String] => Seq[String] = identity): CompactionResult = {
    val started = System.nanoTime()
    val table   = OpenTable.load(session, path)
    val planned = table.timeline.pendingCompactions
    val wanted  = chosen(planned.map(_.requested)).toSet
    val results = planned.filter(i => wanted(i.requested)).map(i => execute(session, OpenTable.load(table.storage), i, settings, started))
    if (results.isEmpty) CompactionResult(None, 0, 0, 0, 0, elapsed(started))
    else results.reduce((a, b) =>
      CompactionResult(
        b.instant, a.filesWritten + b.filesWritten, a.rowsWritten + b.rowsWritten, a.bytesWritten + b.bytesWritten,
        a.logFilesCompacted + b.logFilesCompacted, b.elapsedMs))
  }

  def scheduleAndRun(session: SparkSession, path: String, settings: WriteConfig): CompactionResult = {
    schedule(session, path, settings)
    run(session, path, settings)
  }

  /** After a write: compacts when as many delta commits came since the last compaction as the write's options say. */
  def inline(session: SparkSession, table: OpenTable, settings: WriteConfig): Unit =
    if (table.config.isMergeOnRead && settings.inlineCompaction) {
      if (deltaCommitsSince(table.refreshed().timeline) >= settings.compactionDeltaCommits) {
        scheduleAndRun(session, table.storage.basePath.toString, settings)
        ()
      }
    }

  private def deltaCommitsSince(now: Timeline): Int = {
    val compacted = now.completed.filter(i => i.action == Action.Commit && now.metadata(i).operationType == "COMPACT")
    val last      = compacted.lastOption.map(_.requested).getOrElse("")
    now.completed.count(i => i.action == Action.DeltaCommit && i.requested > last)
  }

  private def execute(session: SparkSession, table: OpenTable, instant: Instant, settings: WriteConfig, started: Long): CompactionResult = {
    val transaction = timeline.Compaction.begin(table.storage, table.config, instant, Transaction.Options(permits = settings.permits))
    try {
      val schema = table.schema
      val slices = table.timeline.compactionPlan(instant).operations.map(planned(table, _))
      val seen   = LogVisibility(table.timeline)
      val reader = new SliceReader(table.storage, table.config, settings.rule, schema, SliceWriter.rowSchema(schema), seen)
      val writer = WriterOptions.writer(session, table, schema, transaction, settings)
      val written = session.sparkContext.parallelize(slices, math.max(1, slices.size)).mapPartitions { it =>
        val context = TaskContext.get()
        val token   = WriteToken(context.partitionId(), context.stageId(), context.taskAttemptId())
        it.flatMap { slice =>
          val open = reader.merge(slice)
          try writer.writeBase(slice.partitionPath, slice.fileId, Some(slice), open.merge, stampAll = false, null, token).map { w =>
              w.copy(stat = w.stat.copy(totalLogFilesCompacted = slice.logs.size.toLong))
            }
          finally open.close()
        }
      }.collect().toSeq
      transaction.commit(
        CommitMetadata(
          "COMPACT",
          written.map(_.stat).groupBy(_.partitionPath),
          Map(
            "schema" -> io.merganser.table.avro.AvroSchemas.toAvro(schema, table.config.name).toString,
            TableWrite.WriterKey -> TableWrite.Writer,
            TableWrite.CountsKey -> Counts.toJson(written.map(_.counts).foldLeft(MergeCounts())(_ + _))
          )
        ), slices.map(s => (s.partitionPath, s.fileId)).toSet)
      CompactionResult(Some(instant.requested), written.size, written.map(_.stat.numWrites).sum, written.map(_.stat.totalWriteBytes).sum,
        slices.map(_.logs.size).sum, elapsed(started))
    } catch {
      case failure: Throwable => throw transaction.abandon(TableWrite.userError(failure))
    }
  }

  private def elapsed(started: Long): Long = (System.nanoTime() - started) / 1000000L
}
