package io.merganser.spark.write

import io.merganser.merge.{MerganserException, Notation}
import io.merganser.spark.{LocalSession, MerganserLakeCatalog}
import org.apache.spark.sql.functions.{col, udf}
import io.merganser.table.{DirectTable, FaultyFileSystem, Leftovers, TableSuite}

import scala.collection.JavaConverters._
import scala.util.{Failure, Success, Try}

/** Several writers of one table at once, and tasks that are tried again. */
final class SparkWritersSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2,4]"

  private val several = Map("hoodie.clean.failed.writes.policy" -> "LAZY")

  test("EAGER: each of two concurrent upserts is committed with its rows or fails with a conflict") {
    val options = this.options(mergeOnRead = false, bucketed = false)
    val table   = faulty("t")
    val written = new java.util.concurrent.ConcurrentLinkedQueue[String]
    upsert(table, Notation.changes("z1@1=z"), options)
    atOnce(Seq("a", "b").map { writer => () =>
      val session = spark.newSession()
      for (i <- 1 to 3)
        if (isWritten(upsert(table, Notation.changes(s"$writer$i@$i=$writer"), options, session)))
          written.add(s"$writer$i@$i=$writer")
    }: _*)
    upsert(table, Notation.changes("z1@2=z"), options)
    assert(rows(table) == (written.asScala.toSeq :+ "z1@2=z").sorted)
    assert(Leftovers.of(table).isEmpty)
  }

  test("LAZY: concurrent sessions that retry after conflicts lose and duplicate no row") {
    val options = this.options(mergeOnRead = false, bucketed = false) ++ several
    val table   = faulty("t")
    upsert(table, Notation.changes("z1@1=z z2@1=z"), options)
    atOnce(Seq("a", "b").map { writer => () =>
      val session = spark.newSession()
      for (i <- 1 to 3) insist(upsert(table, Notation.changes(s"$writer$i@$i=$writer z1@$i=z"), options, session))
    }: _*)
    assert(rows(table) == Seq("a1@1=a", "a2@2=a", "a3@3=a", "b1@1=b", "b2@2=b", "b3@3=b", "z1@3=z", "z2@1=z"))
    assert(Leftovers.of(table).isEmpty)
  }

  test("LAZY: concurrent upserts to different file groups all succeed") {
    val options = this.options(mergeOnRead = true, bucketed = true) ++ several
    val table   = faulty("t")
    upsert(table, Notation.changes("z0@1=z z1@1=z"), options)
    atOnce(Seq(0, 1).map { partition => () =>
      val session = spark.newSession()
      for (i <- 1 to 3) upsert(table, Notation.changes(s"a$i$partition@$i=a z$partition@$i=z"), options, session)
    }: _*)
    assert(rows(table) == Seq("a10@1=a", "a11@1=a", "a20@2=a", "a21@2=a", "a30@3=a", "a31@3=a", "z0@3=z", "z1@3=z"))
    assert(Leftovers.of(table).isEmpty)
  }

  test("a compaction beside another session's upserts loses no row") {
    val options = this.options(mergeOnRead = true, bucketed = true) ++ several
    val table   = faulty("t")
    def compact(op: String): Unit = {
      spark.newSession().sql(s"CALL run_compaction(op => '$op', path => '$table')").collect(); ()
    }
    upsert(table, Notation.changes("k1@1=a k2@1=a"), options)
    upsert(table, Notation.changes("k1@2=b"), options)
    atOnce(
      () => for (_ <- 1 to 3) insist(compact("scheduleandexecute")),
      () =>
        for (i <- 3 to 6)
          insist(upsert(table, Notation.changes(s"k1@$i=c k2@$i=c k$i@$i=c"), options, spark.newSession()))
    )
    val expected = Seq("k1@6=c", "k2@6=c", "k3@3=c", "k4@4=c", "k5@5=c", "k6@6=c")
    assert(rows(table) == expected)
    compact("scheduleandexecute")
    assert(rows(table) == expected)
    assert(Leftovers.of(table).isEmpty)
  }

  for ((mergeOnRead, file) <- Seq(false -> """[^/]*\.parquet""", true -> """\.[^/]*\.log\.\d+_[\d-]+"""))
    test(
      s"${if (mergeOnRead) "merge on read" else "copy on write"}: a retried task that could not remove its file " +
        "leaves one file") {
      val options = this.options(mergeOnRead, bucketed = true)
      val table   = faulty("t")
      upsert(table, Notation.changes("k1@1=a k2@1=a"), options)
      // The file's writer tries to remove it, and the task does.
      val unmet =
        FaultyFileSystem.failingFirst(s"close .*/p1/$file", s"delete .*/p1/$file", s"delete .*/t/p1/$file")(
          upsert(table, Notation.changes("k1@2=b k2@2=b"), options))
      assert(unmet.isEmpty)
      assert(rows(table) == Seq("k1@2=b", "k2@2=b"))
      assert(Leftovers.of(table).isEmpty)
      assert(new DirectTable(table, bucketed = true).timeline.completed.size == 2)
    }

  test("a bulk insert whose retried task left a file behind has each row once") {
    val options =
      this.options(mergeOnRead = false, bucketed = false) + ("hoodie.datasource.write.operation" -> "bulk_insert")
    val table = faulty("t")
    val unmet = FaultyFileSystem.failingFirst("close .*/p1/[^/]*\\.parquet", "delete .*/p1/[^/]*\\.parquet",
      "delete .*/t/p1/[^/]*\\.parquet")(upsert(table, Notation.changes("k1@1=a k2@1=a k3@1=a"), options))
    assert(unmet.isEmpty && rows(table) == Seq("k1@1=a", "k2@1=a", "k3@1=a") && Leftovers.of(table).isEmpty)
  }

  for (bucketed <- Seq(true, false); mergeOnRead <- Seq(true, false))
    test(s"rows of one commit have different sequence numbers (bucketed $bucketed, merge on read $mergeOnRead)") {
      val table   = faulty("t")
      val options = this.options(mergeOnRead, bucketed) + ("hoodie.parquet.small.file.limit" -> "0")
      def seen: Seq[String] =
        spark.read.format("merganser").load(table.toString).select("_hoodie_commit_seqno").collect().toSeq.map(
          _.getString(0))
      val keys = (10 to 29).map(i => s"k$i")
      upsert(table, keys.flatMap(k => Notation.changes(s"$k@1=a")), options)
      assert(seen.distinct.size == 20)
      upsert(table, keys.flatMap(k => Notation.changes(s"$k@2=b")), options)
      assert(seen.distinct.size == 20 && seen.map(_.takeWhile(_ != '_')).distinct.size == 1)
      if (mergeOnRead) {
        val before = seen.toSet
        spark.sql(s"CALL run_compaction(op => 'scheduleandexecute', path => '$table')").collect()
        assert(seen.toSet == before)
      }
    }

  test("each kind of write evaluates a nondeterministic source once") {
    val made   = spark.sparkContext.longAccumulator
    val differ = udf((_: String) => { made.add(1); java.util.UUID.randomUUID().toString }).asNondeterministic()
    val keys   = (0 to 9).flatMap(i => Notation.changes(s"k$i@1=a"))
    val source = frame(keys).repartition(2).withColumn("v", differ(col("k")))
    for (operation <- Seq("bulk_insert", "upsert", "insert")) {
      val table = faulty(operation)
      val options = this.options(mergeOnRead = false, bucketed = false) ++
        Map("hoodie.datasource.write.operation" -> operation,
          s"hoodie.${operation.replace("_", "")}.shuffle.parallelism" -> "3")
      made.reset()
      source.write.format("merganser").options(options).mode("append").save(table.toString)
      assert(made.value == 10 && rows(table).size == 10, operation)
    }
    val table = faulty("upsert")
    spark.conf.set("spark.sql.catalog.lake", classOf[MerganserLakeCatalog].getName)
    spark.conf.set("spark.sql.catalog.lake.warehouse", table.basePath.getParent.toString)
    made.reset()
    source.createOrReplaceTempView("source")
    spark.udf.register("counted", udf((text: String) => { made.add(1); text + "!" }))
    spark.sql(
      "MERGE INTO lake.upsert t USING source s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = counted(s.v), ts = 2")
    assert(made.value == 20 && rows(table).count(_.contains("!")) == 10)
  }

  private def atOnce(work: (() => Unit)*): Unit = {
    val outcomes = new java.util.concurrent.ConcurrentLinkedQueue[Try[Unit]]
    val threads  = work.map(body => new Thread(() => { outcomes.add(Try(body())); () }))
    threads.foreach(_.start())
    threads.foreach(_.join(120000))
    assert(outcomes.size == work.size)
    outcomes.forEach(outcome => outcome.get)
  }

  /** False if the write was refused for another one. */
  private def isWritten(write: => Any): Boolean = Try(write) match {
    case Success(_)                                                                            => true
    case Failure(e: MerganserException) if e.condition.matches("(COMMIT|COMPACTION)_CONFLICT") => false
    case Failure(e)                                                                            => throw e
  }

  /** Repeats a write for as long as it is refused for another one. */
  private def insist(write: => Any): Unit = while (!isWritten(write)) {}
}
