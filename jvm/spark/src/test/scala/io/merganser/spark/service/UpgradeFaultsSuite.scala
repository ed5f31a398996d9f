package io.merganser.spark.service

import io.merganser.Extensive
import io.merganser.table.TableSuite
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage

/** A file system that fails at an operation of an upgrade. */
@Extensive
final class UpgradeFaultsSuite extends TableSuite with ServiceFaults {

  for ((version, mergeOnRead) <- Seq("6" -> false, "6" -> true, "8" -> true)) {

    test(
      s"an upgrade of version $version, ${kind(mergeOnRead)}: after any failed operation the rows stay, and the " +
        "next upgrade completes it") {
      val options                         = this.options(mergeOnRead, version)
      val prepared                        = prepare(options)(write(_, logged(bucketed = false), later(options)))
      def upgrade(storage: Storage): Unit = sql(s"CALL upgrade_table(path => '$storage')")
      everyPoint(prepared, later(options), upgrade)(upgrade)
    }

    test(
      s"a write that upgrades version $version, ${kind(mergeOnRead)}: after any failed operation rows are old or " +
        "new, and the next write repairs") {
      val options  = this.options(mergeOnRead, version)
      val upgrades = later(options) + ("hoodie.write.auto.upgrade" -> "true")
      val prepared = prepare(options)(write(_, logged(bucketed = false), later(options)))
      // A planned compaction remains until it is run.
      def finish(storage: Storage): Unit = if (mergeOnRead) compaction(storage, "scheduleandexecute")
      everyPoint(prepared, later(options), finish)(write(_, "k1@25=B k5@20=e", upgrades))
    }
  }

  test("an upgrade compacts the logs that were written after a compaction was planned, too") {
    for (version <- Seq("6", "8")) {
      val storage = faulty(version)
      val options = this.options(mergeOnRead = true, version)
      write(storage, before, options)
      write(storage, logged(bucketed = false), later(options))
      compaction(storage, "schedule")
      write(storage, "k1@30=x", later(options))
      val rows = seen(storage)
      sql(s"CALL upgrade_table(path => '$storage')")
      assert(TableConfig.load(storage).version == 9 && seen(storage) == rows)
    }
  }
}
