package io.merganser.spark.write

import io.merganser.Extensive
import io.merganser.merge.Notation
import io.merganser.spark.{LocalSession, MerganserCatalog}
import io.merganser.table.{FaultyFileSystem, Leftovers, TableSuite}
import io.merganser.table.storage.Storage
import org.apache.spark.TaskContext

import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicReference

import scala.collection.JavaConverters._
import scala.util.matching.Regex

// Guarantee (Failures): A task attempt that fails, is killed or outlives its commit leaves no file and no marker; files
//   that a commit does not name are ignored on every path. Also: TaskFilesSuite,
//   test_an_attempt_that_begins_its_file_after_the_commit_leaves_no_file_or_marker, LogsOfAttemptsSuite,
//   TableViewSuite, test_files_added_after_a_commit_are_not_read_and_commits_do_not_grow_with_the_logs
/** An attempt that Spark kills in the middle of a file leaves nothing, in every kind of job that writes files. */
@Extensive
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
    test(
      s"version $version, ${kind.name}: an attempt killed${if (interrupts) " by an interrupt" else ""} in its " +
        "file removes file and marker, and another attempt completes the job") {
      val table  = written(kind, version)
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

  for (version <- Seq("6", "9"); kind <- kinds.filter(_.runsPlan))
    test(s"version $version, ${kind.name}: the file of an attempt that begins it during the commit is removed") {
      val table = written(kind, version)
      val late  = new AtomicReference[String]
      FaultyFileSystem.watching {
        case Completed(_) if TaskContext.get() == null && late.get == null =>
          assert(Files.exists(open), "no attempt may announce a file any more")
          late.set(announced())
        case _ => ()
      }(kind.work(table))
      assert(late.get != null, "the job has not committed")
      assert(found(late.get).isEmpty)
      assert(rows(table) == kind.after && Leftovers.of(table).isEmpty)
    }

  private def written(kind: Kind, version: String): Storage = {
    val table = faulty("t")
    for (notation <- Seq("k1@1=a k2@1=a k3@1=a", "k1@2=b k2@2=b", "k1@2=b k3@2=b"))
      upsert(table, Notation.changes(notation), kind.options + ("hoodie.write.table.version" -> version))
    assert(rows(table) == Before)
    table
  }

  private def temporary: Path = folder.resolve("t/.hoodie/.temp")

  private def open: Path = paths(temporary).find(_.toString.endsWith(".open")).get

  /** A file with its marker, as another attempt of one of the running tasks leaves them at its end. */
  private def announced(): String = {
    val marker = paths(temporary).find(_.toString.contains(".marker.")).get
    val other  = marker.resolveSibling(marker.getFileName.toString.replaceFirst("_(\\d+-\\d+)-\\d+", "_$1-999"))
    val data   = other.toString.replaceFirst("/\\.hoodie/\\.temp/\\d+/", "/").replaceFirst("\\.marker\\.\\w+$", "")
    Files.createFile(other)
    Files.createFile(Paths.get(data))
    data
  }

  private def paths(below: Path): Seq[Path] = {
    val walk = Files.walk(below)
    try walk.iterator.asScala.filterNot(_.toString.endsWith(".crc")).toList
    finally walk.close()
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
    paths(folder.resolve("t")).map(_.toString).filter(_.contains(name))
  }
}

private object LateAttemptsSuite {

  val Before: Seq[String] = Seq("k1@2=b", "k2@2=b", "k3@2=b")

  /** The creation of a data file, and of a marker. */
  val Create: Regex    = """create (.*/p\d/(?:[^/]*\.parquet|\.[^/]*\.log\.[^/]*))""".r
  val Completed: Regex = """(?:create|rename) .*/\.hoodie/(?:timeline/)?(\d{17}(?:_\d{17})?\.\w*commit)$""".r
  val Marker: Regex    = """create (.*/\.temp/.*\.marker\.\w+)""".r

  /**
   * @param options of the writes before
   * @param after   the rows after the work
   */
  final case class Kind(name: String, options: Map[String, String], after: Seq[String])(val work: Storage => Unit) {

    /** Whether the job runs a plan, so that files of other runs of it may be there. */
    def runsPlan: Boolean = Set("a compaction", "a log compaction", "a clustering")(name)
  }
}
