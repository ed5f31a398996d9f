package io.merganser.table.timeline

import java.time.{Clock, ZoneOffset}
import java.util.Locale

import io.merganser.table.{HadoopDefaults, TableSuite}
import io.merganser.table.commit.Creation
import io.merganser.table.file.{BaseFile, FileGroupId, LogFile}
import io.merganser.table.options.WriteOperation
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage

final class TimelineSuite extends TableSuite {

  import InstantState._

  test("names of both layouts are parsed, and an inflight name without an action is a commit's") {
    assert(InstantFile.parse("100.inflight").contains(Instant("100", Action.Commit, Inflight)))
    assert(InstantFile.parse("100.commit.requested").contains(Instant("100", Action.Commit, Requested)))
    assert(InstantFile.parse("100.deltacommit.inflight").contains(Instant("100", Action.DeltaCommit, Inflight)))
    assert(InstantFile.parse("100_150.commit").contains(Instant("100", Action.Commit, Completed, Some("150"))))
    assert(InstantFile.parse("100.deltacommit").contains(Instant("100", Action.DeltaCommit, Completed)))
    Seq("history", ".100.commit.crc", "100_150.commit.inflight", "100.nonsense", "hoodie.properties", "100")
      .foreach(name => assert(InstantFile.parse(name).isEmpty, name))
    assert(InstantFile.inflight("100", Action.Commit) == "100.inflight")
    assert(InstantFile.completed("100", Some("150"), Action.Compaction) == "100_150.commit")
  }

  test("the furthest state of an action wins, and a compaction and its commit count as one") {
    val s = storage
    table(storage = s)
    instantFiles(s, "100.deltacommit.requested", "100.deltacommit.inflight", "100_150.deltacommit",
      "200.deltacommit.requested", "200.deltacommit.inflight", "300.compaction.inflight", "300_350.commit",
      "400.savepoint.inflight")
    compactionFile(s, "300", "a")
    compactionFile(s, "400", "b")
    val timeline = Timeline.load(s, TableConfig.load(s))
    assert(timeline.completed.map(i => (i.requested, i.action, i.completed)) ==
      Seq(("100", Action.DeltaCommit, Some("150")), ("300", Action.Commit, Some("350"))))
    assert(timeline.pending.map(i => (i.requested, i.action, i.state)) ==
      Seq(("200", Action.DeltaCommit, Inflight), ("400", Action.Compaction, Requested),
        ("400", Action.Savepoint, Inflight)))
    assert(timeline.groupsInCompaction == Map(FileGroupId("p", "b") -> "400"))
  }

  test("an instant before the timeline's start counts as archived and completed, a pending one never") {
    val s = storage
    table(storage = s)
    instantFiles(s, "100.deltacommit.requested", "200_250.deltacommit", "300.deltacommit.inflight")
    val timeline = Timeline.load(s, TableConfig.load(s))
    assert(timeline.isCompleted("050") && timeline.isArchived("050"))
    assert(!timeline.isCompleted("100"))
    assert(!timeline.isCompleted("150"))
    assert(timeline.isCompleted("200") && !timeline.isArchived("200"))
    assert(!timeline.isCompleted("300"))
  }

  test("an instant before the first one counts as archived only if the table has a history or was upgraded") {
    for ((initial, archives, isArchived) <- Seq(("9", false, false), ("9", true, true), ("6", false, true))) {
      val s = Storage(folder.resolve(s"$initial$archives").toUri.toString, HadoopDefaults.shared)
      Creation.create(s, properties() + ("hoodie.table.initial.version" -> initial))
      instantFile(s, "200_250.deltacommit")
      if (archives) s.createNew(".hoodie/timeline/history/_version_", "1".getBytes)
      assert(Timeline.load(s, TableConfig.load(s)).isCompleted("050") == isArchived, (initial, archives))
    }
  }

  test("a saved commit left alone by archiving does not start the timeline") {
    val s = storage
    table(storage = s)
    instantFiles(s, "100_110.commit", "100_120.savepoint", "300_310.commit")
    val timeline = Timeline.load(s, TableConfig.load(s))
    assert(timeline.isCompleted("200"))
    assert(!timeline.isCompleted("305"))
  }

  test("a timeline as of an instant includes it and all requested before, even if completed later") {
    val s = storage
    table(storage = s)
    instantFiles(s, "100_110.deltacommit", "200_900.deltacommit", "300_310.deltacommit")
    val timeline = Timeline.load(s, TableConfig.load(s)).asOf("200")
    assert(timeline.completed.map(_.requested) == Seq("100", "200"))
    assert(timeline.isCompleted("050") && timeline.isCompleted("200") && !timeline.isCompleted("300"))
    assert(!timeline.asOf("040").isCompleted("050"))
  }

  test("the schema comes from the newest commit that may change it, else from the table's creation") {
    val s      = storage
    val config = Creation.create(s, properties() + ("hoodie.table.create.schema" -> "created"))
    def schema = Timeline.load(s, config).tableSchemaJson
    assert(schema.contains("created"))
    def metadata(operation: OperationType, schema: String) =
      CommitMetadata(operation, Map.empty, Map("schema" -> schema))
    instantFile(s, "100_900.deltacommit", metadata(OperationType.Upsert, "late"))
    instantFile(s, "200_210.deltacommit", metadata(OperationType.Upsert, "early"))
    instantFile(s, "300_910.commit", metadata(OperationType.Compact, "compacted"))
    assert(schema.contains("late"))
  }

  test("all fields of metadata survive Avro and JSON") {
    val base = WriteStat("f-0", "p/f-0_0-0-0_1.parquet", "0", 7, 3, 2, 1, 900, 900, "p", prevBaseFile = Some("old"),
      cdcStats = Map("p/x.cdc" -> 3L),
      totalLogRecords = 5, totalLogFiles = 2, totalLogBlocks = 4, totalCorruptLogBlocks = 1,
      totalUpdatedRecordsCompacted = 6,
      minEventTime = Some(1), maxEventTime = Some(9))
    val log =
      WriteStat("g-0", "p/.g-0_1.log.1_0-0-0", "1", 2, 0, 2, 0, 50, 50, "p", logVersion = Some(1), logOffset = Some(0),
        baseFile = Some(""), logFiles = Seq(".g-0_1.log.1_0-0-0"))
    val metadata =
      CommitMetadata(OperationType.InsertOverwrite, Map("p" -> Seq(base, log), "" -> Nil),
        Map("schema" -> "{}", "k" -> "ü"),
        Map("p" -> Seq("h-0")))
    assert(CommitMetadata.decode(CommitMetadata.encodeAvro(metadata, isReplace = true)) == metadata)
    assert(CommitMetadata.decode(CommitMetadataJson.encode(metadata, isReplace = true)) == metadata)
    assert(CommitMetadata.decode(CommitMetadata.encodeAvro(metadata, isReplace = false)).replacedFileIds.isEmpty)
  }

  test("an operation type that only other engines write is preserved as it is, in Avro and in JSON") {
    for (name <- Seq("BOOTSTRAP", "upsert", "")) {
      val metadata = CommitMetadata(OperationType.parse(name), Map.empty, Map.empty)
      assert(metadata.operationType == OperationType.Other(name) && metadata.maySetSchema)
      assert(CommitMetadata.decode(CommitMetadata.encodeAvro(metadata, isReplace = false)) == metadata)
      assert(CommitMetadata.decode(CommitMetadataJson.encode(metadata, isReplace = false)) == metadata)
    }
  }

  test("names of actions and operation types are parsed, and an operation is stored in capitals") {
    Action.all.foreach(action => assert(Action.parse(action.name).contains(action)))
    OperationType.all.foreach(operation => assert(OperationType.parse(operation.name) == operation))
    WriteOperation.all.foreach(operation =>
      assert(OperationType.of(operation).name == operation.name.toUpperCase(Locale.ROOT)))
  }

  test("JSON metadata with unknown fields and nulls is read") {
    val metadata = CommitMetadata.decode(
      """{"partitionToWriteStats":{
        |"p":[{"fileId":"f","path":null,"prevCommit":"null","numWrites":3,"unknown":{"a":1}}]},
        |"compacted":false,"extraMetadata":{"schema":"{}","none":null},"operationType":null,"more":[1]}"""
        .stripMargin.getBytes("UTF-8"))
    assert(metadata.operationType == OperationType.Unknown && metadata.extra == Map("schema" -> "{}"))
    assert(metadata.stats("p").head == WriteStat("f", "", numWrites = 3, partitionPath = "p"))
  }

  test("a compaction plan stores file names without folders, and the metric that other compactors require") {
    val plan = CompactionPlan(Seq(CompactionOperation("p", "f", "100", None, Seq("p/x/.f_200.log.1_0-0-0"))))
    val read = CompactionPlan.decode(CompactionPlan.encode(plan))
    assert(read.operations.head.logFiles == Seq(".f_200.log.1_0-0-0") && read.operations.head.baseFile.isEmpty)
    assert(read.operations.head.metrics.contains("TOTAL_LOG_FILES_SIZE"))
    val logs = Seq(LogFile("p", "f", "1", 1, None, "l", 5L), LogFile("p", "f", "1", 2, None, "m", 6L))
    assert(CompactionPlan.operation(FileGroupId("p", "f"), "1", Some(BaseFile("p", "f", "1", "b", 10L)), logs).metrics(
      "TOTAL_LOG_FILES_SIZE") == 11.0)
  }

  test("rollback records survive Avro") {
    val plan = RollbackPlan("100", "deltacommit", Map("p" -> Seq("p/a", "p/b"), "q" -> Seq("q/c")))
    assert(RollbackPlan.decode(RollbackPlan.encode(plan)) == plan)
    val done =
      RollbackMetadata("200", 12, Seq(RolledBack("100", "deltacommit")), Map("p" -> Seq("p/a")), Map("q" -> Seq("q/c")))
    val read = RollbackMetadata.decode(RollbackMetadata.encode(done))
    assert(read.copy(deleted = read.deleted.filter(_._2.nonEmpty)) == done)
  }

  test("a new instant has 17 digits and comes after every argument and the last one returned") {
    val clock = Clock.fixed(java.time.Instant.parse("2026-01-01T00:00:00.005Z"), ZoneOffset.UTC)
    def next(table: String, taken: String*) = InstantTime.next(table, ZoneOffset.UTC, taken, clock)
    assert(next("a") == "20260101000000005")
    assert(next("a") == "20260101000000006")
    assert(next("b", "20270101000000999") == "20270101000001000")
    assert(next("c", "20271231235959") == "20280101000000000")
    assert(next("d", "00000000000001", "00000000000000000") == "20260101000000005")
    assert(InstantTime.format(0, java.time.ZoneId.of("Asia/Tokyo")) == "19700101090000000")
  }

  test("an unreadable timeline file is an error that names it") {
    val s = storage
    table(storage = s)
    s.createNew(".hoodie/timeline/100_150.commit", Array[Byte](1, 2, 3))
    val timeline = Timeline.load(s, TableConfig.load(s))
    assert(conditionOf(timeline.metadata(timeline.completed.head)) == "TIMELINE_FILE_UNREADABLE")
  }

  test("a pending replacecommit rolled back since the listing of the timeline reserves no file group") {
    val s = storage
    table(storage = s)
    s.createNew(".hoodie/timeline/100.replacecommit.requested", RequestedReplace.empty)
    s.createNew(".hoodie/timeline/100.replacecommit.inflight", Array.emptyByteArray)
    val timeline = Timeline.load(s, TableConfig.load(s))
    s.delete(".hoodie/timeline/100.replacecommit.inflight")
    s.delete(".hoodie/timeline/100.replacecommit.requested")
    assert(
      timeline.pendingWrites.size == 1 && timeline.groupsInClustering.isEmpty && timeline.pendingClusterings.isEmpty)
  }
}
