package io.merganser.spark.service

import io.merganser.Extensive
import io.merganser.table.TableSuite
import io.merganser.table.storage.Storage

/** A file system that fails at an operation of a compaction or a log compaction. */
@Extensive
final class CompactionFaultsSuite extends TableSuite with ServiceFaults {

  for (version <- Seq("6", "9"); bucketed <- Seq(false, true)) {
    val index = if (bucketed) "BUCKET" else "SIMPLE"

    test(
      s"an upsert with a compaction, version $version, $index: after any failed operation rows are old or new, " +
        "and the next write repairs") {
      val options = this.options(mergeOnRead = true, bucketed) + ("hoodie.write.table.version" -> version)
      val inline  = Map("hoodie.compact.inline" -> "true", "hoodie.compact.inline.max.delta.commits" -> "1")
      everyPoint(prepare(options)(_ => ()), later(options) ++ inline)(
        write(_, logged(bucketed), later(options) ++ inline))
    }

    for ((op, done) <- Seq("schedule" -> "", "execute" -> "schedule"))
      test(
        s"run_compaction, op $op, version $version, $index: after any failed operation the rows stay, and the " +
          "next run completes it") {
        val options = this.options(mergeOnRead = true, bucketed) + ("hoodie.write.table.version" -> version)
        val prepared = prepare(options) { storage =>
          write(storage, logged(bucketed), later(options))
          if (done.nonEmpty) compaction(storage, done)
        }
        everyPoint(prepared, later(options), compaction(_, "scheduleandexecute"))(compaction(_, op))
      }
  }

  private def logCompaction(storage: Storage, op: String): Unit =
    sql(s"CALL run_log_compaction(op => '$op', path => '$storage', " +
      "options => 'hoodie.log.compaction.blocks.threshold=2')")

  for (version <- Seq("6", "9")) {

    for ((op, done) <- Seq("schedule" -> "", "execute" -> "schedule"))
      test(
        s"a log compaction, op $op, version $version: after any failed operation the rows stay, and the next run " +
          "completes it") {
        val options = this.options(mergeOnRead = true, bucketed = true) + ("hoodie.write.table.version" -> version)
        val prepared = prepare(options) { storage =>
          write(storage, batch, later(options))
          write(storage, "k1@15=late k2@30=x k4@30-", later(options))
          if (done.nonEmpty) logCompaction(storage, done)
        }
        everyPoint(prepared, later(options), logCompaction(_, "scheduleandexecute"))(logCompaction(_, op))
      }

    test(
      s"an upsert with a log compaction, version $version: after any failed operation rows are old or new, and " +
        "the next write repairs") {
      val options = this.options(mergeOnRead = true, bucketed = true) + ("hoodie.write.table.version" -> version)
      val inline =
        Map("hoodie.log.compaction.inline" -> "true", "hoodie.log.compaction.blocks.threshold" -> "2")
      everyPoint(prepare(options)(write(_, batch, later(options))), later(options) ++ inline)(
        write(_, "k1@15=late k2@30=x k4@30-", later(options) ++ inline))
    }
  }
}
