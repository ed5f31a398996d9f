package io.merganser.spark.service

import java.util.concurrent.{CountDownLatch, TimeUnit}

import io.merganser.Extensive
import io.merganser.merge.{Change, MerganserException, Notation}
import io.merganser.spark.LocalSession
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.{FaultyFileSystem, TableSuite}
import io.merganser.table.commit.Transaction
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.WriteConfig
import io.merganser.table.storage.{Storage, TableLock}
import io.merganser.table.timeline.{Action, Timeline}
import org.apache.spark.sql.Row

import scala.collection.JavaConverters._
import scala.util.Random

// Guarantee (Concurrent writers): Background services change no row and block no single writer of their session; a
//   failed one is repeated and shown, and they end with the session, the table or a minute without work. Also:
//   test_background_services_run_beside_writes_until_they_are_stopped
/** Services beside the writes of their session, which have the settings of a single writer. */
@Extensive
final class BackgroundServicesSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2]"

  private val compacts = "hoodie.compact.inline.max.delta.commits" -> "1"
  private val async    = Map("hoodie.datasource.compaction.async.enable" -> "true", compacts)
  private val cleans   = Map("hoodie.clean.async.enabled" -> "true", "hoodie.clean.commits.retained" -> "1")
  private val buckets  = options(mergeOnRead = true, bucketed = true)

  private def local: Storage = Storage(folder.resolve("t").toUri.toString, spark.sparkContext.hadoopConfiguration)

  private def call(procedure: String, table: Storage, more: String = ""): Seq[Row] =
    spark.sql(s"CALL $procedure(path => '$table'$more)").collect().toSeq

  private def status(table: Storage, service: String): ServiceStatus =
    BackgroundServices.of(OpenTable.load(table)).find(_.service == service).getOrElse(fail(s"no $service"))

  private def waitUntil(what: => Any)(condition: => Boolean): Unit = {
    val end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60)
    while (!condition) { assert(System.nanoTime() < end, what.toString); Thread.sleep(20) }
  }

  private def timeline(table: Storage): Timeline = Timeline.load(table, TableConfig.load(table))

  private def completed(table: Storage, action: Action): Int =
    timeline(table).instants.count(i => i.action == action && i.isCompleted)

  private def threads: Seq[String] =
    Thread.getAllStackTraces.keySet.asScala.map(_.getName).filter(_.startsWith("merganser-services")).toSeq

  test("a write returns while its asynchronous compaction runs, and the next writes work beside it") {
    val table = faulty("t")
    val go    = new CountDownLatch(1)
    upsert(table, Notation.changes("k1@1=a k2@1=a"), buckets)
    FaultyFileSystem.interrupting("create .*[.]parquet.*")(go.await(60, TimeUnit.SECONDS)) {
      upsert(table, Notation.changes("k1@2=b k2@2=b"), buckets ++ async)
      waitUntil(status(table, "compaction"))(status(table, "compaction").state == "running")
      assert(timeline(table).pendingCompactions.size == 1)
      upsert(table, Notation.changes("k1@3=c"), buckets)
      assert(rows(table) == Seq("k1@3=c", "k2@2=b") && timeline(table).pendingCompactions.size == 1)
      go.countDown()
      call("stop_services", table)
    }
    assert(timeline(table).pendingCompactions.isEmpty && rows(table) == Seq("k1@3=c", "k2@2=b"))
    assert(OpenTable.load(table).view.slices.map(_.logs.size).sum == 1)
    val bucketed = faulty("bucketed")
    upsert(bucketed, Notation.changes("k1@1=a"), buckets)
    assert(intercept[MerganserException](call("start_services", bucketed, ", services => 'clustering'")).condition ==
      "CLUSTERING_OF_BUCKETS")
    assert(call("show_services", table).isEmpty)
  }

  test("writes beside background services give the same rows as without them") {
    val table  = local
    val random = new Random(7)
    val batches = (1 to 14).map { n =>
      random.shuffle((1 to 9).toList).take(4).map(k =>
        Change(s"k$k", Some(random.nextInt(50).toLong), Seq(Some(s"n$n"), None)))
    }
    upsert(table, batches.head, buckets)
    val settings = Map("hoodie.compact.inline.max.delta.commits" -> "2", "hoodie.clean.commits.retained" -> "1",
      "hoodie.keep.min.commits" -> "3", "hoodie.keep.max.commits" -> "4").map { case (k, v) => s"$k=$v" }.mkString(",")
    val started = call("start_services", table, s", interval_seconds => 1, options => '$settings'")
    assert(started.map(_.getString(1)) == Seq("compaction", "clean", "archiving"))
    batches.tail.foreach(upsert(table, _, buckets))
    val services = Seq("compaction", "clean", "archiving")
    waitUntil(services.map(status(table, _)))(services.forall(status(table, _).lastInstant.isDefined))
    assert(services.map(status(table, _)).forall(s => s.failures == 0 && s.lastError.isEmpty && s.runs > 0))
    call("stop_services", table)
    val expected = batches.flatten.groupBy(_.key).values.map { versions =>
      // Of a tie the later one wins.
      versions.reduce((older, newer) => if (newer.ts.get >= older.ts.get) newer else older).toString
    }.toSeq.sorted
    assert(rows(table) == expected)
    assert(timeline(table).pending.isEmpty && completed(table, Action.Clean) > 0)
    assert(timeline(table).completed.size < batches.size)
  }

  test("an idle table's worker ends and frees its memory") {
    val table = local
    upsert(table, Notation.changes("k1@1=a"), options(mergeOnRead = false, bucketed = false))
    val ended  = new CountDownLatch(1)
    val worker = new TableWorker(table, spark.sparkContext, idleMs = 50)(_ => ended.countDown())
    val job =
      ServiceJob(spark, open => WriteConfig.parse(Map.empty[String, String], Map.empty, open.config), plans = false)
    val clean = TableService.all.filter(_.name == "clean")
    assert(worker.request(clean, job) && ended.await(60, TimeUnit.SECONDS))
    assert(worker.statuses.map(s => (s.runs, s.failures)) == Seq((1, 0)))
    assert(!worker.request(clean, job) && !worker.serve(clean, 1, job), "it has ended: a new one is needed")
    call("start_services", table, ", services => 'clean', interval_seconds => 1")
    assert(BackgroundServices.of(OpenTable.load(table)).nonEmpty)
    table.fs.delete(table.path(""), true)
    waitUntil(BackgroundServices.all)(!BackgroundServices.all.exists(_.path == table.toString))
  }

  test("archiving runs in the background after the write that makes it due") {
    val table = local
    val settings = options(mergeOnRead = false, bucketed = false) ++ Map("hoodie.clean.automatic" -> "false",
      "hoodie.keep.min.commits" -> "1", "hoodie.keep.max.commits" -> "2")
    for (ts <- 1 to 2) upsert(table, Notation.changes(s"k1@$ts=a"), settings)
    assert(timeline(table).completed.size == 2)
    upsert(table, Notation.changes("k1@3=b"), settings + ("hoodie.archive.async" -> "true"))
    call("stop_services", table)
    assert(timeline(table).completed.size == 1 && rows(table) == Seq("k1@3=b"))
  }

  test("clustering runs in the background after the write that makes it due") {
    val table       = local
    val settings    = options(mergeOnRead = false, bucketed = false) + ("hoodie.parquet.small.file.limit" -> "0")
    val async       = Map("hoodie.clustering.async.enabled" -> "true", "hoodie.clustering.async.max.commits" -> "2")
    def clusterings = timeline(table).completed.count(_.action == Action.ReplaceCommit)
    upsert(table, Notation.changes("k1@1=a"), settings ++ async)
    call("stop_services", table)
    assert(clusterings == 0)
    upsert(table, Notation.changes("k2@1=b"), settings ++ async)
    call("stop_services", table)
    assert(clusterings == 1 && timeline(table).pending.isEmpty)
    assert(rows(table) == Seq("k1@1=a", "k2@1=b"))
  }

  test("a service that fails is repeated after a pause; its status and the next write name the error") {
    val table = local
    val cow   = options(mergeOnRead = false, bucketed = false) + ("hoodie.clean.automatic" -> "false")
    for (ts <- 1 to 3) upsert(table, Notation.changes(s"k1@$ts=a"), cow)
    TableLock.hold(table) { _ =>
      call("start_services", table,
        ", services => 'clean', interval_seconds => 60, options => " +
          "'hoodie.clean.commits.retained=1,hoodie.write.lock.wait_time_ms=50'")
      waitUntil(status(table, "clean"))(status(table, "clean").failures >= 3)
      assert(status(table, "clean").state == "failed" && status(table, "clean").lastError.get.contains("LOCK_TIMEOUT"))
    }
    val warnings =
      FrameWrite.append(spark, OpenTable.load(table), cow, frame(Notation.changes("k1@4=b"))).notes.warnings
    assert(warnings.exists(w => w.contains("The clean in the background failed") && w.contains("LOCK_TIMEOUT")))
    waitUntil(status(table, "clean"))(status(table, "clean").failures == 0)
    assert(status(table, "clean").lastError.isDefined && completed(table, Action.Clean) == 1)
    call("stop_services", table)
  }

  test("pauses after failures double from a second to ten minutes") {
    assert(Seq(1, 2, 3, 4, 11, 100).map(TableWorker.pauseNs(_) / 1000000L) ==
      Seq(1000L, 2000L, 4000L, 8000L, 600000L, 600000L))
  }

  test("a service ends when its table is deleted") {
    val table = local
    upsert(table, Notation.changes("k1@1=a"), buckets)
    call("start_services", table, ", services => 'archiving', interval_seconds => 1")
    org.apache.hadoop.fs.FileUtil.fullyDelete(folder.resolve("t").toFile)
    def found = BackgroundServices.all.filter(_.path == table.toString)
    waitUntil(found)(found.isEmpty && !threads.exists(_.contains(table.toString)))
    // A new table in its place has no failure of the earlier one among its warnings.
    upsert(table, Notation.changes("k1@1=a"), buckets)
    val warnings =
      FrameWrite.append(spark, OpenTable.load(table), buckets, frame(Notation.changes("k1@2=b"))).notes.warnings
    assert(!warnings.exists(_.contains("in the background failed")))
  }

  test("an out-of-memory error does not end the thread, and the service is repeated") {
    val table = faulty("t")
    for (ts <- 1 to 3)
      upsert(table, Notation.changes(s"k1@$ts=a"),
        options(mergeOnRead = false, bucketed = false) +
          ("hoodie.clean.automatic" -> "false"))
    FaultyFileSystem.interrupting(".*[.]clean[.]requested.*")(throw new OutOfMemoryError("of a test")) {
      call("start_services", table, ", services => 'clean', options => 'hoodie.clean.commits.retained=1'")
      waitUntil(status(table, "clean"))(status(table, "clean").failures > 0)
    }
    waitUntil(status(table, "clean"))(completed(table, Action.Clean) > 0)
    call("stop_services", table)
  }

  test("start_services refuses wrong services and times, and compaction of copy-on-write") {
    val table = local
    upsert(table, Notation.changes("k1@1=a"), options(mergeOnRead = false, bucketed = false))
    def refused(more: String) = intercept[MerganserException](call("start_services", table, more)).condition
    assert(refused(", services => 'clean,compact'") == "CALL_ARGUMENT_INVALID")
    assert(refused(", interval_seconds => 0") == "CALL_ARGUMENT_INVALID")
    assert(refused(", services => 'compaction'") == "COMPACTION_OF_COPY_ON_WRITE")
    assert(refused(", options => 'hoodie.clean.commits.retained=none'") == "OPTION_VALUE_INVALID")
    assert(call("show_services", table).isEmpty)
  }

  test("a service plans no compaction while an overwrite runs") {
    val table = local
    for (ts <- 1 to 2) upsert(table, Notation.changes(s"k1@$ts=a"), buckets)
    def planned() = call("run_compaction", table,
      ", op => 'schedule', if_due => true, options => '" +
        s"${compacts._1}=${compacts._2}'").size
    val overwrite = Transaction.begin(table, TableConfig.load(table), Action.ReplaceCommit)
    assert(planned() == 0)
    overwrite.rollback()
    assert(planned() == 1 && planned() == 0)
  }

  test("stopping the session runs requested cleans, ends the threads and leaves a compaction planned") {
    val table = local
    for (ts <- 1 to 2)
      upsert(table, Notation.changes(s"k1@$ts=a"), buckets ++ cleans + ("hoodie.clean.automatic" -> "false"))
    call("start_services", table, ", services => 'archiving'")
    assert(threads.nonEmpty)
    call("run_compaction", table, ", op => 'scheduleandexecute'")
    upsert(table, Notation.changes("k1@3=b"), buckets ++ cleans ++ async)
    spark.stop()
    assert(BackgroundServices.all.isEmpty && threads.isEmpty && completed(table, Action.Clean) > 0)
    beforeAll()
    upsert(table, Notation.changes("k1@4=c"), buckets ++ async)
    call("stop_services", table)
    assert(rows(table) == Seq("k1@4=c") && timeline(table).pendingCompactions.isEmpty)
  }
}
