package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.commit.{CompactionSchedule, Transaction}
import io.merganser.table.service.LogCompactionSelection
import io.merganser.table.settings.WriteConfig
import io.merganser.table.timeline.{Action, Instant}
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

/**
 * What one compaction, or log compaction, did.
 *
 * @param bytesWritten size of the new files, in bytes
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

/** Runs of planned compactions and log compactions. */
private[service] object CompactionRuns {

  private val Log = LoggerFactory.getLogger(classOf[CompactionResult])

  /** Runs some one after the other; those for which `run` has a reason not to are skipped. */
  def each(table: OpenTable, planned: Seq[Instant])(
      run: Instant => Either[String, CompactionResult]
  ): PlannedRuns[CompactionResult] = PlannedRuns.each(planned) { instant =>
    val started = System.nanoTime()
    run(instant) match {
      case Right(result) => result.copy(elapsedMs = (System.nanoTime() - started) / 1000000L)
      case Left(reason) =>
        Log.warn(s"${instant.action} ${instant.requested} of ${table.storage} is left alone: $reason")
        joined(Nil).copy(skipped = Seq(SkippedCompaction(instant.requested, reason)))
    }
  }

  /** @throws io.merganser.merge.MerganserException PLANNED_SERVICE_FAILED if one of several failed */
  def joined(table: OpenTable, action: Action, runs: PlannedRuns[CompactionResult]): CompactionResult = {
    val isOfLogs = action == Action.LogCompaction
    runs.requireAll(table, if (isOfLogs) "log compaction" else "compaction",
      if (isOfLogs) "run_log_compaction" else "run_compaction")
    joined(runs.done)
  }

  /** What several runs did, one after the other. */
  def joined(results: Seq[CompactionResult]): CompactionResult =
    results.foldLeft(CompactionResult(None, 0, 0, 0, 0, 0)) { (a, b) =>
      CompactionResult(b.instant.orElse(a.instant), a.filesWritten + b.filesWritten, a.rowsWritten + b.rowsWritten,
        a.bytesWritten + b.bytesWritten, a.logFilesCompacted + b.logFilesCompacted, a.elapsedMs + b.elapsedMs,
        a.skipped ++ b.skipped)
    }

  /** The planned ones whose instants are chosen from all of them. */
  def chosen(table: OpenTable, action: Action, choose: Seq[String] => Seq[String]): Seq[Instant] = {
    val planned =
      if (action == Action.LogCompaction) table.timeline.pendingLogCompactions else table.timeline.pendingCompactions
    val wanted = choose(planned.map(_.requested)).toSet
    planned.filter(i => wanted(i.requested))
  }

  /** Registers the table after what was compacted, if anything was; then as [[joined]]. */
  def registered(
      session: SparkSession,
      table: OpenTable,
      settings: WriteConfig,
      action: Action
  )(run: => PlannedRuns[CompactionResult]): CompactionResult = {
    val runs = run
    runs.done.flatMap(_.instant).lastOption.foreach(Registration.after(session, table, settings, _))
    joined(table, action, runs)
  }

  /** @return the run, or why the compaction is left alone */
  def claim(table: OpenTable, instant: Instant, settings: WriteConfig): Either[String, Transaction] = {
    settings.rule // if its class is not there, nothing is begun
    CompactionSchedule.claim(table.storage, table.config, instant, optionsOf(table, settings),
      settings.heartbeatExpiryMs)
  }

  /** @return see [[CompactionSchedule.cancel]] */
  def cancel(table: OpenTable, instant: Instant, settings: WriteConfig): Boolean =
    CompactionSchedule.cancel(table.storage, table.config, instant, optionsOf(table, settings),
      settings.heartbeatExpiryMs)

  /** Removes log compactions whose slices have all been compacted: they would hold back cleans and archivings. */
  def cancelUseless(table: OpenTable, settings: WriteConfig): Unit =
    table.timeline.pendingLogCompactions.filter { instant =>
      LogCompactionSelection.current(table.timeline.compactionPlan(instant), table.view, table.timeline).isEmpty
    }.foreach(cancel(table, _, settings))

  // The transaction is that of the write before an inline compaction, and is committed with it.
  private def optionsOf(table: OpenTable, settings: WriteConfig): Transaction.Options =
    Transaction.Options.of(settings)
      .copy(heartbeatMs = Some(settings.heartbeatIntervalMs), opened = Some(table.timeline), transaction = None)

  /** In a table with versions of its columns, a file has those of its instant. */
  def columnsAsOf(table: OpenTable, instant: Instant): OpenTable =
    if (table.timeline.history.isEmpty) table
    else Some(table.asOfInstant(instant.requested)).filter(_.schema.nonEmpty).getOrElse(table)
}
