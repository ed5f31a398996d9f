package io.merganser.spark.write

import java.util.concurrent.{CountDownLatch, TimeUnit}

import io.merganser.merge.MerganserException
import io.merganser.spark.{LocalSession, MerganserCatalog}
import io.merganser.table.{FaultyFileSystem, TableSuite}
import io.merganser.table.properties.TableConfig
import io.merganser.table.timeline.{Action, Timeline}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.types.StructType

import scala.collection.JavaConverters._
import scala.concurrent.{Await, Future}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.util.{Failure, Success, Try}

// Guarantee (Concurrent writers): A deleted key that a compaction drops while a concurrent write appends it is stored
//   once, in versions 6 and 9, with each index, also if Hudi writes. Also:
//   test_a_key_that_hudi_writes_between_the_plan_of_a_compaction_and_its_run_is_stored_once
/**
 * A compaction drops a deleted key from the base file while a write that found the key there appends to the log: the
 * key is then in the log alone. Rows in notation: `key=value/partition`.
 */
final class WritesBesideCompactionSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2]"

  override protected def settings: Map[String, String] =
    Map("spark.sql.catalog.spark_catalog" -> classOf[MerganserCatalog].getName)

  private val schema = StructType.fromDDL("k STRING, v BIGINT, part STRING")

  private def plain: String   = storage.toString
  private def watched: String = faulty("t").toString

  private def options(index: String, more: (String, String)*): Map[String, String] = Map(
    "hoodie.table.name" -> "t",
    "hoodie.datasource.write.table.type" -> "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field" -> "k",
    "hoodie.datasource.write.partitionpath.field" -> "part",
    "hoodie.record.merge.mode" -> "COMMIT_TIME_ORDERING",
    "hoodie.write.concurrency.mode" -> "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.fs.atomic_creation.support" -> "faulty",
    "hoodie.index.type" -> index,
    "hoodie.parquet.small.file.limit" -> "0"
  ) ++ more

  private def frame(rows: String): DataFrame = spark.createDataFrame(
    rows.split(" ").toSeq.map(_.split("[=/]")).map(r => Row(r(0), r(1).toLong, r(2))).asJava, schema)

  private def write(path: String, rows: String, options: Map[String, String], operation: String = "upsert"): Unit =
    frame(rows).write.format("merganser").options(options + ("hoodie.datasource.write.operation" -> operation))
      .mode("append").save(path)

  private def read: Seq[String] = spark.read.format("merganser").load(plain).collect().toSeq.map { row =>
    s"${row.getAs[String]("k")}=${row.getAs[Long]("v")}/${row.getAs[String]("part")}"
  }.sorted

  private def compaction(op: String): Unit = {
    spark.sql(s"CALL run_compaction(op => '$op', path => '$plain')").collect(); ()
  }

  /** A table with `a` in a base file, and `k`, which a log deletes. */
  private def deleted(settings: Map[String, String]): Unit = {
    write(plain, "a=1/p k=1/p", settings)
    write(plain, "k=1/p", settings, "delete")
  }

  for ((index, version) <- Seq("SIMPLE" -> "9", "BLOOM" -> "9", "GLOBAL_SIMPLE" -> "9", "SIMPLE" -> "6"))
    test(s"a key written between plan and run of a compaction is found afterwards ($index, version $version)") {
      val settings = options(index, "hoodie.write.table.version" -> version)
      deleted(settings)
      compaction("schedule")
      write(plain, "k=2/p", settings)
      compaction("execute")
      assert(read == Seq("a=1/p", "k=2/p"))
      write(plain, "k=3/p", settings)
      assert(read == Seq("a=1/p", "k=3/p"))
      write(plain, "k=3/p", settings, "delete")
      write(plain, "b=1/p", settings)
      compaction("scheduleandexecute")
      assert(read == Seq("a=1/p", "b=1/p"))
    }

  for (version <- Seq("6", "9"))
    test(s"a key looked up before a compaction completed and placed after it is found (version $version)") {
      val settings = options("SIMPLE", "hoodie.write.table.version" -> version)
      deleted(settings)
      compaction("schedule")
      write(plain, "k=2/p", settings)
      compaction("execute")
      choosesFileLate()
      write(plain, "k=3/p", settings)
      assert(read == Seq("a=1/p", "k=3/p"))
    }

  for (version <- Seq("6", "9"))
    test(s"a write placed after a compaction conflicts with a later commit of its key (version $version)") {
      val settings = options("SIMPLE", "hoodie.write.table.version" -> version)
      deleted(settings)
      assert(secondIsRefused("k=2/p", "k=3/p", settings, earlierFirst = true, chooseLate = true))
      assert(read == Seq("a=1/p", "k=2/p"))
    }

  /** Lets the last write to a log name the base file of the compaction, as another engine may. */
  private def choosesFileLate(): Unit = {
    val config = TableConfig.load(storage)
    val now    = Timeline.load(storage, config)
    def last(action: Action) = {
      val instant = now.completed.filter(_.action == action).last
      instant.requested -> now.metadata(instant)
    }
    val (write, metadata) = last(Action.DeltaCommit)
    val base              = last(Action.Commit)._2.allStats.map(_.fileName).head
    val stats = metadata.stats.map { case (partition, some) => partition -> some.map(_.copy(baseFile = Some(base))) }
    val file = storage.list(config.timelineFolder).map(_.getPath.getName).find(name =>
      name.startsWith(write) && name.endsWith(".deltacommit")).get
    storage.delete(s"${config.timelineFolder}/$file")
    instantFile(storage, file, metadata.copy(stats = stats))
  }

  for (
    (index, version) <- Seq("SIMPLE" -> "9", "GLOBAL_SIMPLE" -> "9", "SIMPLE" -> "6"); earlierFirst <- Seq(true, false)
  )
    test(
      s"of writes of one key begun before and after a compaction the second is refused ($index, version " +
        s"$version, ${if (earlierFirst) "the earlier" else "the later"} one first)") {
      val settings = options(index, "hoodie.write.table.version" -> version)
      deleted(settings)
      assert(secondIsRefused("k=2/p", "k=3/p", settings, earlierFirst))
      assert(read == Seq("a=1/p", if (earlierFirst) "k=2/p" else "k=3/p"))
      compaction("scheduleandexecute")
      write(plain, "k=2/p", settings, "delete")
      assert(!secondIsRefused("k=4/p", "j=4/p l=4/p", settings, earlierFirst))
      assert(read == Seq("a=1/p", "j=4/p", "k=4/p", "l=4/p"))
      write(plain, "j=5/p k=5/p", settings)
      assert(read == Seq("a=1/p", "j=5/p", "k=5/p", "l=4/p"))
    }

  /**
   * Both are running at once, with a compaction in between.
   *
   * @param chooseLate see [[choosesFileLate]]; if the earlier one commits first
   */
  private def secondIsRefused(
      earlier: String,
      later: String,
      settings: Map[String, String],
      earlierFirst: Boolean,
      chooseLate: Boolean = false
  ): Boolean = {
    val (ofEarlier, ofLater) = (new Pause("create .*[.]log[.].*"), new Pause("create .*[.]parquet"))
    FaultyFileSystem.watching { what => ofEarlier.at(what); ofLater.at(what) } {
      // In version 6 a running write refuses a plan.
      compaction("schedule")
      val began = ofEarlier.begin(isRefused(write(watched, earlier, settings)))
      compaction("execute")
      val beganAfter = ofLater.begin(isRefused(write(watched, later, settings)))
      if (earlierFirst) {
        assert(!ofEarlier.finish(began))
        if (chooseLate) choosesFileLate()
        ofLater.finish(beganAfter)
      } else {
        assert(!ofLater.finish(beganAfter))
        ofEarlier.finish(began)
      }
    }
  }

  private def isRefused(write: => Unit): Boolean = Try(write) match {
    case Success(_)                                                         => false
    case Failure(e: MerganserException) if e.condition == "COMMIT_CONFLICT" => true
    case Failure(other)                                                     => throw other
  }

  /** Holds a write at its first operation that matches. */
  private final class Pause(pattern: String) {
    private val reached, released = new CountDownLatch(1)

    def at(what: String): Unit = if (reached.getCount > 0 && what.matches(pattern)) {
      reached.countDown()
      assert(released.await(60, TimeUnit.SECONDS))
    }

    def begin(write: => Boolean): Future[Boolean] = {
      val running = Future(write)
      assert(reached.await(60, TimeUnit.SECONDS))
      running
    }

    def finish(running: Future[Boolean]): Boolean = {
      released.countDown()
      Await.result(running, 60.seconds)
    }
  }
}
