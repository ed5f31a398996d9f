package io.merganser.spark.compact

import io.merganser.merge.MerganserException
import io.merganser.spark.OpenTable
import io.merganser.spark.write.{Counts, TableWrite}
import io.merganser.table.base.MetaColumns
import io.merganser.table.config.WriteConfig
import io.merganser.table.log.LogVisibility
import io.merganser.table.slice._
import io.merganser.table.timeline._
import org.apache.spark.TaskContext
import org.apache.spark.sql.SparkSession

/**
 * What one compaction did.
 *
 * @param bytesWritten size of the new base files, in bytes
 * @param elapsedMs    milliseconds
 */
final case class CompactionResult(instant: Option[String], filesWritten: Int, rowsWritten: Long, bytesWritten: Long, logFilesCompacted: Int, elapsedMs: Long)

/** Compaction of a merge-on-read table: read, which is slice -> merge -> rows, then write and commit. */
object Compaction {

  /** Plans a compaction of every slice that has logs; None if there is none. */
  def schedule(session: SparkSession, path: String): Option[String] = schedule(OpenTable.load(session, path))

  private def schedule(table: OpenTable): Option[String] = {
    if (!table.config.isMergeOnRead) throw MerganserException("COMPACTION_OF_COPY_ON_WRITE", "table" -> table.config.name)
    TableRule.checkAvailable(table.config)
    val pending = table.view.pendingCompactionGroups
    val slices  = table.view.slices.filter(s => s.logs.nonEmpty && !pending(s.group))
    if (slices.isEmpty) None else Some(Transaction.scheduleCompaction(table.storage, table.config, slices))
  }

  /** Runs every planned compaction, oldest first. */
  def run(session: SparkSession, path: String, codec: String): CompactionResult = {
    val started = System.nanoTime()
    val table   = OpenTable.load(session, path)
    val results = table.timeline.pendingCompactions.map(i => execute(session, OpenTable.load(table.storage), i, codec, started))
    if (results.isEmpty) CompactionResult(None, 0, 0, 0, 0, elapsed(started))
    else results.reduce((a, b) => CompactionResult(
      b.instant, a.filesWritten + b.filesWritten, a.rowsWritten + b.rowsWritten, a.bytesWritten + b.bytesWritten,
      a.logFilesCompacted + b.logFilesCompacted, b.elapsedMs))
  }

  def scheduleAndRun(session: SparkSession, path: String, codec: String): CompactionResult = {
    schedule(session, path)
    run(session, path, codec)
  }

  /** After a write: compacts when as many delta commits came since the last compaction as the write's options say. */
  def inline(session: SparkSession, table: OpenTable, settings: WriteConfig): Unit =
    if (table.config.isMergeOnRead && settings.inlineCompaction) {
      val now = table.refreshed()
      if (now.timeline.deltaCommitsSinceCompaction >= settings.maxDeltaCommits) {
        scheduleAndRun(session, table.storage.basePath.toString, settings.codec)
        ()
      }
    }

  private def execute(session: SparkSession, table: OpenTable, instant: Instant, codec: String, started: Long): CompactionResult = {
    val transaction = Transaction.resumeCompaction(table.storage, table.config, instant)
    try {
      val schema = table.schema
      val slices = table.view.slicesOf(transaction.compactionPlan)
      val reader = new SliceReader(table.storage, table.config, schema, SliceWriter.rowSchema(schema), LogVisibility(table.config, table.timeline))
      val writer = SliceWriter(table.storage, table.config, schema, instant.requested, transaction.markers, codec)
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
      transaction.commit(CommitMetadata(
        "COMPACT",
        written.map(_.stat).groupBy(_.partitionPath),
        Map(
          "schema"             -> io.merganser.table.avro.AvroSchemas.toAvro(schema, table.config.name).toString,
          TableWrite.WriterKey -> TableWrite.Writer,
          TableWrite.CountsKey -> Counts.toJson(written.map(_.counts).foldLeft(MergeCounts())(_ + _))
        )
      ))
      CompactionResult(Some(instant.requested), written.size, written.map(_.stat.numWrites).sum, written.map(_.stat.totalWriteBytes).sum,
        slices.map(_.logs.size).sum, elapsed(started))
    } catch {
      case failure: Throwable =>
        try transaction.rollback()
        catch { case second: Throwable => failure.addSuppressed(second) }
        throw TableWrite.userError(failure)
    }
  }

  private def elapsed(started: Long): Long = (System.nanoTime() - started) / 1000000L
}
