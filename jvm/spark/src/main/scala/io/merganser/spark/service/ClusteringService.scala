package io.merganser.spark.service

import java.time.LocalDateTime

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.{TableCommit, WriterOptions}
import io.merganser.spark.write.place.IndexResolver
import io.merganser.table.commit.{ClusteringSchedule, CommitRequest, Transaction, Work}
import io.merganser.table.options.{IndexType, LayoutStrategy, OptionKind, Options}
import io.merganser.table.service.{ClusteringDue, ClusteringPlanner}
import io.merganser.table.settings.{ClusteringOrder, WriteConfig}
import io.merganser.table.slice._
import io.merganser.table.timeline._
import org.slf4j.LoggerFactory

import scala.util.control.NonFatal

/**
 * What clusterings did.
 *
 * @param done          instants of those that were run, in their order
 * @param filesReplaced file groups whose rows are in other ones now
 * @param bytesWritten  size of the new base files, in bytes
 * @param elapsedMs     milliseconds
 * @param skipped       planned ones that were not run
 */
final case class ClusteringResult(
    done: Seq[String],
    filesReplaced: Int,
    filesWritten: Int,
    rowsWritten: Long,
    bytesWritten: Long,
    elapsedMs: Long,
    skipped: Seq[SkippedRun] = Nil
) extends PlannedResult {
  override def newest: Option[String] = done.lastOption
}

/** Clustering: reads the merged rows of file groups, sorts them, writes new ones, and replaces the old ones by them. */
object ClusteringService
    extends PlannedService[ClusteringResult]("clustering", "run_clustering", "CLUSTERING_BLOCKED") {

  private val Log = LoggerFactory.getLogger(classOf[ClusteringResult])

  override def planned(table: OpenTable): Seq[Instant] = table.timeline.plannedClusterings.map(_._1)

  /**
   * Refuses what no clustering can be planned with.
   *
   * @throws MerganserException UNSUPPORTED_OPTION for a strategy of others, CLUSTERING_OF_BUCKETS,
   *                            CLUSTERING_COLUMN_UNKNOWN, CLUSTERING_COLUMN_UNSUPPORTED, MERGER_UNAVAILABLE
   */
  private[service] def check(table: OpenTable, settings: WriteConfig): Unit = {
    settings.clustering.otherStrategies.headOption.foreach { case (key, name) =>
      throw MerganserException("UNSUPPORTED_OPTION", "key" -> key, "value" -> name,
        "remedy" -> "Remove the option; file slices are grouped by their size, and sorted")
    }
    requireNoBuckets(table, settings)
    settings.rule // if its class is not there, nothing is planned
    ClusteringColumns.check(table.config.name, settings.clustering.order, table.schema)
  }

  /**
   * Plans a clustering of the slices that the settings choose, to be run by anyone; None if there are none.
   *
   * @throws MerganserException what [[check]] and [[ClusteringSchedule.schedule]] throw
   */
  override def schedule(scope: ServiceScope): Option[String] = schedule(scope, runsAtOnce = false)

  override def scheduleDue(scope: ServiceScope): Option[String] = if (isDue(scope)) schedule(scope) else None

  /** @param runsAtOnce see [[ClusteringPlan]] */
  private def schedule(scope: ServiceScope, runsAtOnce: Boolean): Option[String] = {
    import scope._
    check(table, settings)
    ClusteringSchedule.schedule(table.storage, table.config, settings.access, Some(table.timeline)) {
      now => plan(table.as(now), settings).map(_.copy(runsAtOnce = runsAtOnce))
    }.map(_.requested)
  }

  /** The plan of a clustering now; None if there is nothing to cluster. */
  private[service] def plan(table: OpenTable, settings: WriteConfig): Option[ClusteringPlan] = {
    val now    = table.timeline
    val view   = new TableView(table.storage, table.config, now)
    val hour   = LocalDateTime.now(table.config.timelineZone).getHour
    val chosen = ClusteringPlanner.partitions(settings.clustering.partitions, view.partitions, hour)
    val planned = now.groupsInCompaction.keySet ++ now.groupsInClustering.keySet ++ now.pending
      .filter(_.action == Action.LogCompaction).flatMap(now.compactionPlan(_).groups)
    ClusteringPlanner.plan(settings.clustering, view.slicesOf(chosen).filterNot(s => planned(s.group)))
  }

  /** A key of another file group than its bucket's would not be found. */
  private def requireNoBuckets(table: OpenTable, settings: WriteConfig): Unit =
    IndexResolver.resolve(settings.index, table) match {
      case _: IndexType.Bucket => throw MerganserException("CLUSTERING_OF_BUCKETS", "table" -> table.config.name)
      case _                   => ()
    }

  override protected def followsWrites(settings: WriteConfig): Boolean =
    settings.clustering.isInline || settings.clustering.isScheduled

  override protected def runsInWrites(settings: WriteConfig): Boolean = settings.clustering.isInline

  override protected def isDue(scope: ServiceScope): Boolean =
    ClusteringDue.isDue(scope.settings.clustering, scope.table.timeline)

  override protected def planAndRun(scope: ServiceScope): PlannedRuns[ClusteringResult] =
    runWith(schedule(scope, runsAtOnce = true), scope)

  override protected def planAndRunDue(scope: ServiceScope): PlannedRuns[ClusteringResult] = planAndRun(scope)

  /** Plans one if it is due and no write is running, whose commit it could refuse. */
  override protected def runDue(scope: ServiceScope, plans: Boolean): ClusteringResult = {
    val plansNow = isDue(scope) && scope.table.timeline.runningWrites.isEmpty
    registered(scope, runWith(if (plansNow) schedule(scope, runsAtOnce = true) else None, scope))
  }

  /**
   * Runs a clustering that was planned for this run. If it fails, its plan is rolled back: it would refuse later writes
   * to its groups, and with them the run that follows a write.
   */
  private def orPurged[T](scope: ServiceScope, instant: Instant)(run: => T): T =
    try run
    catch {
      case failure: Throwable =>
        // A query that is stopped interrupts its thread.
        val wasInterrupted = Thread.interrupted()
        try { purge(scope.refreshed, Seq(instant.requested)); () }
        catch { case NonFatal(second) => failure.addSuppressed(second) }
        finally if (wasInterrupted) Thread.currentThread.interrupt()
        throw failure
    }

  /**
   * Rolls planned clusterings back, with what runs of them have written.
   *
   * @return those that were not, with the reason
   */
  def purge(scope: ServiceScope, instants: Seq[String]): Seq[SkippedRun] = {
    import scope._
    planned(table).filter(i => instants.contains(i.requested)).flatMap { instant =>
      ClusteringSchedule.rollback(table.storage, table.config, instant, options(scope), settings.heartbeatExpiryMs)
        .map(SkippedRun(instant.requested, _))
    }
  }

  override protected def joined(results: Seq[ClusteringResult]): ClusteringResult =
    results.foldLeft(ClusteringResult(Nil, 0, 0, 0, 0, 0)) { (a, b) =>
      ClusteringResult(a.done ++ b.done, a.filesReplaced + b.filesReplaced, a.filesWritten + b.filesWritten,
        a.rowsWritten + b.rowsWritten, a.bytesWritten + b.bytesWritten, a.elapsedMs + b.elapsedMs,
        a.skipped ++ b.skipped)
    }

  /**
   * Runs all planned clusterings.
   *
   * @param added the one that was planned for this run. It is the first, as it counts as abandoned while nobody runs
   * it.
   */
  private def runWith(added: Option[String], scope: ServiceScope): PlannedRuns[ClusteringResult] = {
    val now           = scope.refreshed
    val (own, others) = planned(now.table).partition(i => added.contains(i.requested))
    runs(now, own ++ others, added)
  }

  override protected def runs(scope: ServiceScope, planned: Seq[Instant]): PlannedRuns[ClusteringResult] =
    runs(scope, planned, added = None)

  private def runs(scope: ServiceScope, planned: Seq[Instant], added: Option[String]): PlannedRuns[ClusteringResult] =
    PlannedRuns.each(planned) { instant =>
      val started = System.nanoTime()
      def run = ServiceStep(scope.session, scope.table, s"clustering ${instant.requested}") {
        execute(scope, instant).copy(elapsedMs = elapsed(started))
      }
      if (added.contains(instant.requested)) orPurged(scope, instant)(run) else run
    }

  private def skipped(table: OpenTable, instant: Instant, reason: String, isRolledBack: Boolean): ClusteringResult = {
    Log.warn(s"clustering ${instant.requested} of ${table.storage} is not run: $reason")
    joined(Nil).copy(skipped = Seq(SkippedRun(instant.requested, reason, isRolledBack)))
  }

  private def execute(scope: ServiceScope, instant: Instant): ClusteringResult = {
    import scope._
    val options = this.options(scope)
    settings.rule // if its class is not there, nothing is begun
    ClusteringSchedule.claim(table.storage, table.config, instant, options, settings.heartbeatExpiryMs) match {
      case Left(reason) => skipped(table, instant, reason, isRolledBack = false)
      case Right(claimed) =>
        val now = new OpenTable(table.storage, table.config, claimed.timeline)
        claimed.run { transaction =>
          val plan   = now.timeline.clusteringPlan(instant).getOrElse(ClusteringPlan(Nil, Map.empty, true))
          val slices = now.view.slicesOfAny(plan.partitions)
          ClusteringSchedule.outdated(plan, slices) match {
            case Some(reason) => Work[Either[String, ClusteringResult]](Left(reason), None)
            case None =>
              requireNoBuckets(now, settings)
              rewrite(scope.copy(table = now), instant, plan, slices, transaction)
          }
        } match {
          case Right(result) => result
          case Left(reason) =>
            val alive = ClusteringSchedule.rollback(table.storage, table.config, instant, options,
              settings.heartbeatExpiryMs)
            skipped(table, instant, alive.getOrElse(s"$reason; it is rolled back"), alive.isEmpty)
        }
    }
  }

  /** Writes the rows of each group of the plan. */
  private def rewrite(
      scope: ServiceScope,
      instant: Instant,
      plan: ClusteringPlan,
      newest: Seq[FileSlice],
      transaction: Transaction
  ): Work[Either[String, ClusteringResult]] = {
    import scope._
    val seen   = columnsAsOf(table, instant)
    val schema = seen.schema
    val run    = transaction.runNumber
    val reader = table.snapshot(settings.rule, seen).reader(SliceWriter.rowSchema(schema))
    val usual  = WriterOptions.writer(session, table, schema, transaction, settings)
    val target = plan.targetFileBytes.getOrElse(settings.clustering.sizes.targetFileBytes)
    val writer = usual.copy(baseOptions = usual.baseOptions.copy(maxFileBytes = target))
    val byId   = newest.map(s => s.group -> s).toMap
    val groups = plan.groups.map(g => g -> g.slices.map(s => byId(s.group))).filter(_._2.nonEmpty)
    val rows   = new ClusteredRows(session, table.config.name, reader, schema, orderOf(plan, settings))
    val files  = new ClusteredFiles(session, groups, reader, writer, run)
    val keepsOrder = !rows.isSorted && plan.preservesCommit && table.config.tombstoneHours.isEmpty &&
      groups.forall(_._2.forall(_.sizeBytes <= target))
    val written =
      try if (keepsOrder) files.joined() else files.sorted(rows, updatesCommitMetadata = !plan.preservesCommit)
      finally rows.close()
    val stats = written.map(_.stat)
    val metadata = TableCommit.metadata(OperationType.Cluster, table, schema, stats, None,
      plan.slices.groupBy(_.partitionPath).map { case (partition, slices) => partition -> slices.map(_.fileId) })
    val result = ClusteringResult(Seq(instant.requested), plan.slices.size, stats.size, stats.map(_.numWrites).sum,
      stats.map(_.totalWriteBytes).sum, elapsedMs = 0)
    Work(Right(result), Some(CommitRequest(metadata, plan.fileGroups)))
  }

  /** The plan's; where another engine made it, the runner's strategy. */
  private def orderOf(plan: ClusteringPlan, settings: WriteConfig): ClusteringOrder = {
    val columns = plan.params.get(Options.ClusteringSortColumns.key).toSeq.flatMap(OptionKind.NameList.split)
    val own     = settings.clustering.order
    own.copy(columns = columns, strategy = plan.layout.getOrElse(own.strategy: LayoutStrategy))
  }

  private def elapsed(started: Long): Long = (System.nanoTime() - started) / 1000000L
}
