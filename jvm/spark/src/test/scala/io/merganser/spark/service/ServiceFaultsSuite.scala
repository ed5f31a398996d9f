package io.merganser.spark.service

import java.nio.file.{Path => NioPath}

import io.merganser.spark.write.FaultPoints
import io.merganser.table.{FaultyFileSystem, Leftovers, TableSuite}
import io.merganser.table.FaultyFileSystem.Dead
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage

/** A file system that fails at an operation of a compaction, a change of a table, an upgrade or a rollback. */
final class ServiceFaultsSuite extends TableSuite with FaultPoints {

  override protected def master: String = "local[1]"

  private val before = "k1@10=a k2@10=b k3@10=c k4@10=d"
  private val batch  = "k1@20=A k2@20- k5@20=e k6@20=f"

  /** A batch that goes to log files: without an index by hash, files get no new keys in logs. */
  private def logged(bucketed: Boolean) = if (bucketed) batch else "k1@20=A k2@20- k4@20=D"

  private def options(mergeOnRead: Boolean, version: String = "9"): Map[String, String] =
    options(mergeOnRead, bucketed = false) + ("hoodie.write.table.version" -> version)

  private def later(options: Map[String, String]): Map[String, String] = options - "hoodie.write.table.version"

  private def prepare(options: Map[String, String])(more: Storage => Unit): NioPath = {
    val storage = faulty("prepared")
    write(storage, before, options)
    more(storage)
    folder.resolve("prepared")
  }

  private def sql(text: String): Unit = { spark.sql(text).collect(); () }

  private def kind(mergeOnRead: Boolean) = if (mergeOnRead) "merge on read" else "copy on write"

  private def compaction(storage: Storage, op: String): Unit =
    sql(s"CALL run_compaction(op => '$op', path => '$storage')")

  for (version <- Seq("6", "9"); bucketed <- Seq(false, true)) {
    val index = if (bucketed) "BUCKET" else "SIMPLE"

    test(s"an upsert with a compaction, version $version, $index: whichever operation fails, a reader sees the old " +
      "rows or the new ones, and the next write repairs the table") {
      val options = this.options(mergeOnRead = true, bucketed) + ("hoodie.write.table.version" -> version)
      val inline  = Map("hoodie.compact.inline" -> "true", "hoodie.compact.inline.max.delta.commits" -> "1")
      everyPoint(prepare(options)(_ => ()), later(options) ++ inline)(
        write(_, logged(bucketed), later(options) ++ inline))
    }

    for ((op, done) <- Seq("schedule" -> "", "execute" -> "schedule"))
      test(s"a compaction by CALL run_compaction, op $op, version $version, $index: whichever operation fails, the " +
        "rows stay, and the next run completes it") {
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
      test(s"a log compaction, op $op, version $version: whichever operation fails, the rows stay, and the next run " +
        "completes it") {
        val options = this.options(mergeOnRead = true, bucketed = true) + ("hoodie.write.table.version" -> version)
        val prepared = prepare(options) { storage =>
          write(storage, batch, later(options))
          write(storage, "k1@15=late k2@30=x k4@30-", later(options))
          if (done.nonEmpty) logCompaction(storage, done)
        }
        everyPoint(prepared, later(options), logCompaction(_, "scheduleandexecute"))(logCompaction(_, op))
      }

    test(s"an upsert with a log compaction, version $version: whichever operation fails, a reader sees the old rows " +
      "or the new ones, and the next write repairs the table") {
      val options = this.options(mergeOnRead = true, bucketed = true) + ("hoodie.write.table.version" -> version)
      val inline =
        Map("hoodie.log.compaction.inline" -> "true", "hoodie.log.compaction.blocks.threshold" -> "2")
      everyPoint(prepare(options)(write(_, batch, later(options))), later(options) ++ inline)(
        write(_, "k1@15=late k2@30=x k4@30-", later(options) ++ inline))
    }
  }

  private def clustering(storage: Storage, op: String): Unit =
    sql(s"CALL run_clustering(op => '$op', path => '$storage', order => 'v')")

  for ((version, mergeOnRead) <- Seq("6" -> true, "9" -> false, "9" -> true)) {

    for ((op, done) <- Seq("schedule" -> "", "execute" -> "schedule"))
      test(
        s"a clustering by CALL run_clustering, op $op, version $version, ${kind(mergeOnRead)}: whichever operation " +
          "fails, the rows stay, and the next run completes it") {
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

  test("a write that rolls a planned clustering back: whichever operation fails, a reader sees the old rows or the " +
    "new ones, and the next write repairs the table") {
    val options = this.options(mergeOnRead = true, bucketed = false)
    val prepared = prepare(options) { storage =>
      write(storage, logged(bucketed = false), options)
      clustering(storage, "schedule")
    }
    val allowing = options + ("hoodie.clustering.updates.strategy" -> "SparkAllowUpdateStrategy")
    everyPoint(prepared, allowing, clustering(_, "scheduleandexecute"))(write(_, "k1@30=z", allowing))
  }

  private val changes = Seq(
    "ADD COLUMN" -> "ADD COLUMN extra BIGINT",
    "ALTER COLUMN" -> "ALTER COLUMN v COMMENT 'text'",
    "RENAME COLUMN" -> "RENAME COLUMN v TO value",
    "DROP COLUMN" -> "DROP COLUMN w",
    "SET TBLPROPERTIES" -> "SET TBLPROPERTIES ('hoodie.parquet.max.file.size' = '1000000', 'note' = 'x')"
  )

  for ((name, change) <- changes; mergeOnRead <- Seq(false, true))
    test(
      s"ALTER TABLE … $name, ${kind(mergeOnRead)}: whichever operation fails, a reader sees the table of before it " +
        "or of after it, and the next write repairs it") {
      val options  = this.options(mergeOnRead)
      val prepared = prepare(options)(write(_, batch, later(options)))
      spark.sql("SET hoodie.schema.on.read.enable=true")
      try everyPoint(prepared, later(options))(storage => sql(s"ALTER TABLE merganser.`$storage` $change"))
      finally { spark.sql("RESET hoodie.schema.on.read.enable"); () }
    }

  test(
    "an upsert into a table with versions of its columns: whichever operation fails, a reader sees the old rows or " +
      "the new ones, and the next write repairs the table") {
    val options = this.options(mergeOnRead = true)
    val prepared = prepare(options) { storage =>
      spark.sql("SET hoodie.schema.on.read.enable=true")
      try sql(s"ALTER TABLE merganser.`$storage` RENAME COLUMN w TO x")
      finally { spark.sql("RESET hoodie.schema.on.read.enable"); () }
    }
    everyPoint(prepared, later(options)) { storage =>
      frame(io.merganser.merge.Notation.changes(batch)).withColumnRenamed("w", "x").write.format("merganser")
        .options(later(options)).mode("append").save(storage.toString)
    }
  }

  for ((version, mergeOnRead) <- Seq("6" -> false, "6" -> true, "8" -> true)) {

    test(s"an upgrade of version $version, ${kind(mergeOnRead)}: whichever operation fails, a reader sees the same " +
      "rows, the next write repairs the table, and the next upgrade completes it") {
      val options                         = this.options(mergeOnRead, version)
      val prepared                        = prepare(options)(write(_, logged(bucketed = false), later(options)))
      def upgrade(storage: Storage): Unit = sql(s"CALL upgrade_table(path => '$storage')")
      everyPoint(prepared, later(options), upgrade)(upgrade)
    }

    test(
      s"a write that upgrades version $version, ${kind(mergeOnRead)}: whichever operation fails, a reader sees the " +
        "old rows or the new ones, and the next write repairs the table") {
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
    test(s"a write that rolls back one that died, version $version, ${kind(mergeOnRead)}, " +
      s"${if (bucketed) "BUCKET" else "SIMPLE"}: whichever operation fails, a reader sees the old rows or the new " +
      "ones, and the next write repairs the table") {
      val options  = this.options(mergeOnRead, bucketed) + ("hoodie.write.table.version" -> version)
      val prepared = prepare(options)(died(_, later(options), "k1@15=died k2@15=died k9@15=died"))
      everyPoint(prepared, later(options))(write(_, batch, later(options)))
    }

  test("a write that rolls back one that died while it rolled back another: whichever operation fails, a reader sees " +
    "the old rows or the new ones, and the next write repairs the table") {
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
