package io.merganser.spark.read

import io.merganser.merge.Notation
import io.merganser.spark.{LocalSession, MerganserCatalog}
import io.merganser.table.{FaultyFileSystem, Leftovers, TableSuite}
import io.merganser.table.storage.Storage
import org.apache.commons.io.FileUtils
import org.apache.spark.sql.DataFrame

// Guarantee (Reads): Reads change nothing and take no lock, so read access alone is enough to read, describe, explain
//   and verify a table.
/** A user with read access alone can read. */
final class ReadRightsSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[1]"

  override protected def settings: Map[String, String] =
    Map("spark.sql.catalog.spark_catalog" -> classOf[MerganserCatalog].getName)

  private val mergeOnRead = options(mergeOnRead = true, bucketed = false)

  private val last = Notation.changes("k3@30=C")

  /** A table with a write that died right before its commit became visible. */
  private def withPendingWrite(): Storage = {
    val prepared = faulty("prepared")
    upsert(prepared, Notation.changes("k1@10=a k2@10=b k3@10=c"), mergeOnRead)
    upsert(prepared, Notation.changes("k1@20=A k2@20-"), mergeOnRead)
    def copy(name: String): Storage = {
      FileUtils.copyDirectory(folder.resolve("prepared").toFile, folder.resolve(name).toFile)
      faulty(name)
    }
    val operations = FaultyFileSystem.recorded(upsert(copy("whole"), last, mergeOnRead))
    val commit     = operations.lastIndexWhere(_.matches("rename .*\\.temp/unpublished-.* to .*commit")) + 1
    assert(commit > 0, operations)
    val storage = copy("died")
    FaultyFileSystem.failing(commit, FaultyFileSystem.Dead)(upsert(storage, last, mergeOnRead))
    assert(Leftovers.of(storage).nonEmpty, operations)
    storage
  }

  test("no kind of read changes the store or takes a lock, also beside a pending write") {
    val storage = withPendingWrite()
    def load(more: (String, String)*): DataFrame =
      spark.read.format("merganser").options(more.toMap).load(storage.toString)
    val first = load().selectExpr("min(_hoodie_commit_time)").head().getString(0)
    val incremental = Seq("hoodie.datasource.query.type" -> "incremental",
      "hoodie.datasource.read.begin.instanttime" -> "000")
    val frames = Map[String, () => DataFrame](
      "snapshot" -> (() => load()),
      "read optimized" -> (() => load("hoodie.datasource.query.type" -> "read_optimized")),
      "time travel" -> (() => load("as.of.instant" -> first)),
      "incremental" -> (() => load(incremental: _*)),
      "change data" -> (() => load(incremental :+ ("hoodie.datasource.query.incremental.format" -> "cdc"): _*))
    )
    val procedures = Seq("show_history", "show_commits", "show_timeline", "show_fsview_latest", "show_compaction",
      "show_table_properties", "show_cleans", "show_savepoints", "show_orphan_files", "verify_table")
    val statements = Seq(s"SELECT * FROM merganser.`$storage` WHERE k = 'k1'",
      s"DESCRIBE TABLE EXTENDED merganser.`$storage`", s"CALL explain_record(path => '$storage', key => 'k1')") ++
      procedures.map(name => s"CALL $name(path => '$storage')")
    val reads = frames ++ statements.map(text => text -> (() => spark.sql(text)))
    for ((how, read) <- reads) {
      val operations = FaultyFileSystem.recorded(read().collect())
      assert(operations.nonEmpty, how)
      assert(operations.filter(FaultyFileSystem.isChange).isEmpty, how)
    }
  }
}
