package io.merganser.spark.write

import io.merganser.merge.Notation
import io.merganser.spark.{LocalSession, MerganserCatalog}
import io.merganser.table.{FaultyFileSystem, Leftovers, TableSuite}
import io.merganser.table.storage.Storage
import org.apache.spark.TaskContext

import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicReference

import scala.collection.JavaConverters._
import scala.util.matching.Regex

/** An attempt that Spark kills in the middle of a file leaves nothing, in every kind of job that writes files. */
final class LateAttemptsSuite extends TableSuite with LocalSession {
  import LateAttemptsSuite._

  override protected def master: String = "local[2,4]"

  override protected def settings: Map[String, String] =
    Map("spark.sql.catalog.spark_catalog" -> classOf[MerganserCatalog].getName)

  private def call(table: Storage, procedure: String): Unit = {
    spark.sql(s"CALL $procedure(op => 'scheduleandexecute', path => '$table', " +
      "options => 'hoodie.log.compaction.blocks.threshold=2')").collect()
    ()
  }

  private def kinds: Seq[Kind] = {
    def cow(more: (String, String)*) = options(mergeOnRead = false, bucketed = false) ++ more
    def mor(more: (String, String)*) = options(mergeOnRead = true, bucketed = true) ++ more
    def batch(options: Map[String, String]) =
      (table: Storage) => upsert(table, Notation.changes("k1@3=c k2@3=c k3@3=c"), options)
    val after = Seq("k1@3=c", "k2@3=c", "k3@3=c")
    Seq(
      Kind("an upsert to base files", cow(), after)(batch(cow())),
      Kind("an upsert to logs", mor(), after)(batch(mor())),
      Kind("an upsert to base files and change files", cow("hoodie.table.cdc.enabled" -> "true"), after)(batch(cow())),
      Kind("a bulk insert", cow(), Before ++ Seq("k5@1=a", "k6@1=a"))(table =>
        upsert(table, Notation.changes("k5@1=a k6@1=a"), cow("hoodie.datasource.write.operation" -> "bulk_insert"))),
      Kind("a compaction", mor(), Before)(call(_, "run_compaction")),
      Kind("a log compaction", mor(), Before)(call(_, "run_log_compaction")),
      Kind("a clustering", cow(), Before)(call(_, "run_clustering"))
    )
  }

  for (version <- Seq("6", "9"); kind <- kinds; interrupts <- Seq(true, false))
    test(s"version $version, ${kind.name}: an attempt that is killed${if (interrupts) " by an interrupt" else ""} in " +
      "the middle of its file removes it with its marker, and another attempt completes the job") {
      val table = faulty("t")
      for (notation <- Seq("k1@1=a k2@1=a k3@1=a", "k1@2=b k2@2=b", "k1@2=b k3@2=b"))
        upsert(table, Notation.changes(notation), kind.options + ("hoodie.write.table.version" -> version))
      assert(rows(table) == Before)
      val killed = new AtomicReference[String]
      val left   = new ConcurrentLinkedQueue[String]
      FaultyFileSystem.watching { what =>
        val task = TaskContext.get()
        what match {
          case Create(file) if task != null && killed.compareAndSet(null, file) =>
            spark.sparkContext.killTaskAttempt(task.taskAttemptId(), interrupts, "the test kills it")
            awaitKill(task)
          case Marker(_) if task != null && task.attemptNumber > 0 && killed.get != null =>
            found(killed.get).foreach(left.add)
          case _ => ()
        }
      }(kind.work(table))
      assert(killed.get != null, "no task has begun a file")
      assert(left.isEmpty, "when the next attempt begins a file, nothing is left of the one that was killed")
      assert(rows(table) == kind.after && Leftovers.of(table).isEmpty)
    }

  private def awaitKill(task: TaskContext): Unit = {
    var wasInterrupted = false
    val end            = System.nanoTime() + 30000000000L
    while (!task.isInterrupted() && System.nanoTime() < end)
      try Thread.sleep(5)
      catch { case _: InterruptedException => wasInterrupted = true }
    assert(task.isInterrupted(), "the task has not been killed")
    if (wasInterrupted) Thread.currentThread().interrupt()
  }

  /** What there is of a file: itself, and its marker. */
  private def found(file: String): Seq[String] = {
    val name = file.substring(file.lastIndexOf('/') + 1)
    val walk = java.nio.file.Files.walk(folder.resolve("t"))
    try walk.iterator.asScala.map(_.toString).filter(path => path.contains(name) && !path.endsWith(".crc")).toList
    finally walk.close()
  }
}

private object LateAttemptsSuite {

  val Before: Seq[String] = Seq("k1@2=b", "k2@2=b", "k3@2=b")

  /** The creation of a data file, and of a marker. */
  val Create: Regex = """create (.*/p\d/(?:[^/]*\.parquet|\.[^/]*\.log\.[^/]*))""".r
  val Marker: Regex = """create (.*/\.temp/.*\.marker\.\w+)""".r

  /**
   * @param options of the writes before
   * @param after   the rows after the work
   */
  final case class Kind(name: String, options: Map[String, String], after: Seq[String])(val work: Storage => Unit)
}
