package io.merganser.spark.service

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.commit.Transaction
import io.merganser.table.settings.WriteConfig
import io.merganser.table.timeline.Instant

/** A planned instant that was not run, and why. */
final case class SkippedRun(instant: String, reason: String, isRolledBack: Boolean = false)

/** What runs of planned instants did. */
private[spark] trait PlannedResult {

  /** The newest instant that was run. */
  def newest: Option[String]

  /** Planned ones that were not run. */
  def skipped: Seq[SkippedRun]
}

/**
 * What one run of a service in the background did.
 *
 * @param instant  the newest instant that it completed; None if nothing was due
 * @param waitsFor why some of it could not be done yet
 */
private[service] final case class ServiceRun(instant: Option[String] = None, waitsFor: Option[String] = None)

/**
 * A service that plans an instant under the table's lock, and runs what it or another process has planned.
 *
 * @param name      in messages
 * @param procedure that runs what is planned
 * @param blocked   condition of a plan that a running write does not allow
 */
private[spark] abstract class PlannedService[R <: PlannedResult](
    val name: String,
    val procedure: String,
    blocked: String
) {

  /** Instants that are planned, oldest first. */
  def planned(table: OpenTable): Seq[Instant]

  /** Plans what can be done; None if there is nothing. */
  def schedule(scope: ServiceScope): Option[String]

  /** Plans what is due, if anything is. */
  def scheduleDue(scope: ServiceScope): Option[String]

  /** Whether writes with these settings plan what is due, and whether they run it. */
  protected def followsWrites(settings: WriteConfig): Boolean
  protected def runsInWrites(settings: WriteConfig): Boolean

  protected def isDue(scope: ServiceScope): Boolean

  /** In a write that runs nothing: plans what is due. */
  protected def planInWrite(scope: ServiceScope): Unit = { scheduleDue(scope); () }

  /** Runs some of the planned ones; those that another writer runs are skipped. */
  protected def runs(scope: ServiceScope, planned: Seq[Instant]): PlannedRuns[R]

  /** Plans what can be done, and runs all that is planned. */
  protected def planAndRun(scope: ServiceScope): PlannedRuns[R]

  /** The same after a write, of what is due. */
  protected def planAndRunDue(scope: ServiceScope): PlannedRuns[R]

  /** In the background. */
  protected def runDue(scope: ServiceScope, plans: Boolean): R

  /** What several runs did, one after the other. */
  protected def joined(results: Seq[R]): R

  /**
   * Runs planned instants, oldest first, and registers the table. Those that another writer runs are left alone.
   *
   * @param chosen selects the instants to run from all planned ones
   * @throws MerganserException PLANNED_SERVICE_FAILED if one of several fails, after the others have been run
   */
  final def run(scope: ServiceScope, chosen: Seq[String] => Seq[String] = identity): R = {
    val all    = planned(scope.table)
    val wanted = chosen(all.map(_.requested)).toSet
    registered(scope, runs(scope, all.filter(i => wanted(i.requested))))
  }

  /** Plans what can be done, runs it and what others have planned, and registers the table. Throws as [[run]] does. */
  final def scheduleAndRun(scope: ServiceScope): R = registered(scope, planAndRun(scope))

  /** As [[scheduleAndRun]], but plans only what is due. */
  def scheduleDueAndRun(scope: ServiceScope): R = {
    scheduleDue(scope)
    run(scope.refreshed)
  }

  /** After a write: plans, or runs, what is due, if that is configured. */
  final def inline(scope: ServiceScope): Unit =
    if (followsWrites(scope.settings)) {
      val now = scope.refreshed
      if (!runsInWrites(scope.settings)) planInWrite(now)
      else if (isDue(now)) { complete(now, planAndRunDue(now)); () }
    }

  /** In the background: does what is due. While a plan is blocked, what is planned is run. */
  final def background(scope: ServiceScope, plans: Boolean): ServiceRun = {
    val (done, why) =
      try { (runDue(scope, plans), None) }
      catch { case e: MerganserException if e.condition == blocked => (run(scope.refreshed), Some(e.getMessage)) }
    val left = done.skipped.filterNot(_.isRolledBack).headOption
    ServiceRun(done.newest, left.map(s => s"$name ${s.instant}: ${s.reason}").orElse(why))
  }

  /** @throws MerganserException PLANNED_SERVICE_FAILED if one of several failed */
  private def complete(scope: ServiceScope, runs: PlannedRuns[R]): R = {
    runs.requireAll(scope.table, name, procedure)
    joined(runs.done)
  }

  /** Registers the table after what was run, if anything was. */
  protected final def registered(scope: ServiceScope, runs: PlannedRuns[R]): R = {
    runs.done.flatMap(_.newest).lastOption.foreach(Registration.after(scope, _))
    complete(scope, runs)
  }

  /** The transaction is that of the write before it, and is committed with that. */
  protected final def options(scope: ServiceScope): Transaction.Options = Transaction.Options.of(scope.settings)
    .copy(heartbeatMs = Some(scope.settings.heartbeatIntervalMs), opened = Some(scope.table.timeline),
      transaction = None)

  /** In a table with versions of its columns, a file has those of its instant. */
  protected final def columnsAsOf(table: OpenTable, instant: Instant): OpenTable =
    if (table.timeline.history.isEmpty) table
    else Some(table.asOfInstant(instant.requested)).filter(_.schema.nonEmpty).getOrElse(table)
}
