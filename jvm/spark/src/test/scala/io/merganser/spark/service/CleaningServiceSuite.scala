package io.merganser.spark.service

import io.merganser.merge.Notation
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.{FaultPoints, WriteResult}
import io.merganser.table.{FaultyFileSystem, TableSuite}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Action

/** Cleans after writes and by CALL, on a file system that fails. */
final class CleaningServiceSuite extends TableSuite with FaultPoints {

  override protected def master: String = "local[2]"

  private val one = Map("hoodie.clean.commits.retained" -> "1")

  private def prepared(options: Map[String, String], more: Map[String, String]): java.nio.file.Path = {
    val storage = faulty("prepared")
    write(storage, "k1@10=a k2@10=b k3@10=c", options)
    for (ts <- Seq(20, 30)) write(storage, s"k1@$ts=b k2@$ts=c", options ++ more)
    folder.resolve("prepared")
  }

  private def cleans(storage: Storage): Int =
    OpenTable.load(storage).timeline.instants.count(i => i.action == Action.Clean && i.isCompleted)

  for ((mergeOnRead, version) <- Seq((false, "9"), (true, "9"), (true, "6"))) {
    val kind = if (mergeOnRead) "merge on read" else "copy on write"
    test(
      s"a write with its clean, $kind, version $version: after any failed operation rows are old or new, and the " +
        "next write completes it") {
      val options = this.options(mergeOnRead, bucketed = true) + ("hoodie.write.table.version" -> version)
      val compact =
        if (mergeOnRead) Map("hoodie.compact.inline" -> "true", "hoodie.compact.inline.max.delta.commits" -> "1")
        else Map.empty[String, String]
      val table = prepared(options, compact)
      val later = options - "hoodie.write.table.version" ++ compact ++ one
      everyPoint(table, later, s => assert(cleans(s) > 0))(write(_, "k1@40=d k4@40=e", later))
    }
  }

  test("run_clean of a dropped partition: after any failed operation the rows stay, and the next call completes it") {
    val options = this.options(mergeOnRead = false, bucketed = false)
    val table   = prepared(options, Map.empty)
    val seed    = faulty("prepared")
    spark.sql(s"ALTER TABLE merganser.`$seed` DROP PARTITION (part = 'p1')").collect()
    write(seed, "k2@50=z", options)
    write(seed, "k2@60=z", options)
    def call(storage: Storage): Unit = {
      spark.sql(s"CALL run_clean(path => '$storage', retain_commits => 1)").collect(); ()
    }
    everyPoint(table, options, call)(call)
  }

  test("a failed clean leaves its write committed and is in its result, and the next write completes it") {
    val storage = faulty("t")
    val options = this.options(mergeOnRead = false, bucketed = true)
    for (ts <- Seq(10, 20)) write(storage, s"k1@$ts=a", options)
    def append(changes: String): WriteResult =
      FrameWrite.append(spark, OpenTable.load(storage), one, frame(Notation.changes(changes)))
    var failed: Option[WriteResult] = None
    val unmatched = FaultyFileSystem.failingFirst("delete .*parquet") { failed = Some(append("k1@30=b")) }
    assert(unmatched.isEmpty)
    val failure = failed.flatMap(_.notes.serviceFailure).getOrElse(fail("no failure"))
    assert(failure.contains("The inline clean after this write failed") && failure.contains("CALL run_clean"))
    assert(rows(storage) == Seq("k1@30=b") && OpenTable.load(storage).timeline.pending.size == 1)
    assert(append("k1@40=c").notes.serviceFailure.isEmpty)
    assert(OpenTable.load(storage).timeline.pending.isEmpty && cleans(storage) == 2)
  }
}
