package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.commit.{CompactionSchedule, Transaction}
import io.merganser.table.timeline.Instant
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
    skipped: Seq[SkippedRun] = Nil
) extends PlannedResult {
  override def newest: Option[String] = instant
}

/** What compactions and log compactions have in common. */
private[spark] abstract class CompactionRuns(name: String, procedure: String)
    extends PlannedService[CompactionResult](name, procedure, "COMPACTION_BLOCKED") {

  private val log = LoggerFactory.getLogger(classOf[CompactionResult])

  /** Runs some one after the other; those for which `run` has a reason not to are skipped. */
  protected final def each(table: OpenTable, planned: Seq[Instant])(
      run: Instant => Either[String, CompactionResult]
  ): PlannedRuns[CompactionResult] = PlannedRuns.each(planned) { instant =>
    val started = System.nanoTime()
    run(instant) match {
      case Right(result) => result.copy(elapsedMs = (System.nanoTime() - started) / 1000000L)
      case Left(reason) =>
        log.warn(s"${instant.action} ${instant.requested} of ${table.storage} is left alone: $reason")
        joined(Nil).copy(skipped = Seq(SkippedRun(instant.requested, reason)))
    }
  }

  override protected final def joined(results: Seq[CompactionResult]): CompactionResult =
    results.foldLeft(CompactionResult(None, 0, 0, 0, 0, 0)) { (a, b) =>
      CompactionResult(b.instant.orElse(a.instant), a.filesWritten + b.filesWritten, a.rowsWritten + b.rowsWritten,
        a.bytesWritten + b.bytesWritten, a.logFilesCompacted + b.logFilesCompacted, a.elapsedMs + b.elapsedMs,
        a.skipped ++ b.skipped)
    }

  /** @return the run, or why the compaction is left alone */
  protected final def claim(scope: ServiceScope, instant: Instant): Either[String, Transaction] = {
    scope.settings.rule // if its class is not there, nothing is begun
    CompactionSchedule.claim(scope.table.storage, scope.table.config, instant, options(scope),
      scope.settings.heartbeatExpiryMs)
  }

  /** @return see [[CompactionSchedule.cancel]] */
  protected final def cancel(scope: ServiceScope, instant: Instant): Boolean =
    CompactionSchedule.cancel(scope.table.storage, scope.table.config, instant, options(scope),
      scope.settings.heartbeatExpiryMs)
}
