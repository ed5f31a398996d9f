package io.merganser.spark.service

import io.merganser.ExtensiveTest
import io.merganser.merge.buffer.MergeCounts
import io.merganser.merge.{MerganserException, Notation}
import io.merganser.spark.LocalSession
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.{TableWrite, WriteNotes, WriteResult}
import io.merganser.table.{DirectTable, TableSuite}
import io.merganser.table.commit.Transaction
import io.merganser.table.file.LogFile
import io.merganser.table.options.{IgnoredOption, WriteOperation}
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.FileSlice
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{Action, PlannedClustering, WriteStat}

import scala.util.Try

// Guarantee (Failures): A committed write has succeeded: a later failure is in its result and in the log, and no
//   message asks to write again. Also:
//   test_a_statement_with_a_failed_inline_compaction_is_committed_and_reports_it_on_request,
//   test_a_replaced_table_with_a_failed_inline_compaction_has_the_new_rows,
//   test_a_failed_inline_compaction_leaves_the_write_committed_and_is_reported
/** What follows a commit fails, and the write has succeeded nevertheless. */
final class AfterCommitSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2]"

  private val inline = Map("hoodie.compact.inline" -> "true", "hoodie.compact.inline.max.delta.commits" -> "1",
    "hoodie.clean.failed.writes.policy" -> "LAZY")
  private val asError = "hoodie.fail.writes.on.inline.table.service.exception" -> "true"

  /** Version 6: no compaction beside another write that runs. */
  private def blocked(name: String): (Storage, Transaction) = {
    val table = Storage(folder.resolve(name).toUri.toString, spark.sparkContext.hadoopConfiguration)
    upsert(table, Notation.changes("k1@1=a k2@1=a"),
      options(mergeOnRead = true, bucketed = true) + ("hoodie.write.table.version" -> "6"))
    val running = Transaction.begin(table, TableConfig.load(table), Action.DeltaCommit,
      options = Transaction.Options(heartbeatMs = Some(60000)))
    (table, running)
  }

  private def append(table: Storage, changes: String, more: (String, String)*): WriteResult =
    FrameWrite.append(spark, OpenTable.load(table), inline ++ more, frame(Notation.changes(changes)))

  test("a write whose inline compaction fails is committed, and its result reports the failure") {
    val (table, running) = blocked("t")
    val results          = Seq("k1@2=b", "k1@3=c").map(append(table, _))
    for (result <- results) {
      val failure = result.notes.serviceFailure.getOrElse(fail(result.toString))
      assert(failure.contains("COMPACTION_BLOCKED") && failure.contains(running.instant) && failure.contains(
        "The write is committed"))
    }
    upsert(table, Notation.changes("k1@4=d"), inline)
    frame(Notation.changes("k2@2=b")).createOrReplaceTempView("rows_of_k2")
    val pairs = inline.map { case (key, value) => s"'$key', '$value'" }.mkString(", ")
    val call =
      s"CALL write_rows(source => 'rows_of_k2', path => '$table', operation => 'upsert', options => map($pairs))"
    val row = spark.sql(call).collect().head
    assert(
      row.getAs[String]("service_failure").contains("COMPACTION_BLOCKED") && row.getAs[Seq[String]]("warnings").isEmpty)
    assert(rows(table) == Seq("k1@4=d", "k2@2=b"))
    running.rollback()
    assert(append(table, "k1@5=e").notes.serviceFailure.isEmpty)
    assert(OpenTable.load(table).view.slices.forall(_.logs.isEmpty))
  }

  test("a compaction that is due is scheduled after a write and left to others, of the slices that are configured") {
    val table = Storage(folder.resolve("t").toUri.toString, spark.sparkContext.hadoopConfiguration)
    val onlyP1 = Map("hoodie.compaction.strategy" -> "PartitionRegexBasedCompactionStrategy",
      "hoodie.compaction.partition.path.regex" -> "p1")
    val schedule = onlyP1 ++ Map("hoodie.compact.schedule.inline" -> "true",
      "hoodie.compact.inline.max.delta.commits" -> "2")
    upsert(table, Notation.changes("k1@1=a k2@1=a"), options(mergeOnRead = true, bucketed = true) ++ schedule)
    assert(OpenTable.load(table).timeline.pendingCompactions.isEmpty)
    upsert(table, Notation.changes("k1@2=b k2@2=b"), schedule)
    val planned = OpenTable.load(table).timeline
    assert(planned.pendingCompactions.map(planned.compactionPlan(_).operations.map(_.partitionPath)) == Seq(Seq("p1")))
    upsert(table, Notation.changes("k1@3=c"), schedule)
    spark.sql(s"CALL run_compaction(op => 'run', path => '$table')").collect()
    assert(rows(table) == Seq("k1@3=c", "k2@2=b"))
    val compacted = OpenTable.load(table).view.slices.filter(_.baseInstant == planned.pendingCompactions.head.requested)
    assert(compacted.map(_.partitionPath) == Seq("p1"))
    val both = schedule + ("hoodie.compact.inline" -> "true")
    assert(intercept[MerganserException](upsert(table, Notation.changes("k1@4=d"), both)).condition ==
      "OPTION_CONFLICT")
  }

  test("the log of a write lists ignored options and added and widened columns once") {
    val ignored = Seq("a", "b").map(IgnoredOption(_, "nothing happens"))
    val notes = WriteNotes(ignoredOptions = ignored, columnsAdded = Seq("c"), columnsWidened = Seq("d: int -> bigint"))
    assert(notes.sentences ==
      Seq("Options without effect: a, b (nothing happens).", "Columns added: c.", "Columns widened: d: int -> bigint."))
  }

  test("a failed inline compaction raises, on request, an error with the committed instant") {
    val (table, running) = blocked("t")
    val error            = intercept[MerganserException](append(table, "k1@2=b", asError))
    val written          = new DirectTable(table, bucketed = true).timeline.completed.last.requested
    assert(error.condition == "WRITE_COMMITTED_SERVICE_FAILED" && error.parameters("instant") == written)
    assert(error.getMessage.contains("is committed") && error.getMessage.contains(running.instant))
    assert(!error.getMessage.contains("run the write again"))
    assert(rows(table) == Seq("k1@2=b", "k2@1=a"))
    running.rollback()
  }

  test("concurrent writers that compact inline are all reported as committed and lose no row") {
    val table = Storage(folder.resolve("t").toUri.toString, spark.sparkContext.hadoopConfiguration)
    val all = options(mergeOnRead = true, bucketed = true) ++ inline - "hoodie.clean.failed.writes.policy" +
      ("hoodie.write.concurrency.mode" -> "OPTIMISTIC_CONCURRENCY_CONTROL")
    upsert(table, Notation.changes("k1@1=a k2@1=a"), all)
    val outcomes = new java.util.concurrent.ConcurrentLinkedQueue[Try[Unit]]
    val threads = Seq("k1", "k2").map { key =>
      val session = spark.newSession()
      new Thread(() =>
        (2 to 5).foreach(i => outcomes.add(Try(upsert(table, Notation.changes(s"$key@$i=b"), all, session)))))
    }
    threads.foreach(_.start())
    threads.foreach(_.join(120000))
    outcomes.forEach(outcome => outcome.get)
    assert(outcomes.size == 8 && rows(table) == Seq("k1@5=b", "k2@5=b"))
    assert(new DirectTable(table, bucketed = true).timeline.completed.count(_.action == Action.DeltaCommit) == 9)
  }

  test("a write with a transaction compacts inline as any other") {
    val table = Storage(folder.resolve("t").toUri.toString, spark.sparkContext.hadoopConfiguration)
    upsert(table, Notation.changes("k1@1=a"), options(mergeOnRead = true, bucketed = true))
    val result = append(table, "k1@2=b", asError, "txnAppId" -> "job", "txnVersion" -> "1")
    assert(!result.notes.isRepetition && OpenTable.load(table).view.slices.forall(_.logs.isEmpty))
    assert(append(table, "k1@2=b", asError, "txnAppId" -> "job", "txnVersion" -> "1").notes.isRepetition)
    assert(rows(table) == Seq("k1@2=b"))
  }

  test("writes compact inline if asynchronous compaction is disabled, unless an option disables it") {
    val table  = Storage(folder.resolve("t").toUri.toString, spark.sparkContext.hadoopConfiguration)
    val all    = options(mergeOnRead = true, bucketed = true) + ("hoodie.compact.inline.max.delta.commits" -> "1")
    val off    = "hoodie.datasource.compaction.async.enable" -> "false"
    def logs() = OpenTable.load(table).view.slices.map(_.logs.size).sum
    upsert(table, Notation.changes("k1@1=a"), all)
    upsert(table, Notation.changes("k1@2=b"), all)
    assert(logs() == 1)
    upsert(table, Notation.changes("k1@3=c"), all + off + ("hoodie.compact.inline" -> "false"))
    assert(logs() == 2)
    upsert(table, Notation.changes("k1@4=d"), all + off)
    assert(logs() == 0 && rows(table) == Seq("k1@4=d"))
  }

  test("a write to a slice of very many logs compacts it or, if compactions are configured, reports it",
    ExtensiveTest) {
    val table = Storage(folder.resolve("t").toUri.toString, spark.sparkContext.hadoopConfiguration)
    upsert(table, Notation.changes("k1@1=a k2@1=a"), options(mergeOnRead = true, bucketed = true))
    def logs = OpenTable.load(table).view.slices.map(_.logs.size).max
    def write(change: String, more: (String, String)*) =
      FrameWrite.append(spark, OpenTable.load(table), Map(more: _*), frame(Notation.changes(change))).notes
    val direct = new DirectTable(table, bucketed = true)
    (2 to TableWrite.ManyLogs).foreach(ts => direct.upsert(Notation.changes(s"k1@$ts=x")))
    assert(logs == TableWrite.ManyLogs - 1)
    assert(write("k1@200=y") == WriteNotes() && logs == TableWrite.ManyLogs)
    val noted = write("k1@201=z", "hoodie.compact.inline" -> "false")
    assert(
      noted.warnings.exists(_.contains(s"${TableWrite.ManyLogs + 1} log files")) && logs == TableWrite.ManyLogs + 1)
    val never = write("k1@202=r", "hoodie.compaction.strategy" -> "PartitionRegexBasedCompactionStrategy",
      "hoodie.compaction.partition.path.regex" -> "none")
    assert(never.serviceFailure.isEmpty && logs == TableWrite.ManyLogs + 2)
    assert(never.warnings.exists(w =>
        w.contains(s"${TableWrite.ManyLogs + 2} log files") && w.contains(
          "hoodie.compaction.strategy=PartitionRegexBasedCompactionStrategy never takes them")))
    assert(write("k1@203=q").warnings.isEmpty && logs == 0)
    assert(rows(table) == Seq("k1@203=q", "k2@1=a"))
  }

  test("a default compaction that running writes block is skipped with a warning") {
    val (table, running) = blocked("t")
    val settings = WriteConfig.parse(Map("hoodie.clean.failed.writes.policy" -> "LAZY"), Map.empty,
      TableConfig.load(table), needsRule = false)
    val opened = OpenTable.load(table)
    val notes  = WriteNotes(manyLogs = Some(opened.view.slices.head.group))
    val result = WriteResult("20260101000000000", WriteOperation.Upsert, MergeCounts(), 1, 1L, 1L, 1L, notes)
    val done   = AfterCommit.run(ServiceScope(spark, opened, settings), result).notes
    assert(done.serviceFailure.isEmpty)
    assert(done.warnings.exists(w => w.contains("was skipped: [COMPACTION_BLOCKED]") && w.contains(running.instant)))
    running.rollback()
  }

  test("the report of very many logs names the file group and the setting that compacts it") {
    def slice(fileId: String, logs: Int) = FileSlice("p", fileId, "1", None,
      (1 to logs).map(i => LogFile("p", fileId, s"$i", 1, None, s".$fileId-$i", 1L)))
    val slices = Seq(slice("a", TableWrite.ManyLogs - 1), slice("b", TableWrite.ManyLogs), slice("c", 5000))
    def warning(written: WriteStat) = TableWrite.manyLogs(slices, Seq(written))
    assert(warning(WriteStat("a", "p/.a", partitionPath = "p", logVersion = Some(1))).isEmpty)
    assert(warning(WriteStat("c", "p/c", partitionPath = "p")).isEmpty)
    val sentence = warning(WriteStat("b", "p/.b", partitionPath = "p", logVersion = Some(1))).getOrElse(fail())
    assert(sentence.contains(s"'b' of partition 'p' has ${TableWrite.ManyLogs + 1} log files"))
    assert(sentence.contains("hoodie.compact.inline=true"))
  }

  for (mergeOnRead <- Seq(false, true); operation <- Seq("upsert", "insert"))
    test(
      s"${if (mergeOnRead) "merge on read" else "copy on write"}: new keys of an $operation go beside groups " +
        "that a planned clustering has") {
      val table = Storage(folder.resolve("t").toUri.toString, spark.sparkContext.hadoopConfiguration)
      upsert(table, Notation.changes("k1@1=a k2@1=a"), options(mergeOnRead, bucketed = false))
      val clustered = OpenTable.load(table).view.slices
      PlannedClustering.of(table, clustered)
      FrameWrite.append(spark, OpenTable.load(table), Map("hoodie.datasource.write.operation" -> operation),
        frame(Notation.changes("k3@1=b k4@1=b")))
      val now = OpenTable.load(table).view.slices
      assert(clustered.forall(now.contains) && now.size == 4)
      assert(rows(table) == Seq("k1@1=a", "k2@1=a", "k3@1=b", "k4@1=b"))
    }
}
