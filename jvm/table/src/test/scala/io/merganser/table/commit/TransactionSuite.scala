package io.merganser.table.commit

import io.merganser.table.TableSuite
import io.merganser.table.file.{FileGroupId, FileNames, Marker, MarkerKind}
import io.merganser.table.options.Permits
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.TableAccess
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{
  CleanFixture,
  Action,
  CommitMetadata,
  CompactionPlan,
  Instant,
  OperationType,
  RequestedReplace,
  WriteStat
}

final class TransactionSuite extends TableSuite {

  private val timelineFolder = ".hoodie/timeline"

  private def begin(
      storage: Storage,
      action: Action = Action.Commit,
      options: Transaction.Options = Transaction.Options()
  ): Transaction =
    Transaction.begin(storage, TableConfig.load(storage), action, options = options)

  private def write(storage: Storage, fileIds: String*): Instant = {
    val transaction = begin(storage)
    transaction.commit(upserted(fileIds.map(writeBase(storage, transaction, _)): _*), Set.empty)
  }

  private def visible(storage: Storage): Seq[String] = view(storage).slices.map(_.fileId)

  test("a write goes from requested to inflight to completed, and is visible from then on") {
    val s = storage
    table(storage = s)
    val t = begin(s)
    assert(names(s, timelineFolder) == Set("history", s"${t.instant}.commit.requested", s"${t.instant}.inflight"))
    assert(names(s, ".hoodie/.temp") == Set(s"${t.instant}.open"))
    val stat = writeBase(s, t, "a")
    assert(t.markers.all == Seq(Marker("p", stat.fileName, MarkerKind.Create)))
    assert(visible(s).isEmpty)
    val done = t.commit(upserted(stat), Set(FileGroupId("p", "a")))
    assert(visible(s) == Seq("a"))
    assert(done.completed.exists(_ > done.requested))
    assert(names(s, timelineFolder).contains(s"${t.instant}_${done.completed.get}.commit"))
    assert(names(s, ".hoodie/.temp").isEmpty && !s.exists(".hoodie/lock"))
    assert(s.readText("p/.hoodie_partition_metadata").contains(s"commitTime=${t.instant}\npartitionDepth=1"))
    assertThrows[IllegalStateException](t.commit(upserted(stat), Set.empty))
    assert(!t.rollback() && visible(s) == Seq("a"))
  }

  test("a clean of a group conflicts with a write that had not listed the group yet") {
    val s = storage
    table(storage = s)
    write(s, "a")
    def committed(name: String, listed: ListedGroups): Unit = {
      val t    = begin(s)
      val stat = writeBase(s, t, name)
      val file = FileNames.base("a", "0-0-0", "20200101000000000")
      val time = t.instant.toLong
      s.createNew(s"$timelineFolder/${time + 1}_${time + 2}.clean",
        CleanFixture.completed(None, Map("p" -> Seq(file))))
      t.commit(upserted(stat), Set.empty, WriteBasis(listed = listed))
      ()
    }
    committed("b", ListedGroups(Set("p"), Set(FileGroupId("p", "a"))))
    committed("c", ListedGroups(Set("q"), Set.empty))
    assert(conditionOf(committed("d", ListedGroups(Set("p"), Set(FileGroupId("p", "b"))))) == "COMMIT_CONFLICT")
    // It was there when the write began.
    val t = begin(s)
    t.commit(upserted(writeBase(s, t, "e")), Set.empty, WriteBasis(listed = ListedGroups(Set("p"), Set.empty)))
    assert(visible(s).sorted == Seq("a", "b", "c", "e"))
  }

  test("each instant is later than all others, whatever the clock shows") {
    val s = storage
    table(storage = s)
    instantFile(s, "29990101000000000_29990101000000005.commit")
    val done = write(s, "a")
    assert(done.requested == "29990101000000006" && done.completed.contains("29990101000000007"))
  }

  test("a replacecommit has the requested file that readers expect and removes its groups") {
    val s = storage
    table(storage = s)
    write(s, "a", "b")
    val t = begin(s, Action.ReplaceCommit)
    assert(RequestedReplace.decode(s.read(s"$timelineFolder/${t.instant}.replacecommit.requested")) == RequestedReplace(
      None, None))
    t.commit(CommitMetadata(OperationType.InsertOverwrite, Map("p" -> Seq(writeBase(s, t, "c"))), Map.empty,
        Map("p" -> Seq("a", "b"))), Set.empty)
    assert(visible(s) == Seq("c"))
  }

  test("files of task attempts that failed are deleted before the commit completes") {
    val s = storage
    table(storage = s)
    val t       = begin(s)
    val attempt = writeBase(s, t, "a", token = "0-0-0")
    val again   = writeBase(s, t, "a", token = "0-0-1")
    t.markers.create(Marker("p", "never-written.parquet", MarkerKind.Create))
    t.commit(upserted(again), Set.empty)
    assert(!s.exists(attempt.path) && view(s).slices.flatMap(_.base).map(_.name) == Seq(again.fileName))
  }

  test("the second of two concurrent writes to one file group is refused and leaves no file") {
    val s = storage
    table(storage = s)
    write(s, "a", "b")
    val first  = begin(s)
    val second = begin(s)
    val third  = begin(s)
    val lost   = writeBase(s, second, "a", MarkerKind.Merge)
    first.commit(upserted(writeBase(s, first, "a", MarkerKind.Merge)), Set(FileGroupId("p", "a")))
    assert(conditionOf(second.commit(upserted(lost), Set(FileGroupId("p", "a")))) == "COMMIT_CONFLICT")
    assert(!s.exists(lost.path) && !names(s, timelineFolder).exists(_.startsWith(second.instant)))
    third.commit(upserted(writeBase(s, third, "b", MarkerKind.Merge)), Set(FileGroupId("p", "b")))
    assert(view(s).slices.map(_.baseInstant) == Seq(first.instant, third.instant))
  }

  test("a write that read a group conflicts with a write that replaced it") {
    val s = storage
    table(storage = s)
    write(s, "a")
    val reader   = begin(s)
    val replacer = begin(s, Action.ReplaceCommit)
    replacer.commit(CommitMetadata(OperationType.DeletePartition, Map.empty, Map.empty, Map("p" -> Seq("a"))),
      Set.empty)
    assert(conditionOf(reader.commit(upserted(), Set(FileGroupId("p", "a")))) == "COMMIT_CONFLICT")
  }

  test("a write rolled back by another does not commit, and its files are removed") {
    val s = storage
    table(storage = s)
    val t     = begin(s)
    val early = writeBase(s, t, "a")
    assert(Rollback.failed(s, TableConfig.load(s), Transaction.Options()).map(_.requested) == Seq(t.instant))
    assert(!s.exists(early.path))
    val late = writeBase(s, t, "b")
    assert(conditionOf(t.commit(upserted(early, late), Set.empty)) == "COMMIT_CONFLICT")
    assert(!s.exists(late.path) && visible(s).isEmpty && !s.exists(s".hoodie/.temp/${t.instant}"))
  }

  test("a table upgraded since its properties were read is not written to") {
    val s   = storage
    val old = table(8, s)
    PropertiesUpdate.run(s, _ + ("hoodie.table.version" -> "9"))
    assert(conditionOf(Transaction.begin(s, old, Action.Commit)) == "COMMIT_CONFLICT")
  }

  test("a table whose commit refers to versions of its columns that are lost is not written to") {
    val s = storage
    table(storage = s)
    instantFile(s, "100_110.commit",
      CommitMetadata(OperationType.Upsert, Map.empty, Map("schema" -> "{}", "latest_schema" -> "{\"schemas\":[]}")))
    assert(conditionOf(begin(s)) == "TABLE_FEATURE_UNREADABLE")
    assert(names(s, timelineFolder) == Set("history", "100_110.commit"))
  }

  test("only a committed write removes another engine's metadata table, property first") {
    val s = storage
    Creation.create(s,
      properties() ++ Map(TableConfig.MetadataPartitions -> "files,column_stats",
        TableConfig.MetadataPartitionsInflight -> "partition_stats"))
    s.createNew(".hoodie/metadata/files/x", Array[Byte](1))
    begin(s).rollback()
    assert(TableConfig.load(s).metadataPartitions.size == 3 && s.exists(".hoodie/metadata/files/x"))
    write(s, "a")
    assert(TableConfig.load(s).metadataPartitions.isEmpty && !s.exists(".hoodie/metadata"))
    assert(TableConfig.load(s).properties.keySet.intersect(Set(TableConfig.MetadataPartitions,
          TableConfig.MetadataPartitionsInflight)).isEmpty)
  }

  test("indexes in the metadata table are dropped only if allowed") {
    val s = storage
    Creation.create(s, properties() + (TableConfig.MetadataPartitions -> "files,record_index,secondary_index_x"))
    val refused = intercept[io.merganser.merge.MerganserException](begin(s))
    assert(
      refused.condition == "METADATA_INDEX_PRESENT" && refused.getMessage.contains("record_index, secondary_index_x"))
    val t = begin(s, options = Transaction.Options(access = TableAccess(permits = Permits(dropIndexes = true))))
    t.commit(upserted(writeBase(s, t, "a")), Set.empty)
    assert(TableConfig.load(s).metadataPartitions.isEmpty)
  }

  test("a metadata table without indexes is dropped unless the option forbids it") {
    val s = storage
    Creation.create(s, properties() + (TableConfig.MetadataPartitions -> "files,column_stats"))
    val kept =
      Transaction.Options(access = TableAccess(permits = Permits(dropIndexes = true, dropMetadataTable = false)))
    val refused = intercept[io.merganser.merge.MerganserException](begin(s, options = kept))
    assert(refused.condition == "METADATA_TABLE_PRESENT" && refused.getMessage.contains("files, column_stats"))
    assert(TableConfig.load(s).metadataPartitions == Seq("files", "column_stats"))
    write(s, "a")
    assert(TableConfig.load(s).metadataPartitions.isEmpty)
  }

  test("version 6: instants are JSON files in .hoodie without completion times") {
    val s = storage
    table(6, s)
    val t    = begin(s, Action.DeltaCommit)
    val done = t.commit(upserted(writeBase(s, t, "a")), Set.empty)
    assert(done.completed.isEmpty)
    assert(s.readText(s".hoodie/${t.instant}.deltacommit").contains("\"partitionToWriteStats\""))
    assert(
      s.exists(s".hoodie/${t.instant}.deltacommit.requested") && s.exists(s".hoodie/${t.instant}.deltacommit.inflight"))
    assert(visible(s) == Seq("a"))
  }

  test("a scheduled compaction runs beside logs written since its plan") {
    val s      = storage
    val config = table(storage = s)
    write(s, "a")
    val update = begin(s, Action.DeltaCommit)
    val name   = FileNames.log("a", update.instant, 1, "0-0-0")
    s.createNew(s"p/$name", Array[Byte](1))
    val logStat = WriteStat("a", s"p/$name", partitionPath = "p", logVersion = Some(1))

    val plan      = CompactionPlan(Seq(CompactionPlan.operation(FileGroupId("p", "a"), "x", None, Nil)))
    val scheduled = CompactionSchedule.schedule(s, config)(_ => Some(plan)).get
    assert(CompactionSchedule.schedule(s, config)(_ => Some(plan)).isEmpty)
    val run = ScheduledCompactions.begin(s, config, scheduled)
    update.commit(upserted(logStat), Set(FileGroupId("p", "a")))
    val done = run.commit(CommitMetadata(OperationType.Compact, Map("p" -> Seq(writeBase(s, run, "a"))), Map.empty),
      Set(FileGroupId("p", "a")))
    assert(done.action == Action.Commit && names(s, timelineFolder).contains(
      s"${scheduled.requested}_${done.completed.get}.commit"))
    assert(show(view(s).slices) == Seq(s"a@${scheduled.requested}:${update.instant}"))
  }

  test("a base file of a group with a scheduled compaction is refused") {
    val s      = storage
    val config = table(storage = s)
    write(s, "a")
    val t = begin(s, Action.DeltaCommit)
    CompactionSchedule.schedule(s, config)(_ =>
      Some(CompactionPlan(Seq(CompactionPlan.operation(FileGroupId("p", "a"), "x", None, Nil)))))
    assert(conditionOf(t.commit(upserted(writeBase(s, t, "a", MarkerKind.Merge)),
        Set(FileGroupId("p", "a")))) == "COMMIT_CONFLICT")
  }

  test("a failed compaction stays scheduled, is not rolled back by writes and runs again") {
    val s      = storage
    val config = table(storage = s)
    write(s, "a")
    val scheduled =
      CompactionSchedule.schedule(s, config)(_ =>
        Some(CompactionPlan(Seq(CompactionPlan.operation(FileGroupId("p", "a"), "x", None, Nil))))).get
    val failed = ScheduledCompactions.begin(s, config, scheduled)
    val left   = writeBase(s, failed, "a")
    assert(Rollback.failed(s, config, Transaction.Options()).isEmpty && s.exists(left.path))
    failed.rollback()
    assert(!s.exists(left.path) && !s.exists(s".hoodie/.temp/${scheduled.requested}"))
    assert(names(s, ".hoodie/.heartbeat").isEmpty)
    assert(names(s, timelineFolder).filter(_.startsWith(scheduled.requested)) == Set(
      s"${scheduled.requested}.compaction.requested"))
    val last = ScheduledCompactions.begin(s, config, scheduled)
    last.commit(CommitMetadata(OperationType.Compact, Map("p" -> Seq(writeBase(s, last, "a"))), Map.empty), Set.empty)
    assert(show(view(s).slices) == Seq(s"a@${scheduled.requested}:"))
    assert(conditionOf(ScheduledCompactions.begin(s, config, scheduled)) == "COMPACTION_CONFLICT")
  }

  test("a compaction is planned before the lock, and again if the table changed") {
    val s      = storage
    val config = table(storage = s)
    write(s, "a")
    var (planned, locked) = (0, 0)
    val scheduled = CompactionSchedule.schedule(s, config) { _ =>
      planned += 1
      if (s.exists(".hoodie/lock")) locked += 1
      if (planned == 1) write(s, "b")
      Some(CompactionPlan(Seq(CompactionPlan.operation(FileGroupId("p", "a"), "x", None, Nil))))
    }
    assert(scheduled.isDefined && planned == 2 && locked == 0)
  }

  test("version 6 schedules no compaction beside a running write") {
    val s      = storage
    val config = table(6, s)
    write(s, "a")
    begin(s, Action.DeltaCommit)
    assert(conditionOf(CompactionSchedule.schedule(s, config)(_ => None)) == "COMPACTION_BLOCKED")
  }
}
