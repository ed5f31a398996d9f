package io.merganser.spark

import io.merganser.merge.Change
import io.merganser.table.{DirectTable, FaultyFileSystem}
import io.merganser.table.storage.Storage
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.scalatest.{BeforeAndAfterAll, Suite}

import scala.collection.JavaConverters._

/** A session of the suite's own, and the table of [[DirectTable]] written through it. */
trait LocalSession extends BeforeAndAfterAll { this: Suite =>

  protected var spark: SparkSession = _

  /** As Spark writes it: `local[threads]`, or `local[threads,failures of a task]`. */
  protected def master: String

  /** Further settings of the session. */
  protected def settings: Map[String, String] = Map.empty

  override def beforeAll(): Unit = {
    super.beforeAll()
    val builder = SparkSession.builder().master(master).appName(suiteName)
      .config("spark.ui.enabled", "false")
      .config("spark.driver.host", "localhost")
      .config("spark.sql.shuffle.partitions", "2")
      .config("spark.sql.session.timeZone", "UTC")
      .config("spark.sql.extensions", classOf[MerganserExtensions].getName)
      .config("spark.hadoop.fs.faulty.impl", classOf[FaultyFileSystem].getName)
      // A broadcast of a small task in blocks of 4 MB, and a list of all that has run, take as long as some statements.
      .config("spark.broadcast.blockSize", "128k")
      .config("spark.appStateStore.asyncTracking.enable", "false")
      .config("spark.ui.retainedJobs", "50")
      .config("spark.ui.retainedStages", "50")
      .config("spark.ui.retainedTasks", "50")
      .config("spark.sql.ui.retainedExecutions", "50")
    spark = settings.foldLeft(builder) { case (now, (key, value)) => now.config(key, value) }.getOrCreate()
  }

  override def afterAll(): Unit =
    try spark.stop()
    finally super.afterAll()

  protected def frame(changes: Seq[Change], session: SparkSession = spark): DataFrame = session.createDataFrame(
    changes.map { c =>
      Row(c.key, c.ts.map(Long.box).orNull, c.values.head.orNull, c.values(1).orNull, DirectTable.partitionOf(c.key),
        c.isDelete)
    }.asJava,
    DirectTable.schema
  )

  /** Options that create the table; every write may repeat them. */
  protected def options(mergeOnRead: Boolean, bucketed: Boolean): Map[String, String] = Map(
    "hoodie.table.name" -> "t",
    "hoodie.datasource.write.table.type" -> (if (mergeOnRead) "MERGE_ON_READ" else "COPY_ON_WRITE"),
    "hoodie.datasource.write.recordkey.field" -> "k",
    "hoodie.datasource.write.partitionpath.field" -> "part",
    "hoodie.table.ordering.fields" -> "ts"
  ) ++ (if (bucketed) Map("hoodie.index.type" -> "BUCKET", "hoodie.bucket.index.num.buckets" -> "2") else Map.empty)

  protected def upsert(
      storage: Storage,
      changes: Seq[Change],
      options: Map[String, String],
      session: SparkSession = spark
  ): Unit =
    frame(changes, session).write.format("merganser").options(options).mode("append").save(storage.toString)

  /** The rows of a snapshot read, sorted, in the notation. */
  protected def rows(storage: Storage): Seq[String] =
    spark.read.format("merganser").load(storage.toString).select("k", "ts", "v", "w").collect().toSeq.map { row =>
      Change(row.getString(0), if (row.isNullAt(1)) None else Some(row.getLong(1)),
        Seq(2, 3).map(i => Option(row.getString(i)))).toString
    }.sorted
}
