package io.merganser.spark.write

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import io.merganser.merge.Notation
import io.merganser.spark.{LocalSession, MerganserCatalog}
import io.merganser.table.{FaultyFileSystem, TableSuite}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Timeline
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart, SparkListenerStageCompleted}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.lit
import org.apache.spark.sql.merganser.ListenerEvents

import scala.collection.JavaConverters._
import scala.collection.mutable

/**
 * What one operation costs: Spark jobs, shuffles, rows read from them, and calls of the file system by kind. The
 * numbers do not depend on the machine; a change that raises one has to say why, and one that lowers it lowers it here.
 *
 * Two of the calls of "exists" are of each file that a task writes: whether its write is under way as it begins the
 * file, and as the task ends.
 */
final class OperationCostSuite extends TableSuite with LocalSession {
  import OperationCostSuite._

  override protected def master: String = "local[1]"

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.conf.set("spark.sql.catalog.spark_catalog", classOf[MerganserCatalog].getName)
  }

  private val load  = "k0@10=a k1@10=b k2@10=c k3@10=d k4@10=e k5@10=f"
  private val batch = "k2@20=C k8@20=g"

  test("an upsert into one of two partitions makes the recorded number of calls") {
    def cost(mergeOnRead: Boolean, bucketed: Boolean) = {
      val options = this.options(mergeOnRead, bucketed)
      costOf(mergeOnRead, bucketed)(upsert(_, Notation.changes(batch), options))
    }
    assert(cost(mergeOnRead = false, bucketed = false) == Cost(3, 3, 7, "close" -> 8, "create" -> 8, "delete" -> 4,
      "exists" -> 5, "list" -> 10, "open" -> 12, "rename" -> 1, "status" -> 2, "write" -> 4))
    assert(cost(mergeOnRead = false, bucketed = true) == Cost(2, 1, 2, "close" -> 8, "create" -> 8, "delete" -> 4,
      "exists" -> 5, "list" -> 10, "open" -> 10, "rename" -> 1, "status" -> 1, "write" -> 4))
    assert(cost(mergeOnRead = true, bucketed = false) == Cost(3, 3, 7, "close" -> 8, "create" -> 8, "delete" -> 4,
      "exists" -> 5, "list" -> 10, "open" -> 12, "rename" -> 1, "status" -> 2, "write" -> 4))
    assert(cost(mergeOnRead = true, bucketed = true) == Cost(2, 1, 2, "close" -> 8, "create" -> 8, "delete" -> 4,
      "exists" -> 5, "list" -> 10, "open" -> 8, "rename" -> 1, "write" -> 4))
  }

  test("an upsert with an inline compaction makes the recorded number of calls") {
    val inline  = Seq("hoodie.compact.inline" -> "true", "hoodie.compact.inline.max.delta.commits" -> "1")
    val options = this.options(mergeOnRead = true, bucketed = true) ++ inline
    val cost    = costOf(mergeOnRead = true, bucketed = true)(upsert(_, Notation.changes(batch), options))
    assert(cost == Cost(3, 1, 2, "close" -> 18, "create" -> 18, "delete" -> 10, "exists" -> 13, "list" -> 27,
      "mkdirs" -> 1, "open" -> 24, "rename" -> 4, "status" -> 2, "write" -> 11))
  }

  // Guarantee (Size): An upsert of one row into a table of 100 file groups makes at most 40 calls of the file system,
  //   besides those of base files in which its key is looked up, and of these no second look into a file that the
  //   first look of the process has ruled out.
  test("an upsert of one row into one of 100 file groups takes at most 40 calls and the looks for its key") {
    val isFull = sys.env.get("MERGANSER_FULL").contains("1")
    for {
      version     <- Seq(9, 8, 6)
      mergeOnRead <- Seq(false, true)
      bucketed    <- Seq(false, true)
      if isFull || (if (version == 9) mergeOnRead == bucketed else version == 6 && !mergeOnRead && bucketed)
    } {
      val (upsert, next) = ofHundredGroups(version, mergeOnRead, bucketed)
      val what           = s"version $version, merge on read: $mergeOnRead, bucketed: $bucketed"
      info(s"$what: $upsert, then $next")
      assert(upsert.calls.size <= 40, s"$what\n${upsert.calls.mkString("\n")}")
      // With buckets none is opened to find the key; without, the footer of each, and keys of those that may have it.
      assert(upsert.looks.size <= (if (bucketed) 3 else 106), s"$what\n${upsert.looks.mkString("\n")}")
      // On a store with 30 ms a call the write waits for less than 1.5 seconds.
      assert(upsert.inSequence * 30 < 1500, s"$what: ${upsert.inSequence} calls one after the other")
      // The next write of the process knows the key ranges of the other files.
      val all = next.calls ++ next.looks
      assert(next.calls.size <= 40 && next.looks.size <= (if (bucketed) 3 else 8), s"$what\n${all.mkString("\n")}")
    }
  }

  /**
   * Two upserts of one stored row into a table of 100 file groups in one partition, one after the other, on a store
   * with 30 ms a call.
   */
  private def ofHundredGroups(version: Int, mergeOnRead: Boolean, bucketed: Boolean): (SlowUpsert, SlowUpsert) = {
    val options = this.options(mergeOnRead, bucketed) + ("hoodie.write.table.version" -> version.toString) ++
      (if (bucketed) Some("hoodie.bucket.index.num.buckets" -> "100") else None)
    val storage = faulty(s"hundred-$version-$mergeOnRead-$bucketed")
    val rows    = spark.range(2000).selectExpr("lpad(id, 5, '0') AS k", "1L AS ts", "'v' AS v", "'p' AS part")
    def save(frame: DataFrame, more: (String, String)*): Unit =
      frame.write.format("merganser").options(options ++ more).mode("append").save(storage.toString)
    save(rows, "hoodie.datasource.write.operation" -> (if (bucketed) "insert" else "bulk_insert"),
      "hoodie.bulkinsert.shuffle.parallelism" -> "100")
    assert(view(storage).slices.size == 100)
    def measured(k: String) = {
      val store = new SlowStore(30)
      FaultyFileSystem.watching(store.call)(save(rows.where(s"k = '$k'").withColumn("ts", lit(2L))))
      store.seen
    }
    (measured("01234"), measured("00567"))
  }

  test("a MERGE by the record key makes the recorded number of calls") {
    frame(Notation.changes(batch)).createOrReplaceTempView("changes")
    val cost = costOf(mergeOnRead = false, bucketed = false) { storage =>
      spark.sql(s"MERGE INTO merganser.`$storage` t USING changes s ON t.k = s.k AND t.part = s.part " +
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *").collect()
      ()
    }
    assert(cost == Cost(3, 3, 7, "close" -> 8, "create" -> 8, "delete" -> 4, "exists" -> 5, "list" -> 10,
      "open" -> 12, "rename" -> 1, "status" -> 2, "write" -> 4))
  }

  test("the expressions of a MERGE by the record key run once for each row") {
    val matched  = spark.sparkContext.longAccumulator
    val inserted = spark.sparkContext.longAccumulator
    spark.udf.register("matched", (v: String) => { matched.add(1); v })
    spark.udf.register("inserted", (v: String) => { inserted.add(1); v })
    frame(Notation.changes(batch)).createOrReplaceTempView("changes")
    costOf(mergeOnRead = false, bucketed = false) { storage =>
      matched.reset()
      inserted.reset()
      spark.sql(s"MERGE INTO merganser.`$storage` t USING changes s ON t.k = s.k AND t.part = s.part " +
        "WHEN MATCHED THEN UPDATE SET v = matched(s.v) " +
        "WHEN NOT MATCHED THEN INSERT (k, ts, v, part) VALUES (s.k, s.ts, inserted(s.v), s.part)").collect()
      ()
    }
    assert((matched.sum, inserted.sum) == ((1, 1)))
  }

  test("a read of one of two partitions makes the recorded number of calls") {
    val cost = costOf(mergeOnRead = false, bucketed = false) { storage =>
      spark.read.format("merganser").load(storage.toString).where("part = 'p0'").collect()
      ()
    }
    assert(cost == Cost(1, 0, 0, "exists" -> 1, "list" -> 4, "open" -> 4, "status" -> 1))
  }

  test("an incremental read of one changed row costs the same in a table of two file groups and of forty") {
    def cost(partitions: Int): Cost = {
      val storage = faulty(s"incremental-$partitions")
      def write(k: String) =
        spark.range(partitions.toLong).where(k).selectExpr("id AS k", "1L AS ts", "id AS part").write
          .format("merganser").option("hoodie.datasource.write.recordkey.field", "k")
          .option("hoodie.datasource.write.partitionpath.field", "part").option("hoodie.table.ordering.fields", "ts")
          .mode("append").save(storage.toString)
      write("true")
      val first = Timeline.load(storage, TableConfig.load(storage)).completed.head.requested
      write("id = 0")
      def read(): Unit = {
        val changed = spark.read.format("merganser").option("hoodie.datasource.query.type", "incremental")
          .option("hoodie.datasource.read.begin.instanttime", first).load(storage.toString)
        assert(changed.select("k").collect().map(_.getLong(0)).toSeq == Seq(0L))
      }
      read()
      measured(read())
    }
    val small = cost(2)
    assert(cost(40) == small)
    assert(small == Cost(1, 0, 0, "exists" -> 1, "list" -> 4, "open" -> 4, "status" -> 1))
  }

  /** Costs of an operation on a table of two partitions with rows; the batch names one of them. */
  private def costOf(mergeOnRead: Boolean, bucketed: Boolean)(work: Storage => Unit): Cost = {
    val options = this.options(mergeOnRead, bucketed)
    def loaded(use: String): Storage = {
      val storage = faulty(s"$use-$mergeOnRead-$bucketed")
      upsert(storage, Notation.changes(load), options)
      storage
    }
    // The first of its kind opens files that later ones find open.
    work(loaded("warm"))
    val counted = loaded("counted")
    measured(work(counted))
  }

  private def measured(work: => Unit): Cost = {
    val jobs     = new AtomicInteger
    val shuffles = new AtomicInteger
    val records  = new AtomicLong
    val calls    = new ConcurrentHashMap[String, Int]
    val listener = new SparkListener {
      override def onJobStart(job: SparkListenerJobStart): Unit = { jobs.incrementAndGet(); () }

      override def onStageCompleted(stage: SparkListenerStageCompleted): Unit = {
        records.addAndGet(stage.stageInfo.taskMetrics.shuffleReadMetrics.recordsRead)
        if (stage.stageInfo.taskMetrics.shuffleWriteMetrics.bytesWritten > 0) { shuffles.incrementAndGet(); () }
      }
    }
    // A listener gets the events that wait in the queue too, those of earlier jobs.
    ListenerEvents.await(spark.sparkContext)
    spark.sparkContext.addSparkListener(listener)
    try
      FaultyFileSystem.watching { what =>
        calls.merge(what.takeWhile(_ != ' '), 1, (a: Int, b: Int) => a + b)
        ()
      }(work)
    finally {
      ListenerEvents.await(spark.sparkContext)
      spark.sparkContext.removeSparkListener(listener)
    }
    Cost(jobs.get, shuffles.get, records.get, calls.asScala.toSeq.sorted: _*)
  }
}

private object OperationCostSuite {

  /**
   * @param records read from shuffles: a row that is sorted again is read again
   * @param calls   of the file system, by kind and in the order of kinds
   */
  final case class Cost(jobs: Int, shuffles: Int, records: Long, calls: (String, Int)*)

  /**
   * @param calls      of the file system but for looks, in their order; a file that is created is one call
   * @param looks      calls of stored base files
   * @param inSequence of both those that began while no other one was under way
   */
  final case class SlowUpsert(calls: Seq[String], looks: Seq[String], inSequence: Int) {
    override def toString: String =
      s"${calls.size} calls and ${looks.size} looks, $inSequence of them one after the other"
  }

  /** Delays each call by so many milliseconds. */
  private final class SlowStore(callMs: Long) {
    private var running    = 0
    private var inSequence = 0
    private val calls      = mutable.ArrayBuffer.empty[String]

    def call(what: String): Unit = if (!what.startsWith("write ") && !what.startsWith("close ")) {
      synchronized {
        calls += what
        if (running == 0) inSequence += 1
        running += 1
      }
      Thread.sleep(callMs)
      synchronized(running -= 1)
    }

    def seen: SlowUpsert = synchronized {
      val (looks, others) = calls.toList.partition(_.matches("(open|status) .*\\.parquet"))
      SlowUpsert(others, looks, inSequence)
    }
  }
}
