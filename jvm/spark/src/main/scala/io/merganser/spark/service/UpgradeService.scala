package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.place.StoredKeyForm
import io.merganser.table.commit.{Rollback, TableUpgrade, Transaction}
import io.merganser.table.options.Options
import io.merganser.table.settings.WriteConfig
import org.apache.spark.sql.SparkSession

/** Upgrade of a table from version 6 or 8 to 9: rolls back failed writes, compacts logs, then changes the format. */
object UpgradeService {

  /**
   * @param options of which those on merger classes, locks, failed writes, indexes, unknown properties and keys without
   *                a name apply
   * @throws io.merganser.merge.MerganserException UPGRADE_REFUSED, KEYS_WITHOUT_NAME and what compaction throws
   */
  def run(session: SparkSession, path: String, options: Map[String, String]): Unit = {
    val table = OpenTable.load(session, path)
    if (table.config.version < 9) {
      val names = (Options.MergerClasses.names ++ Options.ConcurrencyMode.names ++ Options.FailedWrites.names ++
        Options.DropIndexes.names ++ Options.AllowUnknownProperties.names ++ Options.ComplexKeyValidation.names ++
        Options.ofLocks.flatMap(_.names)).toSet
      val settings =
        WriteConfig.parse(options.filter { case (name, _) => names(name) }, session.conf.getAll, table.config,
          makesKeys = false)
      settings.requireNoDryRun("upgrade", table.config.name)
      StoredKeyForm.requireUpgradable(session, settings, table)
      Rollback.failed(table.storage, table.config, Transaction.Options.of(settings))
      if (table.config.isMergeOnRead) {
        CompactionService.compactAll(ServiceScope(session, table.refreshed(), settings))
        // Their slices are compacted: the plans are removed.
        LogCompactionService.run(ServiceScope(session, table.refreshed(), settings))
      }
      TableUpgrade.run(table.storage, OpenTable.load(table.storage).schema, settings.access)
      ()
    }
  }
}
