package io.merganser.spark.size

import java.nio.file.Paths

import io.merganser.spark.MerganserExtensions
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.Rows
import io.merganser.table.log.{LogNames, LogWriter}
import org.apache.spark.sql.functions.{col, count, length, spark_partition_id, sum}
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.types.{LongType, StringType}

/**
 * Writes, reads and compacts file slices with logs that are larger than the memory of the process, then keys of many
 * versions, then a base file that several tasks read; run in a process of its own. Arguments: a folder, the size of all
 * logs in megabytes, the number of slices, the number of versions of a key, and the size of the base file in megabytes.
 */
object BigSlices {

  /** A value of 1,024 random digits. */
  private val Value =
    (0 until 8).map(i => s"sha2(CAST(id * 8 + $i + ts AS STRING), 512)").mkString("concat(", ", ", ")")

  /** Bytes of a row in a log. */
  private val RowBytes = 1000

  private val Writes = 4

  def main(arguments: Array[String]): Unit = {
    val folder = arguments.head
    val spark = SparkSession.builder().master("local[2]").appName("big slices")
      .config("spark.ui.enabled", "false").config("spark.driver.host", "localhost")
      .config("spark.local.dir", Paths.get(folder).resolve("local").toString)
      .config("spark.sql.shuffle.partitions", "2").config("spark.sql.session.timeZone", "UTC")
      .config("spark.sql.extensions", classOf[MerganserExtensions].getName).getOrCreate()
    def path(name: String) = Paths.get(folder).resolve(name).toString
    try {
      largeLogs(spark, path("large"), megabytes = arguments(1).toInt, slices = arguments(2))
      hotKeys(spark, path("hot"), versions = arguments(3).toLong)
      largeBase(spark, path("base"), megabytes = arguments(4).toInt)
    } finally spark.stop()
  }

  private def options(buckets: String) = Map("hoodie.table.name" -> "t",
    "hoodie.datasource.write.table.type" -> "MERGE_ON_READ", "hoodie.datasource.write.recordkey.field" -> "id",
    "hoodie.table.ordering.fields" -> "ts", "hoodie.index.type" -> "BUCKET",
    "hoodie.bucket.index.num.buckets" -> buckets)

  private def largeLogs(spark: SparkSession, path: String, megabytes: Int, slices: String): Unit = {
    val rows    = megabytes * 1000000L / RowBytes
    val options = this.options(slices)
    def changes(from: Long, until: Long, ts: Int): DataFrame =
      spark.range(from, until, 1, 2).selectExpr("id", s"CAST($ts AS BIGINT) AS ts").selectExpr("*", s"$Value AS v")
    def upsert(frame: DataFrame): Unit = frame.write.format("merganser").options(options).mode("append").save(path)
    upsert(changes(0, rows / 10, ts = 0))
    // Each write has a part of its own, and updates a tenth of the part before it.
    (0 until Writes).foreach { i =>
      val part = rows / Writes
      timed(s"upsert ${i + 1}")(upsert(changes(math.max(0, i * part - part / 10), (i + 1) * part, ts = i + 1)))
    }
    val opened = OpenTable.load(spark, path).view.slices
    require(opened.size == slices.toInt && opened.forall(_.logs.size >= Writes), opened)
    val logBytes = opened.flatMap(_.logs).map(_.sizeBytes).sum
    require(logBytes > megabytes * 900000L, logBytes)
    def all(): Seq[Any] = spark.read.format("merganser").load(path).selectExpr("count(*)", "count(distinct id)",
      "sum(ts)", "sum(crc32(v))").first().toSeq
    val merged = timed("read")(all())
    val parts  = Writes * (rows / Writes)
    require(merged.take(2) == Seq(parts, parts), merged)
    timed("compaction")(spark.sql(s"CALL run_compaction(op => 'scheduleandexecute', path => '$path')").collect())
    require(OpenTable.load(spark, path).view.slices.forall(_.logs.isEmpty))
    val compacted = timed("read of base files")(all())
    require(compacted == merged, s"$compacted after $merged before")
    println(s"logs of ${logBytes / 1000000} MB in ${opened.size} slices, $parts rows of 1 KB")
  }

  /**
   * A batch with all versions of one key, then a log with all versions of another one, as a writer that does not
   * combine its batches makes it. The newest version is neither the first nor the last one.
   */
  private def hotKeys(spark: SparkSession, path: String, versions: Long): Unit = {
    def upsert(rows: DataFrame): Unit = rows.write.format("merganser").options(options("1") +
      ("hoodie.write.table.version" -> "6")).mode("append").save(path)
    def row(id: String, ts: String) = Seq(s"$id AS id", s"$ts AS ts", s"concat('v', $ts) AS v")
    upsert(spark.range(10).selectExpr(row("id", "0L"): _*))
    timed("upsert")(upsert(spark.range(0, versions, 1, 2).selectExpr(row("8L", s"(id * 7919) % $versions"): _*)))
    timed("log")(appendVersions(OpenTable.load(spark, path), key = 7, versions))
    val logs = OpenTable.load(spark, path).view.slices.head.logs
    require(logs.size == 2, logs)
    def changed(): Seq[String] =
      spark.read.format("merganser").load(path).where("ts > 0").select("id", "ts", "v").orderBy("id").collect()
        .map(_.mkString(" ")).toSeq
    val expected = Seq(7, 8).map(id => s"$id ${versions - 1} v${versions - 1}")
    val merged   = timed("read")(changed())
    require(merged == expected, merged)
    timed("compaction")(spark.sql(s"CALL run_compaction(op => 'scheduleandexecute', path => '$path')").collect())
    require(OpenTable.load(spark, path).view.slices.forall(_.logs.isEmpty))
    require(changed() == expected && spark.read.format("merganser").load(path).count() == 10)
    println(s"logs of ${logs.map(_.sizeBytes).sum / 1000000} MB, $versions versions of one key")
  }

  /** One base file of random bytes, in row groups of 8 MB, read by tasks of 64 MB. */
  private def largeBase(spark: SparkSession, path: String, megabytes: Int): Unit = {
    val rows  = megabytes * 1000000L / RowBytes
    val bytes = (0 until 16).map(i => s"unhex(sha2(CAST(id * 16 + $i AS STRING), 512))").mkString("concat(", ", ", ")")
    val frame = spark.range(0, rows, 1, 2).selectExpr("id", "1L AS ts").selectExpr("*", s"$bytes AS v")
    timed("upsert")(frame.write.format("merganser").options(options("1") +
        ("hoodie.datasource.write.table.type" -> "COPY_ON_WRITE") + ("hoodie.parquet.block.size" -> s"${8 << 20}"))
        .mode("append").save(path))
    val slices = OpenTable.load(spark, path).view.slices
    val size   = slices.flatMap(_.base).map(_.sizeBytes).sum
    require(slices.size == 1 && size > megabytes * 900000L, slices)
    spark.conf.set("spark.sql.files.maxPartitionBytes", s"${64 << 20}")
    val stored = spark.read.format("merganser").load(path)
    val tasks = timed("read")(stored.groupBy(spark_partition_id()).agg(count("*"), sum("id"), sum(length(col("v"))))
        .collect().toSeq)
    require(tasks.map(_.getLong(1)).sum == rows && tasks.map(_.getLong(2)).sum == rows * (rows - 1) / 2)
    require(tasks.map(_.getLong(3)).sum == rows * 1024)
    require(tasks.size >= size / (80 << 20), tasks.size)
    println(s"a base file of ${size / 1000000} MB in ${tasks.size} tasks")
  }

  /** Adds a log to the newest commit: version 6 of the format finds logs by listing them. */
  private def appendVersions(table: OpenTable, key: Long, versions: Long): Unit = {
    val slice   = table.view.slices.head
    val instant = table.timeline.newestCompleted.get.requested
    val columns = Rows.withMeta("id" -> LongType, "ts" -> LongType, "v" -> StringType)
    val writer =
      new LogWriter(table.storage, "t",
        LogNames("", slice.fileId, slice.baseInstant, slice.logs.size + 1, "9-0-9"), instant, columns)
    writer.dataBlock(Iterator.iterate(0L)(_ + 1).takeWhile(_ < versions).map { i =>
      val ts = i * 7919 % versions
      Rows.stored(instant, key.toString, "", slice.fileId)(key, ts, s"v$ts")
    })
    val written = writer.close().records + writer.earlier.map(_.records).sum
    require(written == versions, written)
  }

  private def timed[T](what: String)(body: => T): T = {
    val started = System.nanoTime()
    val result  = body
    println(f"$what: ${(System.nanoTime() - started) / 1e9}%.1f s")
    result
  }
}
