package io.merganser.table.timeline

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import io.merganser.table.file.FileNames
import org.apache.avro.Schema
import org.apache.avro.file.DataFileStream
import org.apache.avro.generic.{GenericData, GenericDatumReader, GenericRecord}
import org.apache.avro.io.DecoderFactory
import org.scalatest.funsuite.AnyFunSuite

import scala.collection.JavaConverters._

/**
 * The bytes of the timeline's records: of each kind its Avro schema, a record with all fields, and one without those
 * that may be absent, in a file of the resources; and how records with fewer and with unknown fields are read.
 */
final class RecordBytesSuite extends AnyFunSuite {

  private def whole(path: String): String = s"file:/t/$path"

  private val baseStat = WriteStat("f-0", "p/f-0_0-0-0_1.parquet", "0", 1, 2, 3, 4, 5, 6, "p", prevBaseFile = Some("b"),
    cdcStats = Map("p/x.cdc" -> 7L), totalWriteErrors = 8, totalLogRecords = 9, totalLogFiles = 10, totalLogBlocks = 11,
    totalCorruptLogBlocks = 12, totalRollbackBlocks = 13, totalUpdatedRecordsCompacted = 14,
    totalLogFilesCompacted = 15,
    totalLogReadTimeMs = 16, totalLogSizeCompacted = 17, minEventTime = Some(18), maxEventTime = Some(19))

  private val logStat = WriteStat("g-0", "p/.g-0_1.log.1_0-0-0", "1", 2, 0, 2, 0, 50, 51, "p", logVersion = Some(2),
    logOffset = Some(3), baseFile = Some("g-0_1.parquet"), logFiles = Seq("a", "b"), checksums = "0a1b")

  private val commit = CommitMetadata(OperationType.InsertOverwrite,
    Map("p" -> Seq(baseStat, logStat, WriteStat("h", "", logVersion = Some(1)),
        WriteStat("i", "", baseFile = Some("x"),
          logOffset = Some(4), logFiles = Seq("c"))), "" -> Nil),
    Map("schema" -> "{}", "k" -> "ü"), Map("p" -> Seq("h-0", "h-1")))

  private val noCommit = CommitMetadata(OperationType.Unknown, Map.empty, Map.empty)

  private val compaction = CompactionPlan(
    Seq(CompactionOperation("p", "f", "100", Some("b"), Seq("l", "m"), Map("TOTAL_IO_MB" -> 1.5)),
      CompactionOperation("", "g", "200", None, Nil)), Map("k" -> "v"))

  private val clustering = ClusteringPlan(
    Seq(ClusteringGroup(Seq(ClusteringSlice("p", "f", Some("b"), Seq("l")), ClusteringSlice("", "g", None, Nil)), 3,
        Map("m" -> 2.5))), Map("k" -> "v"), preservesCommit = false, runsAtOnce = true)

  private val rollback = RollbackMetadata("200", 12, Seq(RolledBack("100", "commit")), Map("p" -> Seq("p/a")),
    Map("q" -> Seq("q/c")))

  private val restored = Seq(RolledBack("200", "commit"), RolledBack("100", "deltacommit"))

  private val restore =
    RestorePlan(Some("050"), restored, Map("p" -> Seq("a", "b")), Map("p/.g_1.log.1_0-0-0" -> Seq("100")))

  private val cleanPlan = CleanPlan(Some(Instant("100", Action.DeltaCommit, InstantState.Completed)), "200", "KEEP",
    Map("p" -> Seq("a", "b")), Seq("q"), Map("k" -> "v"))

  private val clean = CleanMetadata("300", 12, 2, Some("100"), "200",
    Map("p" -> CleanedPartition("KEEP", Seq("a"), Seq("b"), isRemoved = true)), Map("k" -> "v"))

  /** By name: a record with all fields, and one with as few as there can be. */
  private val records: Seq[(String, () => Array[Byte])] = Seq(
    "commit" -> (() => CommitMetadata.encodeAvro(commit, isReplace = false)),
    "commit-empty" -> (() => CommitMetadata.encodeAvro(noCommit, isReplace = false)),
    "replace" -> (() => CommitMetadata.encodeAvro(commit, isReplace = true)),
    "replace-empty" -> (() => CommitMetadata.encodeAvro(noCommit, isReplace = true)),
    "compaction" -> (() => CompactionPlan.encode(compaction)),
    "compaction-empty" -> (() => CompactionPlan.encode(CompactionPlan(Nil))),
    "clustering" -> (() => RequestedReplace.clustering(clustering, whole)),
    "clustering-empty" -> (() => RequestedReplace.clustering(ClusteringPlan(Nil, Map.empty, true), whole)),
    "requested-replace" -> (() => RequestedReplace.empty),
    "rollback-plan" -> (() =>
      RollbackPlan.encode(RollbackPlan("100", "commit", Map("q" -> Seq("q/c"), "p" -> Seq("p/a"))))),
    "rollback-plan-empty" -> (() => RollbackPlan.encode(RollbackPlan("", "", Map.empty))),
    "rollback" -> (() => RollbackMetadata.encode(rollback)),
    "rollback-empty" -> (() => RollbackMetadata.encode(RollbackMetadata("", 0, Nil, Map.empty))),
    "restore-plan" -> (() => RestorePlan.encode(restore, whole, _ => 9L)),
    "restore-plan-empty" -> (() =>
      RestorePlan.encode(RestorePlan(Some(""), Nil, Map.empty, Map.empty), whole, _ => 9L)),
    "completed-rollback-plan" -> (() => RestorePlan.encode(restore.copy(target = None), whole, _ => 9L)),
    "completed-rollback-plan-empty" -> (() =>
      RestorePlan.encode(RestorePlan(None, Nil, Map.empty, Map.empty), whole, _ => 9L)),
    "restore" -> (() => RestoreMetadata.encode(RestoreMetadata("300", 5, restored, Map("100" -> rollback)))),
    "restore-empty" -> (() => RestoreMetadata.encode(RestoreMetadata("", 0, Nil, Map.empty))),
    "clean-plan" -> (() => CleanPlan.encode(cleanPlan, (p, n) => whole(FileNames.path(p, n)))),
    "clean-plan-empty" -> (() => CleanPlan.encode(CleanPlan(None, "", "", Map.empty), (p, n) => whole(s"$p/$n"))),
    "clean" -> (() => CleanMetadata.encode(clean)),
    "clean-empty" -> (() => CleanMetadata.encode(CleanMetadata("", 0, 0, None, "", Map.empty, Map.empty, 1))),
    "savepoint" -> (() => SavepointMetadata.encode(SavepointMetadata("me", 7, "why", Map("p" -> Seq("a", "b"))))),
    "savepoint-empty" -> (() => SavepointMetadata.encode(SavepointMetadata("", 0, "", Map.empty)))
  )

  /** The schema, and the record's bytes as hexadecimal digits. */
  private def parts(container: Array[Byte]): String = {
    val file = new DataFileStream[GenericRecord](new ByteArrayInputStream(container), new GenericDatumReader())
    try {
      val block = file.nextBlock()
      val bytes = new Array[Byte](block.remaining)
      block.get(bytes)
      s"${file.getMetaString("avro.schema")}\n${bytes.map(b => f"$b%02x").mkString}\n"
    } finally file.close()
  }

  private def golden(name: String): String =
    new String(Files.readAllBytes(Paths.get(getClass.getResource(s"/timeline/$name").toURI)), UTF_8)

  /** The record of a golden file, with the schema that it was written with. */
  private def stored(name: String): GenericRecord = {
    val lines          = golden(s"$name.txt").split('\n')
    val (json, digits) = (lines(0), lines(1))
    val bytes          = digits.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray
    new GenericDatumReader[GenericRecord](new Schema.Parser().parse(json))
      .read(null, DecoderFactory.get.binaryDecoder(bytes, null))
  }

  private def bytes(name: String): Array[Byte] = AvroRecords.encode(stored(name))

  /** The stored record without all fields but some, at each level, and with fields that nobody knows. */
  private def only(name: String, names: String*): Array[Byte] = {
    def schemaOf(schema: Schema): Schema = schema.getType match {
      case Schema.Type.RECORD =>
        val known = schema.getFields.asScala.filter(f => names.contains(f.name)).map(f =>
          new Schema.Field(f.name, schemaOf(f.schema), null, null: Object))
        val more = new Schema.Field("unknown", AvroRecords.Str, null, null: Object)
        Schema.createRecord(schema.getName, null, "other", false, (more +: known).toList.asJava)
      case Schema.Type.ARRAY => Schema.createArray(schemaOf(schema.getElementType))
      case Schema.Type.MAP   => Schema.createMap(schemaOf(schema.getValueType))
      case Schema.Type.UNION => Schema.createUnion(schema.getTypes.asScala.map(schemaOf).toList.asJava)
      case _                 => schema
    }
    def valueOf(schema: Schema, value: Any): Any = (schema.getType, value) match {
      case (_, null) => null
      case (Schema.Type.UNION, some) =>
        valueOf(schema.getTypes.asScala.find(_.getType != Schema.Type.NULL).get, some)
      case (Schema.Type.RECORD, nested: GenericRecord) =>
        val copy = new GenericData.Record(schema)
        schema.getFields.asScala.foreach(f =>
          copy.put(f.name, if (f.name == "unknown") "x" else valueOf(f.schema, nested.get(f.name))))
        copy
      case (Schema.Type.ARRAY, list: java.util.Collection[_]) =>
        list.asScala.map(valueOf(schema.getElementType, _)).toList.asJava
      case (Schema.Type.MAP, map: java.util.Map[_, _]) =>
        map.asScala.map { case (key, v) => key.toString -> valueOf(schema.getValueType, v) }.toMap.asJava
      case (_, other) => other
    }
    val record = stored(name)
    AvroRecords.encode(valueOf(schemaOf(record.getSchema), record).asInstanceOf[GenericRecord])
  }

  records.foreach { case (name, encoded) =>
    test(s"$name: encoded schema and bytes equal the stored ones") {
      assert(parts(encoded()) == golden(s"$name.txt"))
    }
  }

  for ((name, metadata) <- Seq("commit" -> commit, "commit-empty" -> noCommit); isReplace <- Seq(false, true))
    test(s"$name as JSON, of a replacecommit: $isReplace, equals the stored text") {
      val kind = if (isReplace) name.replace("commit", "replace") else name
      assert(new String(CommitMetadataJson.encode(metadata, isReplace), UTF_8) == golden(s"$kind.json").stripLineEnd)
    }

  test("stored commits are read from Avro and JSON with the fields that each has") {
    assert(CommitMetadata.decode(bytes("replace")).allStats.map(_.copy(logOffset = None)) ==
      commit.allStats.map(s => s.copy(logOffset = None, partitionPath = if (s.path.isEmpty) "" else "p")))
    assert(CommitMetadata.decode(bytes("replace")).stats("p").map(_.logOffset) ==
      Seq(None, Some(3L), Some(0L), Some(4L)))
    assert(CommitMetadata.decode(bytes("replace")).copy(stats = Map.empty) == commit.copy(stats = Map.empty))
    assert(CommitMetadata.decode(bytes("commit")).replacedFileIds.isEmpty)
    assert(CommitMetadata.decode(bytes("commit-empty")).stats.isEmpty)
    val json = CommitMetadata.decode(golden("replace.json").getBytes(UTF_8))
    assert(json.stats("p").head ==
      baseStat.copy(totalLogFilesCompacted = 0, totalLogReadTimeMs = 0, totalLogSizeCompacted = 0))
    assert(json.stats("p")(1) == logStat && json.stats("") == Nil)
    assert(json.stats("p")(2) == WriteStat("h", "", logVersion = Some(1), logOffset = Some(0), baseFile = Some("")))
    assert(json.stats("p")(3) == WriteStat("i", ""))
    assert(json.extra == commit.extra && json.replacedFileIds == commit.replacedFileIds)
  }

  test("JSON with unexpected types is read: texts of digits as counts, other values as texts") {
    val stat = CommitMetadata.decode("""{"partitionToWriteStats":{"p":[{"fileId":1,"numWrites":"12","numInserts":1.9,
        |"logVersion":"1","logOffset":"5","minEventTime":2.5,"logFiles":[1,null],"cdcStats":{"a":"3","b":null},
        |"numDeletes":true,"totalLogFilesCompacted":4}]}}""".stripMargin.getBytes(UTF_8)).stats("p").head
    assert(stat == WriteStat("1", "", numWrites = 12, numInserts = 1, partitionPath = "p", minEventTime = Some(2),
      logFiles = Seq("1", "null"), cdcStats = Map("a" -> 3L, "b" -> 0L), numDeletes = stat.numDeletes))
    assert(stat.numDeletes <= 1)
    val old = CommitMetadata.decode(
      """{"partitionToWriteStats":{"p":[{"logVersion":0,"logOffset":0}]}}""".getBytes(UTF_8)).stats("p").head
    assert(old == WriteStat("", "", partitionPath = "p", logOffset = Some(0)))
  }

  test("commits with fewer fields are read unless a required field of a statistic is missing") {
    val needed = Seq("partitionToWriteStats", "extraMetadata", "fileId", "path", "partitionPath", "fileSizeInBytes")
    val read   = CommitMetadata.decode(only("replace", needed: _*))
    assert(read.operationType == OperationType.Unknown && read.extra == commit.extra && read.replacedFileIds.isEmpty)
    assert(read.stats("p").head == WriteStat("f-0", "p/f-0_0-0-0_1.parquet", fileSizeInBytes = 5, partitionPath = "p"))
    assert(read.stats("p")(1) ==
      WriteStat("g-0", "p/.g-0_1.log.1_0-0-0", fileSizeInBytes = 50, partitionPath = "p", checksums = "0a1b"))
    for (missing <- needed) {
      val error =
        intercept[IllegalArgumentException](CommitMetadata.decode(only("replace", needed.filter(_ != missing): _*)))
      assert(error.getMessage.endsWith(s"has no $missing"))
    }
  }

  test("stored plans are read, with fewer fields too") {
    assert(CompactionPlan.decode(bytes("compaction")) == compaction.copy(operations =
      compaction.operations.map(o => o.copy(metrics = Map("TOTAL_LOG_FILES_SIZE" -> 0.0) ++ o.metrics))))
    assert(CompactionPlan.decode(bytes("compaction-empty")) == CompactionPlan(Nil))
    assert(CompactionPlan.decode(only("compaction", "operations", "fileId")) ==
      CompactionPlan(Seq("f", "g").map(CompactionOperation("", _, "", None, Nil))))
    assert(CompactionPlan.decode(only("compaction")) == CompactionPlan(Nil))

    assert(RequestedReplace.decode(bytes("clustering")) ==
      RequestedReplace(Some(OperationType.Cluster), Some(clustering)))
    assert(RequestedReplace.decode(bytes("requested-replace")) == RequestedReplace(None, None))
    assert(RequestedReplace.decode(only("clustering", "clusteringPlan", "inputGroups", "slices", "fileId")) ==
      RequestedReplace(None,
        Some(ClusteringPlan(Seq(ClusteringGroup(Seq(ClusteringSlice("", "f", None, Nil),
                  ClusteringSlice("", "g", None, Nil)), 1)), Map.empty, preservesCommit = true))))
    assert(RequestedReplace.decode(only("clustering")) == RequestedReplace(None, None))
  }

  test("stored rollbacks are read, with fewer fields too") {
    assert(RollbackPlan.decode(bytes("rollback-plan")) ==
      RollbackPlan("100", "commit", Map("p" -> Seq("p/a"), "q" -> Seq("q/c"))))
    assert(RollbackPlan.decode(only("rollback-plan")) == RollbackPlan("", "", Map.empty))
    assert(RollbackMetadata.decode(bytes("rollback")) ==
      rollback.copy(deleted = Map("p" -> Seq("p/a"), "q" -> Nil)))
    assert(RollbackMetadata.decode(only("rollback")) == RollbackMetadata("", 0, Nil, Map.empty))
    assert(RollbackMetadata.decode(only("rollback", "instantsRollback", "commitTime", "partitionMetadata",
        "successDeleteFiles")) == RollbackMetadata("", 0, Seq(RolledBack("100", "")),
      Map("p" -> Seq("p/a"), "q" -> Nil)))
  }

  test("stored restores are read, with fewer fields too") {
    assert(RestorePlan.decode(bytes("restore-plan")).contains(restore))
    assert(RestorePlan.decode(bytes("completed-rollback-plan")).contains(restore.copy(target = None)))
    assert(RestorePlan.decode(only("restore-plan", "instantsToRollback")).isEmpty)
    assert(RestorePlan.decode(only("restore-plan", "removedInstants", "action")).contains(
        RestorePlan(None, Seq(RolledBack("", "commit"), RolledBack("", "deltacommit")), Map.empty, Map.empty)))
    val read = RestoreMetadata.decode(bytes("restore"))
    assert(read.copy(rollbacks = Map.empty) == RestoreMetadata("300", 5, restored, Map.empty))
    assert(read.rollbacks == Map("100" -> rollback.copy(deleted = Map("p" -> Seq("p/a"), "q" -> Nil))))
    assert(RestoreMetadata.decode(only("restore", "instantsToRollback")) ==
      RestoreMetadata("", 0, restored.map(_.copy(action = "")), Map.empty))
    assert(intercept[IllegalArgumentException](RestoreMetadata.decode(only("restore"))).getMessage.endsWith(
        "has no instantsToRollback"))
  }

  test("stored cleans and savepoints are read, with fewer fields too") {
    assert(CleanPlan.decode(bytes("clean-plan")) == cleanPlan)
    assert(CleanPlan.decode(bytes("clean-plan-empty")) == CleanPlan(None, "", "", Map.empty))
    assert(CleanPlan.decode(only("clean-plan", "policy", "filePathsToBeDeletedPerPartition", "filePath")) ==
      CleanPlan(None, "", "KEEP", Map("p" -> Seq("a", "b")), version = 1))
    assert(CleanMetadata.decode(bytes("clean")) == clean)
    assert(CleanMetadata.decode(only("clean", "earliestCommitToRetain", "partitionMetadata")) ==
      CleanMetadata("", 0, 0, Some("100"), "",
        Map("p" -> CleanedPartition("", Nil, Nil, isRemoved = false)), Map.empty, 1))
    assert(SavepointMetadata.decode(bytes("savepoint")) == SavepointMetadata("me", 7, "why", Map("p" -> Seq("a", "b"))))
    assert(SavepointMetadata.decode(only("savepoint", "partitionMetadata", "savepointDataFile")) ==
      SavepointMetadata("", 0, "", Map("p" -> Seq("a", "b"))))
    for (
      (read, message) <- Seq[(() => Any, String)](
        (() => CleanPlan.decode(only("clean-plan", "policy")), "filePathsToBeDeletedPerPartition"),
        (() => CleanMetadata.decode(only("clean", "partitionMetadata")), "earliestCommitToRetain"),
        (() => SavepointMetadata.decode(only("savepoint", "partitionMetadata")), "savepointDataFile"))
    )
      assert(intercept[IllegalArgumentException](read()).getMessage.endsWith(s"has no $message"))
  }
}
