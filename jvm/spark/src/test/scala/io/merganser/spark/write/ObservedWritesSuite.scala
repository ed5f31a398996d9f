package io.merganser.spark.write

import io.merganser.merge.Notation
import io.merganser.spark.{LocalSession, MerganserCatalog}
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.TableSuite
import io.merganser.table.storage.Storage
import org.apache.spark.sql.{DataFrame, Observation}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.functions.{col, count, lit, max, udf}
import org.apache.spark.sql.util.QueryExecutionListener

import java.util.concurrent.{CopyOnWriteArrayList, TimeUnit}
import java.util.concurrent.atomic.AtomicReference
import scala.collection.JavaConverters._
import scala.concurrent.{Await, Future}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration.Duration

/** What a frame observes is reported for each write of it. */
final class ObservedWritesSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2]"

  override protected def settings: Map[String, String] =
    Map("spark.sql.catalog.spark_catalog" -> classOf[MerganserCatalog].getName)

  private val changes = Notation.changes("k1@5=a, k2@6=b, k3@7=c")

  /** The metrics of three rows that a write observes. */
  private def observed(write: DataFrame => Unit, rows: DataFrame = frame(changes)): Map[String, Any] = {
    val observation = new Observation("rows")
    write(rows.observe(observation, count(lit(1)).as("n"), max(col("ts")).as("newest")))
    Await.result(Future(observation.get), Duration(20, TimeUnit.SECONDS)).toMap
  }

  private val all = Map("n" -> 3L, "newest" -> 7L)

  for {
    bucketed  <- Seq(false, true)
    operation <- Seq("upsert", "insert", "bulk_insert", "insert_overwrite", "insert_overwrite_table")
  } test(s"an $operation into a table ${if (bucketed) "with" else "without"} buckets reports the metrics of its rows") {
    val options = this.options(mergeOnRead = false, bucketed) + ("hoodie.datasource.write.operation" -> operation)
    val s       = faulty("t")
    def save(rows: DataFrame): Unit =
      rows.write.format("merganser").options(options).mode("append").save(s.toString)
    assert(observed(save) == all)
    assert(observed(save) == all)
    // As Python calls it.
    assert(observed { rows => FrameWrite.append(spark, OpenTable.load(spark, s.toString), options, rows); () } == all)
  }

  test("keyless writes, statements and failing writes report the metrics of their rows") {
    val s = faulty("t")
    assert(observed(_.write.format("merganser").option("hoodie.table.name", "t").save(s.toString)) == all)
    val keyed = faulty("u")
    upsert(keyed, changes, options(mergeOnRead = false, bucketed = false))
    assert(observed { rows =>
      rows.createOrReplaceTempView("observed_rows")
      spark.sql(s"INSERT INTO merganser.`$keyed` SELECT * FROM observed_rows")
      ()
    } == all)
    assert(observed { rows =>
      assert(conditionOf(upserted(keyed)(rows.withColumn("k", lit(null).cast("string")))) == "NULL_RECORD_KEY")
    }.keySet == all.keySet)
  }

  test("a write that is run again after a conflict counts each row once") {
    val s = faulty("t")
    val options = this.options(mergeOnRead = false, bucketed = false) ++ Map(
      "hoodie.write.concurrency.mode" -> "OPTIMISTIC_CONCURRENCY_CONTROL",
      "hoodie.fs.atomic_creation.support" -> "faulty",
      "hoodie.write.num.retries.on.conflict.failures" -> "3"
    )
    upsert(s, changes, options)
    ObservedWritesSuite.conflict.set(Some(() => upsert(s, Notation.changes("k1@6=x"), options)))
    // A task has no session, and its functions are copies.
    val conflicts = udf { (value: String) =>
      ObservedWritesSuite.conflict.getAndSet(None).foreach { write =>
        val writer = new Thread(() => write())
        writer.start()
        writer.join()
      }
      value
    }
    val rows    = frame(changes).coalesce(1).withColumn("v", conflicts(col("v")))
    var retries = -1
    assert(observed({ observed =>
        retries = FrameWrite.append(spark, OpenTable.load(spark, s.toString), options, observed).notes.retries
      }, rows) == all)
    assert(retries == 1)
  }

  test("query listeners receive each write once and its observed rows as another query") {
    val seen = new CopyOnWriteArrayList[(String, QueryExecution)]
    val listener = new QueryExecutionListener {
      override def onSuccess(name: String, query: QueryExecution, ns: Long): Unit = { seen.add(name -> query); () }
      override def onFailure(name: String, query: QueryExecution, failure: Exception): Unit = ()
    }
    spark.listenerManager.register(listener)
    try {
      val s = faulty("t")
      upsert(s, changes, options(mergeOnRead = false, bucketed = false))
      assert(observed(upserted(s)) == all)
      spark.sparkContext.parallelize(Seq(1)).count()
      Thread.sleep(200)
      val (rows, commands) = seen.asScala.toSeq.partition(_._1 == "write")
      assert(rows.map(_._2.observedMetrics.keySet) == Seq(Set("rows")))
      assert(commands.size == 2)
    } finally spark.listenerManager.unregister(listener)
  }

  private def upserted(s: Storage)(rows: DataFrame): Unit =
    rows.write.format("merganser").options(options(mergeOnRead = false, bucketed = false)).mode("append")
      .save(s.toString)
}

object ObservedWritesSuite {

  /** What the first row of a frame does while it is computed. */
  val conflict = new AtomicReference[Option[() => Unit]](None)
}
