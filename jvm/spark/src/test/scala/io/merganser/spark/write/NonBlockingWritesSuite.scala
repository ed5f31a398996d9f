package io.merganser.spark.write

import io.merganser.merge.MerganserException
import io.merganser.spark.LocalSession
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.{FaultyFileSystem, TableSuite}
import io.merganser.table.slice.FileSlice
import io.merganser.table.storage.Storage
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.types.StructType

import scala.collection.JavaConverters._

// Guarantee (Concurrent writers): Non-blocking writers of one bucket, ours and Hudi's, all commit, also if they create
//   it at once; what would depend on their order is refused. Also:
//   test_non_blocking_writers_of_both_engines_share_buckets_and_lose_no_row
/**
 * Non-blocking writers of one bucket: a second one commits while the first is running. Rows in notation:
 * `key=value@ordering value/partition`.
 */
final class NonBlockingWritesSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2]"

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.conf.set("spark.sql.catalog.spark_catalog", "io.merganser.spark.MerganserCatalog")
  }

  private val schema = StructType.fromDDL("k STRING, v BIGINT, ts BIGINT, part STRING")
  private val mode   = "hoodie.write.concurrency.mode"

  private def plain: String    = folder.resolve("t").toUri.toString
  private def running: Storage = faulty("t")

  private val options: Map[String, String] = Map(
    "hoodie.table.name" -> "t",
    "hoodie.datasource.write.recordkey.field" -> "k",
    "hoodie.datasource.write.partitionpath.field" -> "part",
    "hoodie.table.ordering.fields" -> "ts",
    "hoodie.datasource.write.table.type" -> "MERGE_ON_READ",
    "hoodie.index.type" -> "BUCKET",
    "hoodie.bucket.index.num.buckets" -> "1",
    mode -> "NON_BLOCKING_CONCURRENCY_CONTROL",
    "hoodie.fs.atomic_creation.support" -> "faulty"
  )

  private def frame(rows: String): DataFrame = spark.createDataFrame(
    rows.split(" ").toSeq.map(_.split("[=@/]")).map(r => Row(r(0), r(1).toLong, r(2).toLong, r(3))).asJava, schema)

  private def write(path: String, rows: String, more: (String, String)*): Unit =
    frame(rows).write.format("merganser").options(options ++ more).mode("append").save(path)

  private def read: Seq[String] = spark.read.format("merganser").load(plain).collect().toSeq.map { row =>
    s"${row.getAs[String]("k")}=${row.getAs[Long]("v")}@${row.getAs[Long]("ts")}/${row.getAs[String]("part")}"
  }.sorted

  private def slices(partition: String): Seq[FileSlice] =
    OpenTable.load(Storage(plain, spark.sparkContext.hadoopConfiguration)).view.slices(partition)

  private def compact(op: String): Unit = { spark.sql(s"CALL run_compaction(op => '$op', path => '$plain')"); () }

  /** Runs a write in which, once it has begun, other work is done. */
  private def during(other: => Unit)(write: => Unit): Unit =
    FaultyFileSystem.interrupting("create .*inflight")(other)(write)

  private def refusal(work: => Unit): MerganserException = {
    def ours(e: Throwable): MerganserException = e match {
      case found: MerganserException => found
      case other if other != null    => ours(other.getCause)
      case _                         => fail("refused by no condition")
    }
    ours(intercept[Exception](work))
  }

  test("two writers that create a bucket concurrently share one file group, and the larger ordering value wins") {
    write(plain, "a=1@1/p")
    during(write(plain, "k=2@5/q x=1@1/q"))(write(running.toString, "k=3@4/q y=1@1/q"))
    assert(read == Seq("a=1@1/p", "k=2@5/q", "x=1@1/q", "y=1@1/q"))
    assert(slices("q").map(slice => (slice.fileId, slice.base, slice.logs.size)) ==
      Seq(("00000000-0000-0000-0000-000000000000-0", None, 2)))
    during(write(plain, "k=6@6/q"))(write(running.toString, "k=7@7/q x=0@0/q"))
    assert(read == Seq("a=1@1/p", "k=7@7/q", "x=1@1/q", "y=1@1/q"))
    compact("scheduleandexecute")
    assert(read == Seq("a=1@1/p", "k=7@7/q", "x=1@1/q", "y=1@1/q") && slices("q").forall(_.logs.isEmpty))
  }

  test("a writer beside a scheduled or running compaction loses no row, and on a tie the last commit wins") {
    write(plain, "k=1@1/p")
    during { write(plain, "k=2@5/p l=2@1/p"); compact("schedule") }(write(running.toString, "k=3@5/p m=3@1/p"))
    val expected = Seq("k=3@5/p", "l=2@1/p", "m=3@1/p")
    assert(read == expected)
    compact("execute")
    assert(read == expected && slices("p").map(_.logs.size) == Seq(1))
    during { write(plain, "k=8@6/p"); compact("scheduleandexecute") }(write(running.toString, "k=9@6/p"))
    assert(read == "k=9@6/p" +: expected.tail)
    compact("scheduleandexecute")
    assert(read == "k=9@6/p" +: expected.tail && slices("p").map(_.logs.size) == Seq(0))
  }

  test("on a tie the write that commits last wins, before and after a compaction") {
    write(plain, "k=1@1/p")
    during(write(plain, "k=2@5/p"))(write(running.toString, "k=3@5/p"))
    assert(read == Seq("k=3@5/p"))
    compact("scheduleandexecute")
    assert(read == Seq("k=3@5/p"))
  }

  test("an optimistic and a non-blocking writer of one bucket conflict") {
    val optimistic = mode -> "OPTIMISTIC_CONCURRENCY_CONTROL"
    val overwrite  = "hoodie.datasource.write.operation" -> "insert_overwrite"
    write(plain, "k=1@1/p b=1@1/q")
    assert(refusal(during(write(plain, "k=2@2/p"))(write(running.toString, "k=3@3/p", optimistic))).condition ==
      "COMMIT_CONFLICT")
    assert(refusal(during(write(plain, "k=4@1/p", optimistic, overwrite))(write(running.toString, "k=5@9/p")))
      .condition == "COMMIT_CONFLICT")
    assert(read == Seq("b=1@1/q", "k=4@1/p"))
    // The optimistic writer gives the first group of the bucket an id of its own.
    assert(refusal(during(write(plain, "n=1@1/r", optimistic))(write(running.toString, "n=2@2/r"))).condition ==
      "COMMIT_CONFLICT")
    write(running.toString, "n=2@2/r")
    assert(read == Seq("b=1@1/q", "k=4@1/p", "n=2@2/r"))
  }

  test("writers after a replacement of a bucket share a new file group") {
    val optimistic = Seq(mode -> "OPTIMISTIC_CONCURRENCY_CONTROL",
      "hoodie.datasource.write.operation" -> "delete_partition")
    write(plain, "k=1@1/p b=1@1/q")
    write(plain, "b=1@1/q", optimistic: _*)
    assert(read == Seq("k=1@1/p"))
    during(write(plain, "b=2@2/q"))(write(running.toString, "c=3@3/q"))
    assert(read == Seq("b=2@2/q", "c=3@3/q", "k=1@1/p"))
    assert(slices("q").map(_.fileId) == Seq("00000000-0000-0000-0000-000000000000-1"))
  }

  test("unsupported options of non-blocking writers are refused before anything is written") {
    write(plain, "k=1@1/p")
    def refused(what: String)(work: => Unit): Unit = {
      val error = refusal(work)
      assert(error.condition == "NON_BLOCKING_UNSUPPORTED" && error.getMessage.contains(what), error.getMessage)
    }
    val operation = "hoodie.datasource.write.operation"
    refused("ordering value")(write(plain, "k=2@2/p", operation -> "delete"))
    refused("operation is bulk_insert")(write(plain, "k=2@2/p", operation -> "bulk_insert"))
    refused("replaces rows")(write(plain, "k=2@2/p", operation -> "insert_overwrite"))
    refused("insert.dup.policy")(
      write(plain, "k=2@2/p", operation -> "insert", "hoodie.datasource.insert.dup.policy" -> "drop"))
    spark.conf.set(mode, options(mode))
    try refused("stored rows")(spark.sql(s"UPDATE merganser.`$plain` SET v = 2 WHERE k = 'k'"))
    finally spark.conf.unset(mode)
    for {
      (i, what, other) <- Seq(
        (1, "copy-on-write", Seq("hoodie.datasource.write.table.type" -> "COPY_ON_WRITE")),
        (2, "not BUCKET", Seq("hoodie.index.type" -> "SIMPLE", "hoodie.bucket.index.num.buckets" -> "")),
        (3, "CONSISTENT_HASHING", Seq("hoodie.index.bucket.engine" -> "CONSISTENT_HASHING")),
        (4, "COMMIT_TIME_ORDERING", Seq("hoodie.write.record.merge.mode" -> "COMMIT_TIME_ORDERING")),
        (5, "version 6", Seq("hoodie.write.table.version" -> "6")),
        (6, "PartialUpdate",
          Seq("hoodie.datasource.write.payload.class" -> "org.apache.hudi.common.model.PartialUpdateAvroPayload",
            "hoodie.write.table.version" -> "8"))
      )
    } {
      val path = folder.resolve(s"t$i").toUri.toString
      refused(what)(write(path, "k=2@2/p", other: _*))
      assert(!folder.resolve(s"t$i/.hoodie/hoodie.properties").toFile.exists)
    }
    assert(read == Seq("k=1@1/p"))
  }
}
