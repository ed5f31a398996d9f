package io.merganser.spark.service

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.{WriteNotes, WriteResult}
import io.merganser.table.file.FileGroupId
import io.merganser.table.settings.WriteConfig
import org.slf4j.LoggerFactory

/** Steps after a committed write. Their failures leave the write committed. */
object AfterCommit {

  private val Log = LoggerFactory.getLogger(classOf[WriteNotes])

  private val Failed = "WRITE_COMMITTED_SERVICE_FAILED"

  /**
   * Runs the services that are due, or leaves them to the background of the session, registers the table in a Hive
   * metastore, and logs what the user should know about the write.
   *
   * @return the result with the failures of these steps
   * @throws MerganserException WRITE_COMMITTED_SERVICE_FAILED, WRITE_COMMITTED_SYNC_FAILED where the write's options
   *                            request an error
   */
  def run(scope: ServiceScope, result: WriteResult): WriteResult =
    if (result.instant.isEmpty) result else ofCommitted(scope, result)

  private def ofCommitted(scope: ServiceScope, result: WriteResult): WriteResult = {
    import scope.{settings, table}
    val background = BackgroundServices.failures(table)
    val dueNow     = due(settings, result)
    val ended      = if (result.notes.isRepetition) Nil else services(scope.copy(settings = dueNow))
    // The write has not requested it, and the next one to this file group does it.
    val (blocked, failed) = ended.partition { case (_, failure) =>
      dueNow.compaction.isOverdue && isBlocked(failure)
    }
    val left         = blocked.map(b => skipped(b._2)) ++ result.notes.manyLogs.flatMap(neverTaken(table, dueNow, _))
    val unregistered = Failures.of(Registration.run(scope))
    val failures = failed.map { case (service, f) => sentence(service, f) } ++ unregistered.map(Registration.sentence)
    val done = result.copy(notes = result.notes.copy(
      warnings = result.notes.warnings ++ background ++ left,
      serviceFailure = Some(failures.mkString(" ")).filter(_.nonEmpty),
      ignoredOptions = result.notes.ignoredOptions ++ Registration.unused(scope)))
    if (done.notes.sentences.nonEmpty) {
      val text = s"write ${result.instant} of ${table.storage} is committed. ${done.notes.sentences.mkString(" ")}"
      // Our own errors need no stack trace; that of others is logged.
      failed.headOption.map(_._2).orElse(unregistered.map(e => Option(e.getCause).getOrElse(e)))
        .filterNot(_.isInstanceOf[MerganserException]).fold(Log.warn(text))(Log.warn(text, _))
    }
    failed.headOption.filter(_ => settings.failsOnServiceFailure).foreach { case (service, f) =>
      throw MerganserException(Failed, "path" -> table.storage, "instant" -> result.instant,
        "service" -> service.name, "failure" -> Failures.describe(f)).causedBy(f)
    }
    Registration.require(scope, result.instant, unregistered)
    done
  }

  /** Where no setting configures compactions, a write to a slice of very many logs does, so that reads stay bounded. */
  private def due(settings: WriteConfig, result: WriteResult): WriteConfig =
    if (result.notes.manyLogs.isDefined && settings.compaction.isUnconfigured)
      settings.copy(compaction = settings.compaction.dueNow)
    else settings

  private def isBlocked(failure: Throwable): Boolean = failure match {
    case e: MerganserException => e.condition == "COMPACTION_BLOCKED"
    case _                     => false
  }

  private def skipped(reason: Throwable): String =
    s"A file group that was written has so many log files that the table should be compacted, which was skipped: " +
      Failures.describe(reason)

  /** A warning about a file group that no compaction of these settings takes. */
  private def neverTaken(table: OpenTable, settings: WriteConfig, group: FileGroupId): Option[String] =
    if (!settings.compaction.followsWrites) None
    else
      try CompactionService.neverTaken(table.refreshed(), settings, group)
      // The service has failed with it, too.
      catch { case e: MerganserException if e.condition == "PARTITION_NOT_A_DAY" => None }

  /**
   * Runs the inline services in their order, each whether or not the one before failed, and requests the others in the
   * background; returns those that failed.
   */
  private def services(scope: ServiceScope): Seq[(TableService, Throwable)] = {
    val taken = BackgroundServices.taken(scope.table, scope.settings)
    val failed = TableService.all.flatMap { service =>
      Failures.of(if (taken.contains(service)) service.prepare(scope)
        else service.inline(scope)).map(service -> _)
    }
    BackgroundServices.request(scope, taken)
    failed
  }

  /**
   * Runs an optional step after a commit, such as a refresh of cached data; a failure is logged.
   *
   * @param what as in "cannot ..."
   */
  def quietly(instant: String, what: String)(work: => Unit): Unit =
    Failures.of(work).foreach(f => Log.warn(s"write $instant is committed, but cannot $what", f))

  /** Whether an error leaves its write committed. */
  def isOfCommitted(error: MerganserException): Boolean =
    error.condition == Failed || error.condition == Registration.Failed

  private def sentence(service: TableService, failure: Throwable): String =
    s"The inline ${service.name} after this write failed: ${Failures.describe(failure)} The write is committed; " +
      service.remedy
}
