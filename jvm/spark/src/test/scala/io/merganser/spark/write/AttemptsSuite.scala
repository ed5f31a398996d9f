package io.merganser.spark.write

import io.merganser.merge.MerganserException
import io.merganser.spark.LocalSession
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.{FaultyFileSystem, TableSuite}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.types.StructType

import scala.collection.JavaConverters._

/** A second write commits while the first is running; the first is run again, or recognizes its own repetition. */
final class AttemptsSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2]"

  private val schema = StructType.fromDDL("k STRING, v BIGINT")

  private val options = Map(
    "hoodie.table.name" -> "t",
    "hoodie.datasource.write.recordkey.field" -> "k",
    "hoodie.write.concurrency.mode" -> "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.fs.atomic_creation.support" -> "faulty"
  )

  private def plain = folder.resolve("t").toUri.toString

  private def frame(rows: (String, Long)*): DataFrame =
    spark.createDataFrame(rows.map { case (k, v) => Row(k, v) }.asJava, schema)

  private def append(path: String, rows: DataFrame, more: (String, String)*): WriteResult =
    FrameWrite.append(spark, OpenTable.load(spark, path), options ++ more, rows)

  private def create(): Unit = frame("a" -> 1L).write.format("merganser").options(options).save(plain)

  private def read: Set[(String, Long)] =
    spark.read.format("merganser").load(plain).collect().map(row =>
      row.getAs[String]("k") -> row.getAs[Long]("v")).toSet

  /** The result of a write in which, once it has begun, another is run to its end. */
  private def beside[T](other: => Any)(write: => T): T = {
    var result: Option[T] = None
    FaultyFileSystem.interrupting("create .*inflight")({ other; () }) { result = Some(write) }
    result.get
  }

  private def running = faulty("t").toString

  private val retries = "hoodie.write.num.retries.on.conflict.failures"

  test("a conflicting write is retried from the new state as often as configured, and counted") {
    create()
    val result = beside(append(plain, frame("a" -> 2L)))(append(running, frame("a" -> 3L), retries -> "1"))
    assert(result.notes.retries == 1 && result.counts.updated == 1 && result.notes.sentences.mkString.contains("1"))
    assert(read == Set("a" -> 3L))
    val refused = intercept[MerganserException](beside(append(plain, frame("a" -> 4L)))(append(running,
          frame("a" ->
            5L))))
    assert(refused.condition == "COMMIT_CONFLICT" && read == Set("a" -> 4L))
  }

  test("a write of rows that were read from the table is not run again") {
    create()
    val refused = intercept[MerganserException] {
      val own = spark.read.format("merganser").load(running).selectExpr("k", "v + 10 AS v")
      beside(append(plain, frame("a" -> 2L)))(append(running, own, retries -> "3"))
    }
    assert(refused.condition == "COMMIT_CONFLICT" && read == Set("a" -> 2L))
  }

  test("of two concurrent writes with one transaction one is committed, and both return its result") {
    create()
    val transaction = Seq("txnAppId" -> "job", "txnVersion" -> "3", "hoodie.datasource.write.operation" -> "insert")
    var first: WriteResult = null
    val second = beside { first = append(plain, frame("b" -> 1L), transaction: _*) } {
      append(running, frame("b" -> 1L), transaction: _*)
    }
    assert(second.notes.isRepetition && !first.notes.isRepetition)
    assert(second.instant == first.instant && second.counts == first.counts && second.counts.inserted == 1)
    assert(spark.read.format("merganser").load(plain).count() == 2)
    // An application's earlier version counts as committed too.
    val earlier = append(plain, frame("c" -> 1L), transaction :+ ("txnVersion" -> "2"): _*)
    assert(earlier.notes.isRepetition && earlier.notes.warnings.mkString.contains("as was version 3"))
    assert(OpenTable.load(spark, plain).timeline.pending.isEmpty)
  }
}
