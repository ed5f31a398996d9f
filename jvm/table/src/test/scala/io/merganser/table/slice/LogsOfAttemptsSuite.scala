package io.merganser.table.slice

import io.merganser.merge.Notation
import io.merganser.merge.columns.DeclaredRule
import io.merganser.table.{DirectTable, TableSuite}
import io.merganser.table.commit.{CompactionSchedule, Creation}
import io.merganser.table.file.{FileNames, LogFile}
import io.merganser.table.options.Options
import io.merganser.table.properties.TableConfig
import io.merganser.table.service.{Archiving, OrphanFiles, Restoring}
import io.merganser.table.settings.ArchiveConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{CommitMetadataJson, CompactionPlan}

import java.nio.charset.StandardCharsets.UTF_8

/**
 * Two attempts of a task have each left a log of one write, with the same rows: those of the log that the commit names
 * count, once. The rule adds, so that a version that is merged twice is seen.
 */
final class LogsOfAttemptsSuite extends TableSuite {
  import LogsOfAttemptsSuite._

  private def created(kind: Kind, in: Storage = storage): DirectTable = {
    Creation.create(in, DirectTable.properties(mergeOnRead = true, eventTime = false) ++ kind.properties ++ Sum)
    new DirectTable(in, bucketed = true)
  }

  private def shown(table: DirectTable): String = table.rows.map(_.toString).sorted.mkString(" ")

  private def logs(s: Storage): Seq[LogFile] =
    s.list("p1").flatMap(f => FileNames.parseLog("p1", f.getPath.getName, f.getLen))

  /** The log of the newest write. */
  private def newest(table: DirectTable): LogFile = {
    val path = table.timeline.metadata(table.timeline.completed.last).allStats.filter(_.isLogFile).last.path
    logs(table.storage).find(_.path == path).get
  }

  /** A copy of that log as another attempt leaves it, which the commit does not name. */
  private def leaveLog(table: DirectTable): String = {
    val log  = newest(table)
    val late = FileNames.path("p1", FileNames.log(log.fileId, log.instant, log.version, "0-0-9"))
    table.storage.createNew(late, table.storage.readUnverified(log.path))
    late
  }

  /** A row in a base file, and two logs of the same key. An attempt of the second log's task has left one, too. */
  private def written(kind: Kind): (DirectTable, String) = {
    val table = created(kind)
    Seq("k1@1=a", "k1@10=b", "k1@100=c").foreach(upsert(table, _))
    (table, leaveLog(table))
  }

  private def upsert(table: DirectTable, notation: String): Unit = { table.upsert(Notation.changes(notation)); () }

  for (kind <- Kinds) {
    test(s"$kind: snapshots, time travel, changes, explanations and checks read only the committed attempt's log") {
      val (table, _) = written(kind)
      assert(shown(table) == "k1@111=c")
      val times = table.timeline.completed.map(_.requested)
      upsert(table, "k1@1000=d")
      assert(shown(table) == "k1@1111=d")
      assert(times.map(table.rowsAsOf(_).mkString(" ")) == Seq("k1@1=a", "k1@11=b", "k1@111=c"))
      assert(table.imagesByCommit.map(_._2.map { case (before, after) =>
        s"${before.getOrElse("-")} > ${after.getOrElse("-")}"
      }.mkString(", ")) == Seq("- > k1@1=a", "k1@1=a > k1@11=b", "k1@11=b > k1@111=c", "k1@111=c > k1@1111=d"))
      assert(table.explainedRows(Seq("k1")) == table.shownRows && table.explained("k1").flatMap(_.steps).size == 4)
      assert(table.findings.isEmpty)
    }

    test(s"$kind: a compaction plans and reads only the committed attempt's log") {
      val (table, late) = written(kind)
      table.scheduleCompaction()
      storage.delete(late)
      table.runCompactions()
      assert(shown(table) == "k1@111=c" && table.readOptimizedRows.map(_.toString) == Seq("k1@111=c"))
      upsert(table, "k1@1000=d")
      assert(shown(table) == "k1@1111=d")
      assert(table.explainedRows(Seq("k1")) == table.shownRows && table.findings.isEmpty)
    }

    for (isGone <- Seq(false, true))
      test(
        s"$kind: another engine's plan with both logs is compacted from the committed one, " +
          s"${if (isGone) "also once the other one is gone" else "while the other one is there"}") {
        val (table, late) = written(kind)
        val slice         = view(storage).slices.head
        CompactionSchedule.schedule(storage, TableConfig.load(storage))(_ =>
          Some(CompactionPlan(Seq(CompactionPlan.operation(slice.group, slice.baseInstant, slice.base,
                  logs(storage))))))
        if (isGone) storage.delete(late)
        table.runCompactions()
        assert(shown(table) == "k1@111=c" && table.readOptimizedRows.map(_.toString) == Seq("k1@111=c"))
      }

    test(s"$kind: a missing planned log is an error, even if another attempt's log is there") {
      val (table, _) = written(kind)
      table.scheduleCompaction()
      storage.delete(newest(table).path)
      assert(conditionOf(table.runCompactions()) == "SLICE_FILE_MISSING")
    }

    test(s"$kind: a log compaction reads only the committed attempt's log, and of its own logs one") {
      val (table, _) = written(kind)
      table.compactLogs()
      assert(shown(table) == "k1@111=c" && table.timeline.pending.isEmpty)
      leaveLog(table)
      assert(shown(table) == "k1@111=c")
      upsert(table, "k1@1000=d")
      assert(shown(table) == "k1@1111=d")
      table.compact()
      assert(shown(table) == "k1@1111=d" && table.explainedRows(Seq("k1")) == table.shownRows)
    }

    test(s"$kind: the committed attempt's log is found in the history once the write is archived") {
      val (table, _) = written(kind)
      val write      = table.timeline.completed.last.requested
      (1 to 6).foreach(i => upsert(table, s"k0@$i=x"))
      new Archiving(storage, TableConfig.load(storage), ArchiveConfig(minCommits = 2, maxCommits = 3)).run()
      assert(!table.timeline.completed.map(_.requested).contains(write))
      assert(shown(table) == "k0@21=x k1@111=c")
      table.compact()
      assert(shown(table) == "k0@21=x k1@111=c")
    }

    test(s"$kind: the other attempt's log is an orphan and is removed by a restore to an earlier time") {
      val (table, late) = written(kind)
      val orphans       = new OrphanFiles(storage, TableConfig.load(storage))
      assert(orphans.find(Long.MaxValue).map(_.path) == Seq(late))
      new Restoring(storage, TableConfig.load(storage)).rollback(None)
      assert(shown(table) == "k1@11=b" && logs(storage).size == 1)
      upsert(table, "k1@100=c")
      val again = leaveLog(table)
      assert(orphans.remove(Long.MaxValue).map(_.path) == Seq(again))
      assert(shown(table) == "k1@111=c" && logs(storage).size == 2)
    }
  }

  test("version 6: only appended blocks of a later write are read from the other attempt's log") {
    val (table, late) = written(Kinds.head)
    upsert(table, "k1@1000=d")
    val (s, log) = (table.storage, newest(table))
    val bytes    = s.readUnverified(late) ++ s.readUnverified(log.path)
    val commit   = s".hoodie/${table.timeline.completed.last.requested}.deltacommit"
    val text     = s.readText(commit).replace(log.name, late.stripPrefix("p1/"))
    Seq(late, log.path, commit).foreach(s.delete(_))
    s.createNew(late, bytes)
    s.createNew(commit, text.getBytes(UTF_8))
    assert(shown(table) == "k1@1111=d" && table.explainedRows(Seq("k1")) == table.shownRows)
    table.compact()
    assert(shown(table) == "k1@1111=d" && table.readOptimizedRows.map(_.toString) == Seq("k1@1111=d"))
  }

  test("version 6: a log named by the commit without rows, as Hudi names failed attempts, is ignored") {
    val (table, late) = written(Kinds.head)
    val commit        = table.timeline.completed.last
    val metadata      = table.timeline.metadata(commit)
    val left =
      metadata.allStats.head.copy(path = late, numWrites = 0, numInserts = 0, numUpdateWrites = 0, numDeletes = 0)
    val file = s".hoodie/${commit.requested}.deltacommit"
    storage.delete(file)
    storage.createNew(file,
      CommitMetadataJson.encode(
        metadata.copy(stats = metadata.stats.map { case (p, stats) => p -> (stats :+ left) }), isReplace = false))
    assert(table.timeline.metadata(table.timeline.completed.last).allStats.map(_.path).contains(late))
    assert(shown(table) == "k1@111=c")
    table.compact()
    assert(shown(table) == "k1@111=c")
  }

  test("version 6: the other attempt's log is read after a rollback, as it may hold the revoking block") {
    val (table, late) = written(Kinds.head)
    def logsOfSlice   = view(storage).slices.head.logs.map(_.path)
    assert(!logsOfSlice.contains(late))
    instantFile(storage, s"${table.timeline.completed.last.requested}9.rollback")
    assert(logsOfSlice.contains(late) && shown(table) == "k1@111=c")
  }

  test("the history names the committed one of two base files of an archived write") {
    val table = created(Kinds(2))
    upsert(table, "k1@1=a")
    val base = view(storage).slices.flatMap(_.base).head
    val late = base.path.replace("_0-0-0_", "_0-0-9_")
    upsert(table, "k1@10=b")
    (1 to 6).foreach(i => upsert(table, s"k0@$i=x"))
    new Archiving(storage, TableConfig.load(storage), ArchiveConfig(minCommits = 2, maxCommits = 3)).run()
    storage.createNew(late, storage.readUnverified(base.path))
    assert(view(storage).slices("p1").flatMap(_.base).map(_.path) == Seq(base.path))
  }
}

private object LogsOfAttemptsSuite {

  final case class Kind(name: String, properties: Map[String, String]) {
    override def toString: String = name
  }

  val Kinds: Seq[Kind] = Seq(
    Kind("version 6", Map("hoodie.table.version" -> "6", "hoodie.timeline.layout.version" -> "1")),
    Kind("version 8", Map("hoodie.table.version" -> "8", "hoodie.table.initial.version" -> "8")),
    Kind("version 9", Map("hoodie.table.initial.version" -> "9")),
    Kind("version 9, upgraded", Map("hoodie.table.initial.version" -> "6"))
  )

  val Sum: Map[String, String] = {
    val rule =
      DeclaredRule.parse("""{"version":1,"default":"last","columns":{"ts":"sum"}}""").getOrElse(sys.error("no rule"))
    Map("hoodie.record.merge.mode" -> "CUSTOM", "hoodie.record.merge.strategy.id" -> rule.strategyId,
      Options.RuleText.key -> rule.text)
  }
}
