package io.merganser.spark.write

import io.merganser.merge.MerganserException
import io.merganser.spark.LocalSession
import io.merganser.spark.python.PythonBridge
import io.merganser.table.{FaultyFileSystem, TableSuite}
import io.merganser.table.storage.Storage
import org.apache.spark.sql.{Column, DataFrame, Row}
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types.StructType

import scala.collection.JavaConverters._

// Guarantee (Concurrent writers): Writing a frame of the table's own rows does not undo what another writer changed
//   since.
/**
 * Two writes at once, one after the other: the second commits while the first is running, and the first must see what
 * it would have decided otherwise. Rows in notation: `key=value/partition`.
 */
final class ConcurrentWritesSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2]"

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.conf.set("spark.sql.catalog.spark_catalog", "io.merganser.spark.MerganserCatalog")
  }

  private val schema = StructType.fromDDL("k STRING, v BIGINT, part STRING")

  private def plain: String    = folder.resolve("t").toUri.toString
  private def running: Storage = faulty("t")

  private def options(more: (String, String)*): Map[String, String] = Map(
    "hoodie.table.name" -> "t",
    "hoodie.datasource.write.recordkey.field" -> "k",
    "hoodie.datasource.write.partitionpath.field" -> "part",
    "hoodie.write.concurrency.mode" -> "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.fs.atomic_creation.support" -> "faulty"
  ) ++ more

  private val consistent = Seq(
    "hoodie.datasource.write.table.type" -> "MERGE_ON_READ",
    "hoodie.index.type" -> "BUCKET",
    "hoodie.index.bucket.engine" -> "CONSISTENT_HASHING",
    "hoodie.bucket.index.num.buckets" -> "16"
  )

  private def frame(rows: String): DataFrame = spark.createDataFrame(
    rows.split(" ").toSeq.map(_.split("[=/]")).map(r => Row(r(0), r(1).toLong, r(2))).asJava, schema)

  private def write(path: String, rows: DataFrame, options: Map[String, String], mode: String = "append"): Unit =
    rows.write.format("merganser").options(options).mode(mode).save(path)

  private def read: Seq[String] = spark.read.format("merganser").load(plain).collect().toSeq.map { row =>
    s"${row.getAs[String]("k")}=${row.getAs[Long]("v")}/${row.getAs[String]("part")}"
  }.sorted

  /** Runs a write in which, once it has begun, another is run to its end; true if the first is refused for it. */
  private def isRefused(other: => Unit)(write: => Unit): Boolean =
    try { FaultyFileSystem.interrupting("create .*inflight")(other)(write); false }
    catch { case e: MerganserException if e.condition == "COMMIT_CONFLICT" => true }

  private def created(rows: String, more: (String, String)*): Map[String, String] = {
    write(plain, frame(rows), options(more: _*))
    options(more: _*)
  }

  test("under a global index concurrent writes do not store a new key in two partitions") {
    val global =
      created("a=1/p", "hoodie.index.type" -> "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path" -> "true")
    assert(isRefused(write(plain, frame("k=2/q"), global))(write(running.toString, frame("k=3/p"), global)))
    assert(read == Seq("a=1/p", "k=2/q"))
    write(running.toString, frame("k=3/p"), global)
    assert(read == Seq("a=1/p", "k=3/p"))
    // One moves it, the other adds it where it moves to.
    assert(isRefused(write(plain, frame("k=4/r"), options("hoodie.index.type" -> "GLOBAL_SIMPLE")))(
        write(running.toString, frame("k=5/q"), global)))
    assert(read.count(_.startsWith("k=")) == 1)
  }

  test("inserts that refuse or drop stored keys conflict with a write that adds such a key") {
    val settings =
      created("a=1/p", "hoodie.datasource.write.operation" -> "insert", "hoodie.parquet.small.file.limit" -> "0")
    for ((policy, i) <- Seq("fail", "drop").zipWithIndex) {
      val strict = settings + ("hoodie.datasource.insert.dup.policy" -> policy)
      assert(isRefused(write(plain, frame(s"k$i=2/p"), strict))(write(running.toString, frame(s"k$i=3/p"), strict)))
      assert(!isRefused(write(plain, frame(s"x$i=2/p"), strict))(write(running.toString, frame(s"y$i=3/p"), strict)))
    }
    assert(!isRefused(write(plain, frame("z=2/p"), settings))(write(running.toString, frame("z=3/p"), settings)))
    assert(read == Seq("a=1/p", "k0=2/p", "k1=2/p", "x0=2/p", "x1=2/p", "y0=3/p", "y1=3/p", "z=2/p", "z=3/p"))
  }

  test("an overwrite of a partition conflicts with rows added there, but not in others") {
    val settings = created("a=1/p b=1/q", "hoodie.parquet.small.file.limit" -> "0")
    spark.conf.set("hoodie.write.concurrency.mode", "OPTIMISTIC_CONCURRENCY_CONTROL")
    spark.conf.set("hoodie.fs.atomic_creation.support", "faulty")
    try {
      def overwrite(): Unit = {
        spark.sql(s"INSERT OVERWRITE merganser.`$running` PARTITION (part = 'p') SELECT 'k', 9L"); ()
      }
      assert(isRefused(write(plain, frame("k=2/p"), settings))(overwrite()))
      assert(read == Seq("a=1/p", "b=1/q", "k=2/p"))
      assert(!isRefused(write(plain, frame("l=2/q"), settings))(overwrite()))
      assert(read == Seq("b=1/q", "k=9/p", "l=2/q"))
      assert(isRefused(write(plain, frame("m=3/new"), settings))(write(running.toString, frame("n=4/p"), settings,
            "overwrite")))
    } finally Seq("hoodie.write.concurrency.mode", "hoodie.fs.atomic_creation.support").foreach(spark.conf.unset)
  }

  test("with consistent hashing an overwrite of an empty partition leaves every key in its range") {
    val settings = created("a=1/p", consistent: _*)
    write(plain, frame("k=1/q l=1/q m=1/q"), settings + ("hoodie.datasource.write.operation" -> "insert_overwrite"))
    write(plain, frame("k=2/q n=2/q"), settings)
    assert(read == Seq("a=1/p", "k=2/q", "l=1/q", "m=1/q", "n=2/q"))
  }

  test("with consistent hashing a write conflicts with another that changes its ranges") {
    val settings                     = created("a=1/p", consistent: _*)
    def replacing(operation: String) = settings + ("hoodie.datasource.write.operation" -> operation)
    val overwrite                    = replacing("insert_overwrite")
    // Neither finds ranges in the partition, and both store some.
    assert(isRefused(write(plain, frame("k=2/q"), overwrite))(write(running.toString, frame("k=3/q"), settings)))
    assert(read == Seq("a=1/p", "k=2/q"))
    assert(isRefused(write(plain, frame("k=4/r"), settings))(write(running.toString, frame("k=5/r"), overwrite)))
    assert(isRefused(write(plain, frame("k=6/s"), overwrite))(write(running.toString, frame("k=7/s"), overwrite)))
    assert(read == Seq("a=1/p", "k=2/q", "k=4/r", "k=6/s"))
    // The new key belongs to a range that has no file group yet, and so replaces none.
    val drop = replacing("delete_partition") + ("hoodie.datasource.write.partitions.to.delete" -> "p")
    assert(isRefused(write(plain, frame("a=1/p"), drop))(write(running.toString, frame("b=2/p"), settings)))
    write(running.toString, frame("b=2/p a=3/p"), settings)
    assert(read == Seq("a=3/p", "b=2/p", "k=2/q", "k=4/r", "k=6/s"))
    assert(!isRefused(write(plain, frame("c=4/other"), settings))(write(running.toString, frame("d=5/p"), settings)))
  }

  test("a write of rows read from the table conflicts with changes since they were read, on any path") {
    val settings = created("a=1/p b=1/q")
    def raised: DataFrame = {
      val rows = spark.read.format("merganser").load(plain)
      rows.count()
      rows.where("k = 'a'").select(col("k"), (col("v") + 1).as("v"), col("part"))
    }
    val saves = Seq[DataFrame => Any](
      rows => write(plain, rows, settings),
      rows => write(folder.resolve("t").toString, rows, settings, "overwrite"),
      rows => {
        val arguments = s"""{"path": "$plain", "operation": "upsert"}"""
        PythonBridge.call(spark, "write_rows", arguments, rows, Map.empty[String, Column].asJava)
      },
      rows => {
        rows.createOrReplaceTempView("raised")
        spark.sql(s"CALL write_rows(source => 'raised', operation => 'upsert', path => '$plain')").collect()
      },
      rows => rows.writeTo(s"merganser.`$plain`").append(),
      rows => rows.write.mode("append").insertInto(s"merganser.`$plain`")
    )
    for ((save, i) <- saves.zipWithIndex) {
      val stale = raised
      write(plain, frame(s"a=${10 * (i + 1)}/p"), settings)
      val refused = intercept[Exception](save(stale))
      assert(refused.getMessage.contains("[COMMIT_CONFLICT]") && refused.getMessage.contains("read again"), i)
      assert(read == Seq(s"a=${10 * (i + 1)}/p", "b=1/q"), i)
    }
    write(plain, raised, settings)
    assert(read == Seq(s"a=${10 * saves.size + 1}/p", "b=1/q"))
  }
}
