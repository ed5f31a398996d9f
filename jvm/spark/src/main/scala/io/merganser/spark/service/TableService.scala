package io.merganser.spark.service

import io.merganser.merge.NamedValue
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.settings.WriteConfig

import scala.annotation.unused

/**
 * A service of a table. It follows the writes of the table, inside them or in the background of the session.
 *
 * @param name   in messages and in procedures
 * @param remedy what does its work after a failure in a write; a sentence's end
 * @param pool   the scheduler pool of its Spark jobs; None if it has none, and only changes files
 */
private[service] sealed abstract class TableService(
    val name: String,
    val remedy: String,
    val pool: Option[String] = None
) extends NamedValue {

  /** Whether it can be run on a table. */
  def appliesTo(@unused table: OpenTable): Boolean = true

  /** Refuses to start where every run would fail. */
  def check(@unused table: OpenTable, @unused settings: WriteConfig): Unit = ()

  /** Whether it is among the services that start where none are named. */
  def isDefault: Boolean = true

  /** Whether it follows a write with these settings, if the session has a service for the table. */
  def follows(table: OpenTable, settings: WriteConfig): Boolean

  /** Whether a write with these settings leaves it to the background in any case. */
  def isAsync(settings: WriteConfig): Boolean

  /** In the write: does what is due, if the settings configure that. */
  def inline(scope: ServiceScope): Unit

  /** In the write, before it leaves the rest to the background. */
  def prepare(@unused scope: ServiceScope): Unit = ()

  /**
   * In the background: does what is due.
   *
   * @param plans also what no write has planned
   */
  def run(scope: ServiceScope, plans: Boolean): ServiceRun
}

private[service] object TableService {

  /** Of what is planned: compactions and clusterings. */
  private abstract class Planned(service: PlannedService[_], verb: String, jobs: String)
      extends TableService(service.name, s"a later write or CALL ${service.procedure} $verb.", Some(jobs)) {

    override def inline(scope: ServiceScope): Unit = service.inline(scope)

    override def run(scope: ServiceScope, plans: Boolean): ServiceRun = service.background(scope, plans)
  }

  private object Compaction extends Planned(CompactionService, "compacts", "hoodiecompact") {

    override def appliesTo(table: OpenTable): Boolean                      = table.config.isMergeOnRead
    override def follows(table: OpenTable, settings: WriteConfig): Boolean = appliesTo(table)
    override def isAsync(settings: WriteConfig): Boolean                   = settings.compaction.isAsync

    override def prepare(scope: ServiceScope): Unit = CompactionService.prepare(scope)
  }

  private object LogCompaction extends Planned(LogCompactionService, "compacts the logs", "hoodiecompact") {

    override def appliesTo(table: OpenTable): Boolean                      = table.config.isMergeOnRead
    override def isDefault: Boolean                                        = false
    override def follows(table: OpenTable, settings: WriteConfig): Boolean = appliesTo(table)
    override def isAsync(settings: WriteConfig): Boolean                   = false
  }

  // A plan refuses writes to its groups: it is made when it can be run.
  private object Clustering extends Planned(ClusteringService, "clusters", "hoodieclustering") {

    override def isDefault: Boolean                                   = false
    override def check(table: OpenTable, settings: WriteConfig): Unit = ClusteringService.check(table, settings)
    override def follows(table: OpenTable, settings: WriteConfig): Boolean =
      settings.clustering.isInline || settings.clustering.isScheduled
    override def isAsync(settings: WriteConfig): Boolean = settings.clustering.isAsync
  }

  private object Clean extends TableService("clean", "a later write or CALL run_clean cleans.") {

    override def follows(table: OpenTable, settings: WriteConfig): Boolean = settings.cleaning.automatic
    override def isAsync(settings: WriteConfig): Boolean = settings.cleaning.automatic && settings.cleaning.isAsync

    override def inline(scope: ServiceScope): Unit = CleaningService.inline(scope.table, scope.settings)

    override def run(scope: ServiceScope, plans: Boolean): ServiceRun =
      ServiceRun(CleaningService.due(scope.table, scope.settings).lastOption.map(_.instant))
  }

  private object Archiving extends TableService("archiving", "a later write or CALL archive_commits archives.") {

    override def follows(table: OpenTable, settings: WriteConfig): Boolean = settings.archive.automatic
    override def isAsync(settings: WriteConfig): Boolean = settings.archive.automatic && settings.archive.isAsync

    override def inline(scope: ServiceScope): Unit = ArchiveService.inline(scope.table, scope.settings)

    override def run(scope: ServiceScope, plans: Boolean): ServiceRun =
      ServiceRun(ArchiveService.due(scope.table, scope.settings).last)
  }

  /** All services, in the order in which they follow a write. */
  val all: Seq[TableService] = Seq(Compaction, LogCompaction, Clustering, Clean, Archiving)
}
