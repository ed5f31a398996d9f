package io.merganser.spark.service

import io.merganser.merge.MerganserException
import io.merganser.merge.buffer.MergeCounts
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.{TableCommit, WriterOptions}
import io.merganser.table.commit.{CommitRequest, CompactionSchedule, LoggedPartitions, Transaction, Work}
import io.merganser.table.service.LogCompactionSelection
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.{FileSlice, SliceWriter, TableView, TaskFiles}
import io.merganser.table.timeline._
import org.apache.spark.sql.merganser.Partitions

import scala.util.control.NonFatal

/**
 * Log compactions of a merge-on-read table: the versions in the logs of a slice are merged with each other, as far as
 * the table's rule allows without the stored rows, and written to one more log. Its blocks name those that they
 * replace, and take their place in the order of versions. The replaced files stay as long as the slice: reads of
 * earlier times need them, and readers find the place by them.
 */
object LogCompactionService extends CompactionRuns("log compaction", "run_log_compaction") {

  override def planned(table: OpenTable): Seq[Instant] = table.timeline.pendingLogCompactions

  /** Plans a log compaction of the slices with enough log blocks; None if there are none. */
  override def schedule(scope: ServiceScope): Option[String] = schedule(scope, listsAll = true).map(_.requested)

  /** Slices with enough log blocks are all that is due. */
  override def scheduleDue(scope: ServiceScope): Option[String] = schedule(scope)

  /** @param listsAll also partitions that have no log by the commits since the last compaction of all slices */
  private def schedule(scope: ServiceScope, listsAll: Boolean): Option[Instant] = {
    import scope._
    if (!table.config.isMergeOnRead)
      throw MerganserException("COMPACTION_OF_COPY_ON_WRITE", "table" -> table.config.name)
    // Read once, by Spark: the last attempt is made under the table's lock, for which other writers wait.
    var enough = Option.empty[Seq[FileSlice]]
    CompactionSchedule.schedule(table.storage, table.config, settings.access, Some(table.timeline),
      Action.LogCompaction) { now =>
      val view   = new TableView(table.storage, table.config, now)
      val logged = if (listsAll) None else LoggedPartitions.of(table.config, now)
      val slices = logged.fold(view.slices)(view.slicesOfAny(_))
      val some   = LogCompactionSelection.candidates(slices, table.config, now)
      if (enough.isEmpty)
        enough = Some(withEnough(scope.copy(table = new OpenTable(table.storage, table.config, now)), some))
      val free   = some.map(s => (s.group, s.baseInstant)).toSet
      val chosen = enough.get.filter(s => free((s.group, s.baseInstant)))
      Some(LogCompactionSelection.plan(chosen)).filter(_.operations.nonEmpty)
    }
  }

  /** The slices that a log compaction would take now. */
  private[service] def chosen(scope: ServiceScope): Seq[FileSlice] = withEnough(scope,
    LogCompactionSelection.candidates(scope.table.view.slices, scope.table.config, scope.table.timeline))

  /** The slices with enough blocks of several writes, by the headers of their blocks. */
  private def withEnough(scope: ServiceScope, candidates: Seq[FileSlice]): Seq[FileSlice] =
    if (candidates.isEmpty) Nil
    else {
      import scope._
      val reader      = table.snapshot(settings.rule).versions(SliceWriter.rowSchema(table.schema))
      val leastBlocks = settings.compaction.logs.leastBlocks
      // Hudi reads partial rows wrongly where a table has versions of its columns: they are not written again.
      val takesPartial = table.logsPartialRows || table.config.version < 8
      val tasks        = math.min(candidates.size, session.sparkContext.defaultParallelism)
      ServiceStep(session, table, "count log blocks") {
        Partitions.collect(session.sparkContext.parallelize(candidates, tasks)) { it =>
          it.filter(slice => LogCompactionSelection.isDue(reader.logBlocks(slice), leastBlocks, takesPartial))
        }
      }
    }

  /** Removes those whose slices have all been compacted: they would hold back cleans and archivings. */
  private[service] def cancelUseless(scope: ServiceScope): Unit = {
    val table = scope.table
    planned(table).filter { instant =>
      LogCompactionSelection.current(table.timeline.compactionPlan(instant), table.view, table.timeline).isEmpty
    }.foreach(cancel(scope, _))
  }

  override protected def followsWrites(settings: WriteConfig): Boolean = settings.compaction.logs.isInline
  override protected def runsInWrites(settings: WriteConfig): Boolean  = true
  override protected def isDue(scope: ServiceScope): Boolean           = true

  override protected def planAndRun(scope: ServiceScope): PlannedRuns[CompactionResult] =
    planAndRun(scope, listsAll = true)

  /** Of the partitions that have logs. */
  override protected def planAndRunDue(scope: ServiceScope): PlannedRuns[CompactionResult] =
    planAndRun(scope, listsAll = false)

  override protected def runDue(scope: ServiceScope, plans: Boolean): CompactionResult =
    if (plans) registered(scope, planAndRunDue(scope)) else run(scope)

  override def scheduleDueAndRun(scope: ServiceScope): CompactionResult = scheduleAndRun(scope)

  private def planAndRun(scope: ServiceScope, listsAll: Boolean): PlannedRuns[CompactionResult] = {
    val pending = planned(scope.table)
    val added   = schedule(scope, listsAll)
    val done    = runs(scope, (pending ++ added).distinct)
    val isIdle  = done.failed.isEmpty && done.done.forall(r => r.instant.isEmpty && r.skipped.isEmpty)
    if (pending.isEmpty || !isIdle) done
    else {
      // The old plans were useless and have been removed: their slices are free for a new one.
      val now = scope.refreshed
      runs(now, schedule(now, listsAll).toSeq)
    }
  }

  /** A plan whose slices have been compacted meanwhile is removed. */
  override protected def runs(scope: ServiceScope, planned: Seq[Instant]): PlannedRuns[CompactionResult] = {
    import scope._
    each(table, planned) { instant =>
      claim(scope, instant).flatMap { claimed =>
        val now = new OpenTable(table.storage, table.config, claimed.timeline)
        try {
          val result = ServiceStep(session, table, s"log compaction ${instant.requested}") {
            claimed.run(rewrite(scope.copy(table = now), instant, _))
          }
          if (result.instant.isEmpty) cancel(scope.refreshed, instant)
          Right(result)
        } catch {
          case e: MerganserException if e.condition == "COMPACTION_CONFLICT" => Left(e.parameters("reason").toString)
          case NonFatal(error)                                               =>
            // Nothing depends on the plan, and it would hold back cleans and archivings.
            try cancel(scope.refreshed, instant)
            catch { case NonFatal(second) => error.addSuppressed(second) }
            throw error
        }
      }
    }
  }

  /** Merges the logs of the slices of the plan, each into one log. */
  private def rewrite(scope: ServiceScope, instant: Instant, transaction: Transaction): Work[CompactionResult] = {
    import scope._
    val plan   = table.timeline.compactionPlan(instant)
    val slices = LogCompactionSelection.current(plan, table.view, table.timeline)
    val seen   = columnsAsOf(table, instant)
    val schema = seen.schema
    val run    = transaction.runNumber
    val stored = table.snapshot(settings.rule, seen)
    // In version 6 a planned file may have blocks of later writes.
    val visible = stored.visibility.copy(maxInstant = instant.requested)
    val reader  = stored.copy(visibility = visible).versions(SliceWriter.rowSchema(schema))
    val writer  = WriterOptions.writer(session, table, schema, transaction, settings)
    val deleted = settings.rule.readsDeletes(schema)
    val written = Partitions.collect(session.sparkContext.parallelize(slices, math.max(1, slices.size))) { it =>
      TaskFiles.write(writer, run) { token =>
        it.flatMap { slice =>
          val logs = reader.logVersions(slice)
          try
            if (logs.instants.size < 2) Nil
            else {
              val files = writer.appendLog(slice, logs.merge, logs.layout, token, deleted, compacted = logs.instants)
              files.take(1).map(_.copy(counts = logs.replaced)) ++ files.drop(1)
            }
          finally logs.close()
        }
      }
    }
    if (written.isEmpty) Work(CompactionResult(None, 0, 0, 0, 0, 0), None)
    else {
      val metadata = TableCommit.metadata(OperationType.LogCompact, table, schema, written.map(_.stat),
        Some(MergeCounts.sum(written.map(_.counts))))
      val result = CompactionResult(Some(instant.requested), written.size, written.map(_.stat.numWrites).sum,
        written.map(_.stat.totalWriteBytes).sum, slices.map(_.logs.size).sum, elapsedMs = 0)
      Work(result, Some(CommitRequest(metadata, slices.map(_.group).toSet)))
    }
  }
}
