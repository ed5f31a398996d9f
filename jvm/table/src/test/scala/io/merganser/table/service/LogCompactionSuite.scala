package io.merganser.table.service

import io.merganser.ExtensiveTest
import io.merganser.merge.Notation
import io.merganser.table.{DirectTable, FaultyFileSystem, Leftovers, TableSuite}
import io.merganser.table.commit.{Creation, ScheduledCompactions, Transaction}
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.{ArchiveConfig, CleaningConfig, CleaningPolicy}
import io.merganser.table.slice.FileSlice
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{Action, CommitMetadata, Instant, InstantState, OperationType}

/** Log compactions: on the timeline, in the order of versions, beside writes, compactions and cleans. */
final class LogCompactionSuite extends TableSuite {

  private val older = Map("hoodie.table.version" -> "6", "hoodie.timeline.layout.version" -> "1")

  private def created(
      eventTime: Boolean = false,
      properties: Map[String, String] = Map.empty,
      in: Storage = storage
  ): DirectTable = {
    Creation.create(in, DirectTable.properties(mergeOnRead = true, eventTime) ++ properties)
    new DirectTable(in, bucketed = true)
  }

  private def upsert(table: DirectTable, notation: String): String = {
    table.upsert(Notation.changes(notation))
    table.timeline.completed.last.requested
  }

  private def shown(table: DirectTable): String = table.rows.map(_.toString).sorted.mkString(" ")

  private def logs(table: DirectTable): Seq[FileSlice] = view(table.storage).slices.filter(_.logs.nonEmpty)

  private def last(table: DirectTable): Instant = table.timeline.completed.last

  for (version <- Seq(6, 8, 9))
    test(s"version $version: a log compaction commits one log in place of the others, which stay") {
      val table = created(properties = if (version == 6) older else Map("hoodie.table.version" -> version.toString))
      upsert(table, "k1@1=a k3@1=a")
      val ids     = Seq("k1@2=b", "k3@3=c", "k1@4=d k3@4-").map(upsert(table, _))
      val rows    = shown(table)
      val instant = table.scheduleLogCompaction().get
      val file    = s"${TableConfig.load(storage).timelineFolder}/${instant.requested}.logcompaction"
      assert(storage.exists(s"$file.requested") && shown(table) == rows)
      val plan = table.timeline.compactionPlan(instant)
      assert(plan.operations.map(_.logFiles.size).max >= 2)
      table.runLogCompactions()
      val done = last(table)
      assert(done.requested == instant.requested && done.action == Action.DeltaCommit)
      assert(storage.exists(s"$file.inflight"))
      assert(table.timeline.metadata(done).operationType == OperationType.LogCompact)
      assert(shown(table) == rows && Leftovers.of(storage).isEmpty)
      val compacted = logs(table).flatMap(_.logs).filter(log => done.requested == log.instant || version == 6)
      assert(compacted.nonEmpty && ids.forall(id => table.timeline.isCompleted(id)))
      assert(table.scheduleLogCompaction().isEmpty, "nothing is left to merge")
      upsert(table, "k1@5=e")
      assert(shown(table) == "k1@5=e")
      table.compactLogs()
      assert(shown(table) == "k1@5=e" && table.timeline.metadata(last(table)).operationType == OperationType.LogCompact)
      table.compact()
      assert(shown(table) == "k1@5=e" && table.readOptimizedRows.map(_.toString) == Seq("k1@5=e"))
    }

  test("a write committed during a log compaction comes after it, even if it began before") {
    val table = created()
    upsert(table, "k1@1=a k3@1=a")
    upsert(table, "k1@2=b k3@2=b")
    upsert(table, "k1@3=c k3@3=c")
    val before  = table.begun(Notation.changes("k1@4=before"))
    val instant = table.scheduleLogCompaction().get
    val run     = table.beginLogCompaction(instant)
    before.commit()
    upsert(table, "k3@5=during")
    val rows = shown(table)
    assert(rows == "k1@4=before k3@5=during")
    run.commit()
    assert(shown(table) == rows && table.timeline.pending.isEmpty)
    // The next one replaces the first one's log and what came after it.
    table.compactLogs()
    assert(shown(table) == rows)
    upsert(table, "k1@6=last")
    assert(shown(table) == "k1@6=last k3@5=during")
    table.compact()
    assert(shown(table) == "k1@6=last k3@5=during")
  }

  test("a log compaction does not commit after a compaction was scheduled, and its plan becomes useless") {
    val table = created()
    upsert(table, "k1@1=a")
    upsert(table, "k1@2=b")
    upsert(table, "k1@3=c")
    val instant = table.scheduleLogCompaction().get
    val run     = table.beginLogCompaction(instant)
    table.scheduleCompaction()
    assert(conditionOf(run.commit()) == "COMPACTION_CONFLICT")
    assert(table.timeline.pendingLogCompactions.map(_.state) == Seq(InstantState.Requested))
    upsert(table, "k1@4=d")
    table.runCompactions()
    table.runLogCompactions()
    assert(shown(table) == "k1@4=d" && Leftovers.of(storage).isEmpty)
  }

  test("a log compaction skips groups of other plans, and a compaction takes groups of a log compaction") {
    val table = created()
    upsert(table, "k1@1=a")
    upsert(table, "k1@2=b")
    upsert(table, "k1@3=c")
    assert(table.scheduleLogCompaction().isDefined && table.scheduleLogCompaction().isEmpty)
    assert(table.scheduleCompaction().isDefined)
    val other = created(in = Storage(folder.resolve("other").toUri.toString, storage.conf))
    upsert(other, "k1@1=a")
    upsert(other, "k1@2=b")
    upsert(other, "k1@3=c")
    assert(other.scheduleCompaction().isDefined && other.scheduleLogCompaction().isEmpty)
  }

  test("a dead log compaction is taken over with its files removed, and a live one is left alone") {
    val table = created()
    upsert(table, "k1@1=a")
    upsert(table, "k1@2=b")
    upsert(table, "k1@3=c")
    val instant = table.scheduleLogCompaction().get
    val run     = table.beginLogCompaction(instant)
    val files   = names(storage, "p1").count(_.contains(instant.requested))
    assert(files == 1)
    assert(conditionOf(ScheduledCompactions.begin(storage, TableConfig.load(storage),
        instant)) == "COMPACTION_CONFLICT")
    run.transaction.abandon(new IllegalStateException("a task failed"))
    assert(names(storage, "p1").forall(!_.contains(instant.requested)))
    table.runLogCompactions()
    assert(shown(table) == "k1@3=c" && Leftovers.of(storage).isEmpty)
    assert(names(storage, "p1").count(_.contains(instant.requested)) == 1)
  }

  for (version <- Seq(6, 9))
    test(s"version $version: a log compaction leaves no file of a run that stopped at any change", ExtensiveTest) {
      def prepared(name: String) = {
        val table = created(properties = if (version == 6) older else Map.empty, in = faulty(name))
        for (i <- 1 to 3) upsert(table, s"k1@$i=v$i")
        table.scheduleLogCompaction()
        table
      }
      val counted    = prepared("counted")
      val operations = FaultyFileSystem.recorded(counted.runLogCompactions()).zipWithIndex
      val changes    = operations.collect { case (what, i) if FaultyFileSystem.isChange(what) => i + 1 }
      assert(changes.size > 5)
      for (n <- changes) {
        val table       = prepared(s"dead-$n")
        val (ended, at) = FaultyFileSystem.failing(n, FaultyFileSystem.Dead)(table.runLogCompactions())
        Leftovers.age(table.storage)
        upsert(table, "k1@4=v4")
        table.runLogCompactions()
        assert(shown(table) == "k1@4=v4" && Leftovers.of(table.storage).isEmpty, s"$at, $ended")
      }
    }

  test("time travel is unchanged by log compactions, and a clean deletes the replaced files with their slice") {
    val table = created()
    val first = upsert(table, "k1@1=a k3@1=a")
    val seen = (2 to 6).map { i =>
      val instant = upsert(table, s"k1@$i=v$i")
      val rows    = shown(table)
      if (i % 2 == 0) table.compactLogs()
      instant -> rows
    }
    def check(): Unit = ((first -> "k1@1=a k3@1=a") +: seen).foreach { case (instant, rows) =>
      assert(table.rowsAsOf(instant).map(_.toString).sorted.mkString(" ") == rows, instant)
    }
    check()
    def clean() = {
      val how = CleaningConfig(automatic = true, CleaningPolicy.Commits(1), triggerCommits = 1, isIncremental = true)
      new Cleaning(storage, TableConfig.load(storage), how).automatic().map(_.filesDeleted).sum
    }
    assert(clean() == 0)
    check()
    table.compact()
    check()
    upsert(table, "k1@7=v7")
    upsert(table, "k1@8=v8")
    assert(clean() > 0 && shown(table) == "k1@8=v8 k3@1=a")
  }

  test("a reader opens the log of a log compaction and none of those that it replaces") {
    val table = created(properties = Map("hoodie.table.initial.version" -> "9"), in = faulty("t"))
    upsert(table, "k1@1=a")
    (2 to 6).foreach(i => upsert(table, s"k1@$i=v$i"))
    def opened() =
      FaultyFileSystem.recorded(assert(shown(table) == "k1@6=v6")).filter(_.matches("open .*\\.log\\..*")).distinct.size
    val before = opened()
    table.compactLogs()
    assert(before == 5 && opened() == 1)
    upsert(table, "k1@7=v6")
    val files = FaultyFileSystem.recorded(table.rows).filter(_.matches("open .*\\.log\\..*")).distinct
    assert(files.size == 2)
  }

  test("a log compaction beside an overwrite of its slice is not reported as lost once the overwrite is archived") {
    val table = created(properties = Map("hoodie.table.initial.version" -> "9"))
    (1 to 3).foreach(i => upsert(table, s"k1@$i=v$i"))
    val groups    = view(storage).slices.map(_.group)
    val replaced  = groups.groupBy(_.partitionPath).map { case (path, some) => path -> some.map(_.fileId) }
    val overwrite = Transaction.begin(storage, TableConfig.load(storage), Action.ReplaceCommit)
    table.compactLogs()
    overwrite.commit(CommitMetadata(OperationType.DeletePartition, Map.empty, Map.empty, replaced), groups.toSet)
    (4 to 5).foreach(i => upsert(table, s"k1@$i=v$i"))
    val how = CleaningConfig(automatic = true, CleaningPolicy.Versions(1), triggerCommits = 1, isIncremental = true)
    assert(new Cleaning(storage, TableConfig.load(storage), how).automatic().map(_.filesDeleted).sum == 4)
    new Archiving(storage, TableConfig.load(storage),
      ArchiveConfig(minCommits = 3, maxCommits = 4, deltaCommits = 1)).run()
    val left = table.timeline.completed.map(table.timeline.metadata(_).operationType)
    assert(left == Seq(OperationType.LogCompact, OperationType.Upsert, OperationType.Upsert))
    assert(shown(table) == "k1@5=v5")
  }

  test("a log compaction keeps the commit time and the sequence number of rows") {
    val table = created(eventTime = true)
    upsert(table, "k1@1=a k3@1=a")
    upsert(table, "k1@9=b")
    upsert(table, "k1@5=late k3@2=c")
    def meta() = table.commitColumns
    val before = meta()
    table.compactLogs()
    assert(meta() == before && before.map(_._2).distinct.size == 2)
  }
}
