package io.merganser.table.service

import java.io.File
import java.nio.file.Paths

import io.merganser.merge.MerganserException
import io.merganser.table.{FaultyFileSystem, HadoopDefaults, TableSuite}
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.ArchiveConfig
import io.merganser.table.slice.TimeTravel
import io.merganser.table.storage.Storage
import io.merganser.table.timeline._

import scala.util.Try

/** What is reported of each action, by its metadata. */
final class TableHistorySuite extends TableSuite with CleaningFixture {

  private def history(s: Storage, most: Int = Int.MaxValue, archived: Boolean = false): Seq[ActionSummary] = {
    val config = TableConfig.load(s)
    new TableHistory(s, config, Timeline.load(s, config)).newestFirst(most, archived).take(most).toList
  }

  private def one(s: Storage, action: Action): ActionSummary = history(s).filter(_.instant.action == action) match {
    case Seq(found) => found
    case others     => fail(s"not one $action: $others")
  }

  /** Compares what is reported as readable with reads. */
  private def assertReadable(s: Storage, archived: Boolean = false): Seq[(String, Boolean)] = {
    val config = TableConfig.load(s)
    val writes = history(s, archived = archived).filter(h => h.instant.isCompleted && h.instant.action.isWrite)
    writes.flatMap { h =>
      val travel = new TimeTravel(s, config, Timeline.load(s, config))
      val reads  = Try(travel.to(h.instant.requested)).isSuccess
      h.isReadable.foreach(reported => assert(reported == reads, s"$h"))
      h.isReadable.map(h.instant.requested -> _)
    }
  }

  private def times(all: Seq[ActionSummary]): Seq[String] = short(all.map(_.instant.requested))

  for (version <- Seq(6, 8, 9)) test(
    s"version $version: the history lists writes, a clean and a savepoint, the " +
      "newest first") {
    val s = faulty("t")
    table(version, s)
    for (i <- 1 to 5) write(s, s"${i}00", if (i == 2) Seq("a", "b") else Seq("a"))
    write(s, "600", Seq("c"), action = "replacecommit", replaced = Seq("b"), operation = OperationType.InsertOverwrite)
    if (version < 8) completeInOrder(s)
    val before = history(s)
    assert(times(before) == Seq("600", "500", "400", "300", "200", "100"))
    assert(before.forall(h => h.isReadable.contains(true) && h.partitions.contains(1) && h.engine.isEmpty))
    assert(before.flatMap(_.elapsedMs) == Seq.fill(6)(if (version < 8) 500L else 5L))
    assert(before.head.requestedMs.contains(java.time.Instant.parse("2020-01-01T00:00:00.600Z").toEpochMilli))
    assert(before.map(_.groupsReplaced.get) == Seq(1, 0, 0, 0, 0, 0))
    assert(before(4).write.get.allStats.size == 2)

    new Savepoints(s, TableConfig.load(s)).create(Some(t("200")), "ops", "month end")
    val deleted = clean(s, commits(2)).head
    assert(deleted.filesDeleted > 0)
    val cleaned = one(s, Action.Clean)
    assert(cleaned.filesDeleted.contains(deleted.filesDeleted.toLong))
    assert(cleaned.bytesDeleted.contains(deleted.bytesDeleted) && cleaned.partitions.contains(1))
    assert(cleaned.user.exists(_.nonEmpty), "who cleaned is stored")
    val saved = one(s, Action.Savepoint)
    assert((saved.user, saved.comment, saved.isReadable) == ((Some("ops"), Some("month end"), None)))
    assert(saved.instant.requested == t("200") && times(history(s)).count(_ == "200") == 2)

    val readable = assertReadable(s).toMap
    assert(readable.size == 6 && readable(t("600")) && !readable(t("100")))
    assert(readable(t("200")) == (version >= 8), "log files of version 6 are not retained by a savepoint")
  }

  test("the history lists pending actions with their state and the size of their plan") {
    val s = faulty("t")
    table(storage = s)
    for (i <- 1 to 3) write(s, s"${i}00", Seq("a", "b"))
    compactionFile(s, t("400"), "a", "b")
    instantFile(s, s"${t("500")}.deltacommit.requested")
    instantFile(s, s"${t("500")}.deltacommit.inflight")
    s.createNew(s".hoodie/timeline/${t("600")}.clean.requested",
      CleanFixture.planned(Some(t("300")), Map("p" -> Seq(base("a", "100"), base("b", "100")))))
    instantFile(s, s"${t("700")}.rollback.requested")
    val found = history(s)
    assert(found.take(4).map(h => (h.instant.action, h.instant.state, h.planned)) == Seq(
      (Action.Rollback, InstantState.Requested, None), (Action.Clean, InstantState.Requested, Some(2)),
      (Action.DeltaCommit, InstantState.Inflight, None), (Action.Compaction, InstantState.Requested, Some(2))
    ))
    assert(found.take(4).forall(h => h.completedMs.isEmpty && h.elapsedMs.isEmpty && h.isReadable.isEmpty))
    assertReadable(s)
    assert(found.last.isReadable.contains(false), "the pending clean may have deleted its files")
  }

  test("the history lists the removed instants and files of rollbacks and restores") {
    val s = faulty("t")
    table(storage = s)
    write(s, "100", Seq("a"))
    val removed = RollbackMetadata(t("300"), 7, Seq(RolledBack(t("200"), "commit")),
      Map("p" -> Seq("p/x", "p/y"), "q" -> Seq("q/z")))
    s.createNew(s".hoodie/timeline/${t("300")}_${t("310")}.rollback", RollbackMetadata.encode(removed))
    import AvroRecords._
    val ofRollback = AvroRecords.decode(RollbackMetadata.encode(removed))
    val restore = record("HoodieRestoreMetadata", required("startRestoreTime", Str),
      required("instantsToRollback", array(Str)), required("hoodieRestoreMetadata", map(array(ofRollback.getSchema))))
    s.createNew(s".hoodie/timeline/${t("400")}_${t("410")}.restore",
      encode(build(restore, "startRestoreTime" -> t("400"), "instantsToRollback" -> Seq(t("200")),
          "hoodieRestoreMetadata" -> Map(t("200") -> Seq(ofRollback)))))
    for (action <- Seq(Action.Rollback, Action.Restore)) {
      val found = one(s, action)
      assert((found.filesDeleted, found.partitions, found.comment) == ((Some(3L), Some(2), Some(t("200")))))
    }
  }

  for (version <- Seq(6, 9)) test(s"version $version: the history lists archived actions in the order of time") {
    val s = faulty("t")
    table(version, s)
    for (i <- 1 to 8) write(s, s"${i}00", Seq("a"))
    if (version < 8) completeInOrder(s)
    new Savepoints(s, TableConfig.load(s)).create(Some(t("300")), "ops", "")
    val settings = ArchiveConfig(minCommits = 2, maxCommits = 3, beyondSavepoint = true)
    assert(new Archiving(s, TableConfig.load(s), settings).run().instants == 5)
    val archiving = history(s).head
    assert((archiving.instant.action, archiving.isArchived, archiving.elapsedMs) == ((Action.Archive, false, None)))
    assert(archiving.requestedMs.exists(System.currentTimeMillis - _ < 600000) && one(s, Action.Archive) == archiving)
    val moved = if (version < 8) ".commits_.archive.1_1-0-1" else s"${t("100")} to ${t("600")}"
    assert(archiving.comment.contains(moved) && archiving.isReadable.isEmpty)
    assert(times(history(s).tail) == Seq("800", "700", "300", "300"))
    val all = history(s, archived = true).tail
    assert(times(all) == Seq("800", "700", "600", "500", "400", "300", "300", "200", "100"))
    assert(times(all.filter(_.isArchived)) == Seq("600", "500", "400", "200", "100"))
    assert(all.forall(h => h.instant.action == Action.Savepoint || h.write.exists(_.allStats.size == 1)))
    assert(times(history(s, 4, archived = true).tail) == times(all.take(3)))
    if (version >= 8) assert(assertReadable(s, archived = true).count(_._2) == 8)
    clean(s, commits(1))
    if (version >= 8) assert(assertReadable(s, archived = true).filter(_._2).map(_._1) == Seq(t("800"), t("300")))
  }

  test("a limited history reads the files of that many actions only") {
    val s = faulty("t")
    table(storage = s)
    for (i <- 100 to 160) write(s, s"$i", Seq("a"))
    val config   = TableConfig.load(s)
    val timeline = Timeline.load(s, config)
    val operations =
      FaultyFileSystem.operations(new TableHistory(s, config, timeline).newestFirst(3, archived = true).take(3).toList)
    assert(operations <= 6, "three commits, and what tells whether there are archived ones")
  }

  test("the history leaves out an action removed since the listing and fails at a damaged file") {
    val s = faulty("t")
    table(storage = s)
    for (i <- 1 to 3) write(s, s"${i}00", Seq("a"))
    val config   = TableConfig.load(s)
    val timeline = Timeline.load(s, config)
    val file     = timeline.filesIn(timeline.completed(1), InstantState.Completed).head
    s.delete(file)
    assert(times(new TableHistory(s, config, timeline).newestFirst(10, archived = false).toList) == Seq("300", "100"))
    s.createNew(file, "no Avro".getBytes("UTF-8"))
    val damaged = intercept[MerganserException](history(s))
    assert(damaged.condition == "TIMELINE_FILE_UNREADABLE" && damaged.getMessage.contains(t("200")))
  }

  test("the history of every golden table is read, and instants marked readable can be read") {
    val root   = Paths.get(System.getProperty("merganser.root"), "tests", "golden").toFile
    val tables = root.listFiles.map(new File(_, "table")).filter(_.isDirectory).sortBy(_.getPath)
    assert(tables.length >= 20)
    tables.foreach { folder =>
      val s     = Storage(folder.toURI.toString, HadoopDefaults.shared)
      val found = history(s, archived = true)
      val times = found.map(_.instant.requested)
      assert(found.nonEmpty && times == times.sorted.reverse, folder)
      assert(found.filter(_.instant.isCompleted).forall(h => h.elapsedMs.forall(_ >= 0)), folder)
      assertReadable(s, archived = true)
    }
  }
}
