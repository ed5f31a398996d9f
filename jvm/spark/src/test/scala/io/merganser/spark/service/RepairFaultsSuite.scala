package io.merganser.spark.service

import java.nio.file.{Path => NioPath}

import io.merganser.spark.write.FaultPoints
import io.merganser.table.{Leftovers, TableSuite}
import io.merganser.table.storage.Storage

/**
 * A file system that fails at an operation of a repair of duplicates: on both types of tables, one of each layout of
 * the timeline; on all of them with MERGANSER_FULL=1.
 */
final class RepairFaultsSuite extends TableSuite with FaultPoints {

  override protected def master: String = "local[1]"

  private def repair(storage: Storage): Unit = {
    spark.sql(s"CALL repair_deduplicate(path => '$storage', dry_run => false)").collect()
    ()
  }

  private val tables = Seq("6" -> false, "9" -> true) ++ (if (isFull) Seq("9" -> false, "6" -> true) else Nil)

  for ((version, mergeOnRead) <- tables)
    test(s"a repair of duplicates, version $version, ${if (mergeOnRead) "merge on read" else "copy on write"}: " +
      "whichever operation fails, a reader sees the copies or the merged rows, and the next repair completes it") {
      val created = options(mergeOnRead, bucketed = false) + ("hoodie.write.table.version" -> version)
      val inserts = created - "hoodie.write.table.version" + ("hoodie.datasource.write.operation" -> "bulk_insert")
      val prepared: NioPath = {
        val storage = faulty("prepared")
        write(storage, "k1@10=a k2@20=b k3@10=c", created)
        write(storage, "k1@15=A k2@15=B k4@10=d", inserts)
        folder.resolve("prepared")
      }
      val old = seen(copy(prepared, "old"))
      val all = copy(prepared, "all")
      repair(all)
      val merged = seen(all)
      assert(old.rows.size == 6 && merged.rows.size == 4)
      points(prepared)(repair) { (storage, isDone, failed) =>
        val now = seen(storage)
        assert(if (isDone) now == merged else now == old || now == merged, failed)
        Leftovers.age(storage)
        repair(storage)
        assert(seen(storage) == merged, failed)
        // A compaction that was planned before the fault is run by the next one.
        if (mergeOnRead) spark.sql(s"CALL run_compaction(op => 'scheduleandexecute', path => '$storage')").collect()
        assert(seen(storage) == merged && Leftovers.of(storage).isEmpty, failed)
      }
    }
}
