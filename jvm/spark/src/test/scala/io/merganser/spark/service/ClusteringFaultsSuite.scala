package io.merganser.spark.service

import io.merganser.Extensive
import io.merganser.table.TableSuite
import io.merganser.table.storage.Storage

/** A file system that fails at an operation of a clustering, or of a write that rolls a planned one back. */
@Extensive
final class ClusteringFaultsSuite extends TableSuite with ServiceFaults {

  private def clustering(storage: Storage, op: String): Unit =
    sql(s"CALL run_clustering(op => '$op', path => '$storage', order => 'v')")

  for ((version, mergeOnRead) <- Seq("6" -> true, "9" -> false, "9" -> true)) {

    for ((op, done) <- Seq("schedule" -> "", "execute" -> "schedule"))
      test(
        s"run_clustering, op $op, version $version, ${kind(mergeOnRead)}: after any failed operation the rows " +
          "stay, and the next run completes it") {
        val options = this.options(mergeOnRead, version)
        val prepared = prepare(options) { storage =>
          write(storage, logged(bucketed = false), later(options))
          if (done.nonEmpty) clustering(storage, done)
        }
        // A planned clustering refuses writes to its groups unless they are allowed.
        val allowing = Map("hoodie.clustering.updates.strategy" -> "SparkAllowUpdateStrategy")
        everyPoint(prepared, later(options) ++ allowing, clustering(_, "scheduleandexecute"))(clustering(_, op))
      }
  }

  test(
    "a write that rolls back a planned clustering: after any failed operation rows are old or new, and the next " +
      "write repairs") {
    val options = this.options(mergeOnRead = true, bucketed = false)
    val prepared = prepare(options) { storage =>
      write(storage, logged(bucketed = false), options)
      clustering(storage, "schedule")
    }
    val allowing = options + ("hoodie.clustering.updates.strategy" -> "SparkAllowUpdateStrategy")
    everyPoint(prepared, allowing, clustering(_, "scheduleandexecute"))(write(_, "k1@30=z", allowing))
  }
}
