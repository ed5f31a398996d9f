package io.merganser.spark.service

import io.merganser.merge.MerganserException
import io.merganser.spark.sync.HiveSync
import io.merganser.table.options.{IgnoredOption, Options}
import org.slf4j.LoggerFactory

/** Registers tables in a Hive metastore after a commit, as the options request. */
object Registration {

  private val Log = LoggerFactory.getLogger(getClass)

  private[service] val Failed = "WRITE_COMMITTED_SYNC_FAILED"

  /**
   * After the commit of a service or of an ALTER TABLE.
   *
   * @throws MerganserException WRITE_COMMITTED_SYNC_FAILED, unless the options request that it is only logged
   */
  def after(scope: ServiceScope, instant: String): Unit = {
    val unregistered = Failures.of(run(scope))
    unregistered.foreach(f => Log.warn(s"instant $instant of ${scope.table.storage} is committed. ${sentence(f)}"))
    require(scope, instant, unregistered)
  }

  private[service] def require(scope: ServiceScope, instant: String, failure: Option[Throwable]): Unit =
    failure.filterNot(_ => scope.settings.hiveSync.exists(_.ignoresFailures)).foreach { f =>
      throw MerganserException(Failed, "path" -> scope.table.storage, "instant" -> instant,
        "failure" -> Failures.describe(f)).causedBy(f)
    }

  /** After a compaction, so that its commit is registered too; a repeated write may follow a failed registration. */
  private[service] def run(scope: ServiceScope): Unit =
    for (sync <- scope.settings.hiveSync; uris <- HiveSync.metastoreOf(scope.table, sync))
      HiveSync.run(scope.table.refreshed(), sync, uris, scope.session.version)

  /** The option, where no metastore is configured. */
  private[service] def unused(scope: ServiceScope): Seq[IgnoredOption] =
    scope.settings.hiveSync.filter(HiveSync.metastoreOf(scope.table, _).isEmpty).toSeq.map { _ =>
      IgnoredOption(Options.HiveSync.key,
        s"no metastore is configured; set ${Options.HiveSyncUris.key}, or run CREATE " +
          "TABLE … USING merganser LOCATION once")
    }

  private[service] def sentence(failure: Throwable): String =
    s"The table could not be registered in the Hive metastore: ${Failures.describe(failure)} The write is committed; " +
      "the next one registers it."
}
