package io.merganser.spark.write

import io.merganser.merge.{MerganserException, Notation}
import io.merganser.spark.{LocalSession, OpenTable}
import io.merganser.table.{DirectTable, Storage, TableSuite}
import io.merganser.table.config.{IgnoredOption, TableConfig}
import io.merganser.table.timeline.{Action, Transaction}

/** What follows a commit fails, and the write has succeeded nevertheless. */
final class AfterCommitSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2]"

  private val inline = Map("hoodie.compact.inline" -> "true", "hoodie.compact.inline.max.delta.commits" -> "1",
    "hoodie.clean.failed.writes.policy" -> "LAZY")
  private val asError = "hoodie.fail.writes.on.inline.table.service.exception" -> "true"

  /** Version 6: no compaction beside another write that runs. */
  private def blocked(name: String): (Storage, Transaction) = {
    val table = Storage(folder.resolve(name).toUri.toString, spark.sparkContext.hadoopConfiguration)
    upsert(table, Notation.changes("k1@1=a k2@1=a"), options(mergeOnRead = true, bucketed = true) + ("hoodie.write.table.version" -> "6"))
    val running = Transaction.begin(table, TableConfig.load(table), Action.DeltaCommit,
      options = Transaction.Options(heartbeatMs = Some(60000)))
    (table, running)
  }

  private def append(table: Storage, changes: String, more: (String, String)*): WriteResult =
    FrameWrite.append(spark, OpenTable.load(table), inline ++ more, frame(Notation.changes(changes)))

  test("a write whose inline compaction fails is committed, and its result says what failed") {
    val (table, running) = blocked("t")
    val results          = Seq("k1@2=b", "k1@3=c").map(append(table, _))
    for (result <- results) {
      val failure = result.notes.serviceFailure.getOrElse(fail(result.toString))
      assert(failure.contains("COMPACTION_BLOCKED") && failure.contains(running.instant) && failure.contains("The write is committed"))
    }
    upsert(table, Notation.changes("k1@4=d"), inline)
    frame(Notation.changes("k2@2=b")).createOrReplaceTempView("rows_of_k2")
    val pairs = inline.map { case (key, value) => s"'$key', '$value'" }.mkString(", ")
    val call  = s"CALL write_rows(source => 'rows_of_k2', path => '$table', operation => 'upsert', options => map($pairs))"
    val row   = spark.sql(call).collect().head
    assert(row.getAs[String]("service_failure").contains("COMPACTION_BLOCKED") && row.getAs[Seq[String]]("warnings").isEmpty)
    assert(rows(table) == Seq("k1@4=d", "k2@2=b"))
    running.rollback()
    assert(append(table, "k1@5=e").notes.serviceFailure.isEmpty)
    assert(OpenTable.load(table).view.slices.forall(_.logs.isEmpty))
  }

  test("options without effect, added and widened columns are in the log's line of a write, each once") {
    val ignored = Seq("a", "b").map(IgnoredOption(_, "nothing happens"))
    val notes   = WriteNotes(ignoredOptions = ignored, columnsAdded = Seq("c"), columnsWidened = Seq("d: int -> bigint"))
    assert(notes.sentences ==
      Seq("Options without effect: a, b (nothing happens).", "Columns added: c.", "Columns widened: d: int -> bigint."))
  }

  test("where the write's options ask for it, the failure is an error that says the write is committed, and as which instant") {
    val (table, running) = blocked("t")
    val error            = intercept[MerganserException](append(table, "k1@2=b", asError))
    val written          = new DirectTable(table, bucketed = true).timeline.completed.last.requested
    assert(error.condition == "WRITE_COMMITTED_SERVICE_FAILED" && error.parameters("instant") == written)
    assert(error.getMessage.contains("is committed") && error.getMessage.contains(running.instant))
    assert(!error.getMessage.contains("run the write again"))
    assert(rows(table) == Seq("k1@2=b", "k2@1=a"))
    running.rollback()
  }
}
