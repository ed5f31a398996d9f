package io.merganser.spark.service

import io.merganser.Extensive
import io.merganser.table.{FaultyFileSystem, Leftovers, TableSuite}
import io.merganser.table.FaultyFileSystem.Dead
import io.merganser.table.storage.Storage

/** A file system that fails at an operation of a write that rolls another one back. */
@Extensive
final class RollbackFaultsSuite extends TableSuite with ServiceFaults {

  /** The table as a write leaves it that dies right before it is committed. */
  private def died(storage: Storage, options: Map[String, String], notation: String): Unit = {
    val name = s"dying-${notation.hashCode}"
    org.apache.commons.io.FileUtils.copyDirectory(folder.resolve("prepared").toFile, folder.resolve(name).toFile)
    val operations = FaultyFileSystem.recorded(write(faulty(name), notation, options))
    val commit     = operations.lastIndexWhere(_.matches("rename .*\\.temp/unpublished-.* to .*commit")) + 1
    assert(commit > 0, operations)
    FaultyFileSystem.failing(commit, Dead)(write(storage, notation, options))
    org.apache.commons.io.FileUtils.deleteDirectory(folder.resolve(name).toFile)
    assert(Leftovers.of(storage).nonEmpty)
  }

  for (
    (version, mergeOnRead, bucketed) <-
      Seq(("6", false, false), ("6", true, true), ("9", false, true), ("9", true, false), ("9", true, true))
  )
    test(
      s"a write after a dead one, version $version, ${kind(mergeOnRead)}, " +
        s"${if (bucketed) "BUCKET" else "SIMPLE"}: after any failed operation rows are old or new, and the next " +
        "write repairs") {
      val options  = this.options(mergeOnRead, bucketed) + ("hoodie.write.table.version" -> version)
      val prepared = prepare(options)(died(_, later(options), "k1@15=died k2@15=died k9@15=died"))
      everyPoint(prepared, later(options))(write(_, batch, later(options)))
    }

  test(
    "a write that rolls back a dead rollback: after any failed operation rows are old or new, and the next " +
      "write repairs") {
    val options = this.options(mergeOnRead = true)
    val prepared = prepare(options) { storage =>
      died(storage, later(options), "k1@15=died k2@15=died k9@15=died")
      val files = Leftovers.of(storage)
      FaultyFileSystem.failingFirst("delete .*\\.(inflight|log).*")(
        scala.util.Try(write(storage, "k1@16=again k3@16=again", later(options))))
      assert(Leftovers.of(storage).nonEmpty && Leftovers.of(storage) != files)
    }
    everyPoint(prepared, later(options))(write(_, batch, later(options)))
  }
}
