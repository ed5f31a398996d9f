package io.merganser.spark.service

import java.time.LocalDateTime

import io.merganser.merge.MerganserException
import io.merganser.merge.buffer.MergeCounts
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.{TableCommit, TableWrite, WriterOptions}
import io.merganser.table.commit.{CommitRequest, CompactionSchedule, LoggedPartitions, Transaction, Work}
import io.merganser.table.file.FileGroupId
import io.merganser.table.options.{CompactionStrategy, Options}
import io.merganser.table.service.{CompactionDue, CompactionSelection}
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.{FileSlice, PlannedSlices, SliceWriter, TableView, TaskFiles}
import io.merganser.table.timeline._
import org.apache.spark.sql.merganser.Partitions

/** Compaction of a merge-on-read table: read, which is slice -> merge -> rows, then write and commit. */
object CompactionService extends CompactionRuns("compaction", "run_compaction") {

  override def planned(table: OpenTable): Seq[Instant] = table.timeline.pendingCompactions

  /** Plans a compaction of the slices that the configured strategy chooses; None if there are none. */
  override def schedule(scope: ServiceScope): Option[String] = schedule(scope, listsAll = true).map(_.requested)

  /** Not while an overwrite is running, which could not be committed then. */
  override def scheduleDue(scope: ServiceScope): Option[String] = scheduleDue(scope, yields = true)

  private def scheduleDue(scope: ServiceScope, yields: Boolean): Option[String] =
    if (isPlanned(scope) || scope.table.config.isMergeOnRead && !isDue(scope)) None
    else schedule(scope, listsAll = false, yields).map(_.requested)

  /** In a write that leaves the compaction to the background. */
  private[service] def prepare(scope: ServiceScope): Unit =
    if (scope.settings.compaction.followsWrites) planInWrite(scope.refreshed)

  /** Beside an overwrite, too. */
  override protected def planInWrite(scope: ServiceScope): Unit = { scheduleDue(scope, yields = false); () }

  /** @param listsAll also partitions that have no log by the commits since the last compaction of all slices */
  private def schedule(scope: ServiceScope, listsAll: Boolean, yields: Boolean = false): Option[Instant] = {
    import scope._
    requireLogs(table)
    settings.rule // if its class is not there, nothing is planned
    CompactionSchedule.schedule(table.storage, table.config, settings.access, Some(table.timeline)) {
      now => plan(new OpenTable(table.storage, table.config, now), settings, listsAll, yields)
    }
  }

  private[service] def requireLogs(table: OpenTable): Unit =
    if (!table.config.isMergeOnRead)
      throw MerganserException("COMPACTION_OF_COPY_ON_WRITE", "table" -> table.config.name)

  /** The plan of a compaction now; None if there is nothing to compact. */
  private[service] def plan(
      table: OpenTable,
      settings: WriteConfig,
      listsAll: Boolean,
      yields: Boolean
  ): Option[CompactionPlan] = {
    val now    = table.timeline
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
    val waits      = yields && now.runningWrites.exists(_.action == Action.ReplaceCommit)
    Some(CompactionPlan(chosen, if (isWhole) LoggedPartitions.ofAllSlices else Map.empty)).filter(_ =>
      chosen.nonEmpty && !waits)
  }

  private def operation(slice: FileSlice): CompactionOperation =
    CompactionPlan.operation(slice.group, slice.baseInstant, slice.base, slice.logs)

  override protected def runs(scope: ServiceScope, planned: Seq[Instant]): PlannedRuns[CompactionResult] = {
    import scope._
    val runs = each(table, planned) { instant =>
      claim(scope, instant).map { claimed =>
        val now = new OpenTable(table.storage, table.config, claimed.timeline)
        ServiceStep(session, table, s"compaction ${instant.requested}") {
          claimed.run(rewrite(scope.copy(table = now), instant, _))
        }
      }
    }
    if (runs.done.exists(_.instant.isDefined) && table.timeline.pendingLogCompactions.nonEmpty)
      LogCompactionService.cancelUseless(scope.refreshed)
    runs
  }

  override protected def planAndRun(scope: ServiceScope): PlannedRuns[CompactionResult] =
    planAndRun(scope, listsAll = true)

  private def planAndRun(scope: ServiceScope, listsAll: Boolean): PlannedRuns[CompactionResult] = {
    val added = schedule(scope, listsAll)
    runs(scope, (planned(scope.table) ++ added).distinct)
  }

  override protected def planAndRunDue(scope: ServiceScope): PlannedRuns[CompactionResult] =
    if (isPlanned(scope)) runs(scope, planned(scope.table)) else planAndRun(scope, listsAll = false)

  override protected def runDue(scope: ServiceScope, plans: Boolean): CompactionResult = {
    if (plans) scheduleDue(scope)
    run(scope.refreshed)
  }

  /**
   * Compacts all file slices, whichever of them the table's compactions take, also those with logs that were written
   * after a compaction had been planned.
   */
  private[service] def compactAll(scope: ServiceScope): Unit = {
    val compaction = scope.settings.compaction
    val choice     = compaction.choice.copy(strategies = Seq(CompactionStrategy.UnBounded))
    val ofAll      = scope.copy(settings = scope.settings.copy(compaction = compaction.copy(choice = choice)))
    scheduleAndRun(ofAll)
    if (planned(scope.table).nonEmpty) scheduleAndRun(ofAll.refreshed)
    ()
  }

  override protected def followsWrites(settings: WriteConfig): Boolean = settings.compaction.followsWrites
  override protected def runsInWrites(settings: WriteConfig): Boolean  = settings.compaction.isInline

  override protected def isDue(scope: ServiceScope): Boolean =
    CompactionDue.isDue(scope.settings.compaction, scope.table.timeline, localTime(scope.table))

  /**
   * Whether what is overdue may be planned already. Until that is compacted, each write finds the same number of logs:
   * each would plan, and run, a compaction of all other slices.
   */
  private def isPlanned(scope: ServiceScope): Boolean =
    scope.settings.compaction.isOverdue && planned(scope.table).nonEmpty

  /** A sentence about a file group with very many logs if the configured strategies take no slice like its own. */
  private[service] def neverTaken(table: OpenTable, settings: WriteConfig, group: FileGroupId): Option[String] = {
    val choice = settings.compaction.choice
    def isTaken(slice: FileSlice) = {
      val all = if (choice.strategies.contains(CompactionStrategy.DayBased)) table.view.partitions
      else Seq(slice.partitionPath)
      CompactionSelection.partitions(choice, all, localTime(table).toLocalDate).contains(slice.partitionPath) &&
      CompactionSelection.operations(choice, Seq(operation(slice))).nonEmpty
    }
    table.view.slicesOf(Set(group)).filter(_.logs.size > TableWrite.ManyLogs).find(!isTaken(_)).map { slice =>
      TableWrite.manyLogs(slice, slice.logs.size) + s"${Options.CompactionStrategies.key}=" +
        s"${choice.strategies.mkString(",")} never takes them: configure another strategy, or CALL run_compaction(" +
        s"op => 'scheduleandexecute', options => '${Options.CompactionStrategies.key}=" +
        s"${CompactionStrategy.UnBounded}')."
    }
  }

  private def localTime(table: OpenTable): LocalDateTime = LocalDateTime.now(table.config.timelineZone)

  /** Merges the slices of the plan, each into a base file. */
  private def rewrite(scope: ServiceScope, instant: Instant, transaction: Transaction): Work[CompactionResult] = {
    import scope._
    val seen   = columnsAsOf(table, instant)
    val schema = seen.schema
    val plan   = table.timeline.compactionPlan(instant)
    val slices = PlannedSlices.of(table.storage, table.config, table.view, plan)
    val run    = transaction.runNumber
    val reader = table.snapshot(settings.rule, seen).reader(SliceWriter.rowSchema(schema))
    val writer = WriterOptions.writer(session, table, schema, transaction, settings)
    val written = Partitions.collect(session.sparkContext.parallelize(slices, math.max(1, slices.size))) { it =>
      TaskFiles.write(writer, run) { token =>
        it.flatMap { slice =>
          val open = reader.merge(slice, writer)
          try {
            val base = writer.writeBase(slice.partitionPath, slice.fileId, Some(slice), open.merge,
              updatesCommitMetadata = false, token, open.footer)
            base.files.map(w =>
              w.copy(stat = w.stat.copy(totalLogFilesCompacted = slice.logs.size.toLong),
                counts = w.counts + open.replaced))
          } finally open.close()
        }
      }
    }
    val metadata = TableCommit.metadata(OperationType.Compact, table, schema, written.map(_.stat),
      Some(MergeCounts.sum(written.map(_.counts))))
    val result = CompactionResult(Some(instant.requested), written.size, written.map(_.stat.numWrites).sum,
      written.map(_.stat.totalWriteBytes).sum, slices.map(_.logs.size).sum, elapsedMs = 0)
    Work(result, Some(CommitRequest(metadata, slices.map(_.group).toSet)))
  }
}
