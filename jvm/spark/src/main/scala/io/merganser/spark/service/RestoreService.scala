package io.merganser.spark.service

import io.merganser.table.commit.Transaction
import io.merganser.table.service.{RestoreReport, Restoring}

/** Takes completed writes of a table back, and registers the table as it is then. */
object RestoreService {

  /**
   * @param time      that of the write to restore, see [[io.merganser.table.slice.TimeTravel.writeAt]]
   * @param isPreview changes nothing
   */
  def restore(scope: ServiceScope, time: String, isPreview: Boolean): RestoreReport = {
    val service = of(scope, isPreview)
    if (isPreview) service.previewRestore(time) else registered(scope, service.restore(time))
  }

  /** @param savepoint requested time of its write; None: the newest */
  def restoreSavepoint(scope: ServiceScope, savepoint: Option[String], isPreview: Boolean): RestoreReport =
    restore(scope, SavepointService.of(scope.table).find(savepoint).requested, isPreview)

  /** @param instant requested time of the newest write; None: whichever it is */
  def rollback(scope: ServiceScope, instant: Option[String], isPreview: Boolean): RestoreReport = {
    val service = of(scope, isPreview)
    if (isPreview) service.previewRollback(instant) else registered(scope, service.rollback(instant))
  }

  private def of(scope: ServiceScope, isPreview: Boolean): Restoring = {
    import scope._
    if (!isPreview) settings.requireNoDryRun("restore", table.config.name)
    new Restoring(table.storage, table.config, Transaction.Options.of(settings).copy(opened = Some(table.timeline)))
  }

  private def registered(scope: ServiceScope, done: RestoreReport): RestoreReport = {
    done.instant.filter(_ => done.newest.isDefined).foreach(Registration.after(scope, _))
    done
  }
}
