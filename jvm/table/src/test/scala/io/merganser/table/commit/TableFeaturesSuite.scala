package io.merganser.table.commit

import io.merganser.merge.MerganserException
import io.merganser.table.TableSuite
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.file.{BaseFile, LogFile, PartitionMetadata}
import io.merganser.table.index.HashRing
import io.merganser.table.options.{ForeignOptions, Options, Permits}
import io.merganser.table.properties.{TableConfig, TableProperties, Treatment}
import io.merganser.table.schema.{InternalSchema, InternalSchemaJson}
import io.merganser.table.settings.TableAccess
import io.merganser.table.slice.{FileSlice, LogInserts}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{
  Action,
  CommitMetadata,
  Instant,
  InstantState,
  OperationType,
  PlannedClustering,
  Timeline,
  WriteStat
}
import org.apache.spark.sql.types.StructType

import java.nio.charset.StandardCharsets.UTF_8

/** Tables of other engines that have what we do not: read where rows are right, else refused by name. */
final class TableFeaturesSuite extends TableSuite {

  /** Stores properties as another engine does, past our checks. */
  private def foreign(extra: (String, String)*)(version: Int = 9, mergeOnRead: Boolean = true): Storage = {
    val s = Storage(folder.resolve(java.util.UUID.randomUUID.toString).toUri.toString,
      new org.apache.hadoop.conf.Configuration())
    s.createNew(".hoodie/hoodie.properties",
      (properties(version, mergeOnRead) ++ extra).map { case (k, v) => s"$k=$v" }.mkString("\n").getBytes(UTF_8))
    s.makeFolder(TableConfig(properties(version)).timelineFolder)
    s
  }

  private def open(s: Storage): TableConfig = {
    val config = TableConfig.load(s)
    TableFeatures.requireReadable(s, Timeline.load(s, config))
    config
  }

  private def refusal(body: => Any): MerganserException = intercept[MerganserException](body)

  /** What each way of writing is refused for; all of them for the same. */
  private def writeRefusal(s: Storage, permits: Permits = Permits()): MerganserException = {
    val config = TableConfig.load(s)
    val refused = Seq[() => Any](
      () =>
        Transaction.begin(s, config, Action.DeltaCommit, options = Transaction.Options(TableAccess(permits = permits))),
      () => CompactionSchedule.schedule(s, config, TableAccess(permits = permits))(_ => None),
      () =>
        ScheduledCompactions.begin(s, config, Instant("1", Action.Compaction, InstantState.Requested),
          Transaction.Options(TableAccess(permits = permits)))
    ).map(write => refusal(write()))
    assert(refused.map(e => (e.condition, e.getMessage)).distinct.size == 1, refused.map(_.getMessage))
    assert(names(s, config.timelineFolder).forall(name => !name.endsWith("deltacommit.requested")))
    refused.head
  }

  test("each unsupported property refuses writing or reading in every version, with its value") {
    val versions = Iterator.continually(Seq(6, 8, 9)).flatten
    for (property <- TableProperties.all if property.reason.nonEmpty; version = versions.next()) {
      val s = foreign(property.key -> "odd")(version, mergeOnRead = false)
      if (property.treatment == Treatment.RefusesReading) {
        val e = refusal(TableConfig.load(s))
        assert(Set("TABLE_FEATURE_UNREADABLE", "BASE_FORMAT_UNSUPPORTED", "BOOTSTRAP_TABLE")(e.condition) && e
          .getMessage.contains("odd"))
      } else {
        open(s)
        val e = writeRefusal(s, Permits(dropIndexes = true, unknownProperties = true))
        assert(e.condition == "TABLE_FEATURE_READ_ONLY" && e.getMessage.contains(s"${property.key} is 'odd'"))
      }
      for (fine <- property.accepted :+ "")
        TableProperties.requireWritable("t",
          TableConfig(properties() + (property.key -> fine.toLowerCase(java.util.Locale.ROOT))), false)
    }
  }

  test("a table without stored keys is writable only if its keys can be computed") {
    val virtual = "hoodie.populate.meta.fields" -> "false"
    Transaction.begin(foreign(virtual)(), open(foreign(virtual)()), Action.DeltaCommit).rollback()
    val keyless = foreign(virtual, "hoodie.table.recordkey.fields" -> "")(mergeOnRead = false)
    open(keyless)
    val refused = writeRefusal(keyless)
    assert(refused.condition == "TABLE_FEATURE_READ_ONLY" && refused.getMessage.contains("populate.meta.fields"))
  }

  test("a table without partition columns in its files is read, and written unless its paths are times") {
    val dropped = "hoodie.datasource.write.drop.partition.columns" -> "true"
    Transaction.begin(foreign(dropped)(), open(foreign(dropped)()), Action.DeltaCommit).rollback()
    val times =
      foreign(dropped, "hoodie.table.partition.fields" -> "day", "hoodie.table.keygenerator.type" -> "TIMESTAMP")()
    open(times)
    val refused = writeRefusal(times)
    assert(refused.condition == "TABLE_FEATURE_READ_ONLY" && refused.getMessage.contains("drop.partition.columns"))
  }

  test("day paths of three levels are writable, and paths of an hour extractor are not") {
    val paths                   = "hoodie.table.partition_extractor_class"
    def extractor(unit: String) = paths -> s"org.apache.hudi.hive.SlashEncoded${unit}PartitionValueExtractor"
    val partitioned             = "hoodie.table.partition.fields" -> "day"
    val days                    = foreign(extractor("Day"), partitioned)()
    assert(TableConfig.load(days).hasSlashedDates)
    Transaction.begin(days, open(days), Action.DeltaCommit).rollback()
    val hours   = foreign(extractor("Hour"), partitioned)()
    val refused = writeRefusal(hours)
    assert(!TableConfig.load(hours).hasSlashedDates)
    assert(refused.condition == "TABLE_FEATURE_READ_ONLY" && refused.getMessage.contains(paths))
    val timed = foreign(extractor("Hour"), partitioned, "hoodie.table.keygenerator.type" -> "TIMESTAMP")()
    Transaction.begin(timed, open(timed), Action.DeltaCommit).rollback()
  }

  test("an unknown property refuses writing unless allowed, and custom ones do not") {
    val s = foreign("hoodie.table.future.feature" -> "on")()
    open(s)
    val e = writeRefusal(s)
    assert(e.condition == "TABLE_PROPERTY_UNKNOWN" && e.getMessage.contains("hoodie.table.future.feature") &&
      e.getMessage.contains(s"${Options.AllowUnknownProperties.key}=true"))
    Transaction.begin(s, open(s), Action.DeltaCommit,
      options = Transaction.Options(TableAccess(permits = Permits(unknownProperties = true)))).rollback()
    assert(writeRefusal(foreign("primarkey" -> "id")()).condition == "TABLE_PROPERTY_UNKNOWN")
    val known = foreign("owner.team" -> "lake", "hoodie.compact.inline" -> "true", "hoodie.metadata.enable" -> "true",
      "hoodie.table.cdc.enabled" -> "true", "merganser.catalog.property.a" -> "b",
      "hoodie.record.merge.property.x" -> "y")()
    Transaction.begin(known, open(known), Action.DeltaCommit).rollback()
    // What a write refuses as an option it refuses where the table keeps it.
    val refusal = writeRefusal(foreign("hoodie.index.class" -> "x.Index")())
    assert(refusal.condition == "TABLE_FEATURE_READ_ONLY")
  }

  test("every option of tables alone has a treatment") {
    val none = ForeignOptions.storedOnly.filter(TableProperties.of(_).isEmpty)
    assert(none.isEmpty)
  }

  private def history(s: Storage, instant: String, columns: String*): Unit = {
    val versions = columns.zipWithIndex.map { case (ddl, i) =>
      InternalSchema.initial(StructType.fromDDL(ddl)).copy(version =
        i.toLong)
    }
    s.createNew(s".hoodie/.schema/${instant}_999.schemacommit",
      InternalSchemaJson.ofAll(versions.reverse).getBytes(UTF_8))
  }

  test("column versions are those of the newest commit that stored them, and missing ones refuse reading") {
    val s        = foreign()()
    def versions = Timeline.load(s, open(s)).history.map(_.versions.size)
    def commit(i: String) =
      instantFile(s, s"${i}_$i.commit", CommitMetadata(OperationType.Upsert, Map.empty, Map.empty))
    assert(versions.isEmpty)
    history(s, "100", "a INT", "b INT")
    commit("100")
    assert(versions.contains(2))
    history(s, "200", "a INT", "b INT", "c INT")
    assert(versions.contains(2), "its commit is not completed")
    commit("200")
    assert(versions.contains(3))
    history(s, "300")
    commit("300")
    assert(refusal(open(s)).condition == "TIMELINE_FILE_UNREADABLE")
    val lost = foreign()()
    instantFile(lost, "100_110.commit",
      CommitMetadata(OperationType.Upsert, Map.empty, Map("schema" -> "{}", "latest_schema" -> "{}")))
    assert(refusal(open(lost)).condition == "TABLE_FEATURE_UNREADABLE")
  }

  test("a write extends the column versions with new ids and removes those of failed writes") {
    for (version <- Seq(6, 9)) {
      val s                    = foreign()(version)
      def columns(ddl: String) = Map("schema" -> AvroSchemas.toAvro(StructType.fromDDL(ddl), "t").toString)
      def write(extra: Map[String, String], operation: OperationType = OperationType.Upsert): CommitMetadata = {
        val config = open(s)
        val begun  = Transaction.begin(s, config, Action.DeltaCommit)
        val done   = begun.commit(CommitMetadata(operation, Map.empty, extra), Set.empty)
        Timeline.load(s, config).metadata(done.requested).get
      }
      write(columns("id INT, a STRING"))
      assert(names(s, ".hoodie/.schema").isEmpty)
      val renamed =
        InternalSchema.initial(StructType.fromDDL("id INT, a STRING")).renamed(Seq("a"), "b").copy(version = 5)
      val json = Map("latest_schema" -> InternalSchemaJson.of(renamed))
      write(columns("id INT, b STRING") ++ json, OperationType.AlterSchema)
      assert(names(s, ".hoodie/.schema").count(
        _.matches("\\d+(_\\d+)?\\.schemacommit(\\.requested|\\.inflight)?")) == 3)
      s.createNew(".hoodie/.schema/99999999999999998.schemacommit.requested", Array.emptyByteArray)
      val same = write(columns("id INT, b STRING"))
      assert(InternalSchemaJson.parse(same.latestSchema.get) == renamed)
      assert(names(s, ".hoodie/.schema").forall(!_.startsWith("99999999999999998")))
      val added  = InternalSchemaJson.parse(write(columns("id INT, b STRING, c INT")).latestSchema.get)
      val latest = Timeline.load(s, open(s)).history.get
      assert(latest.newest == added && added.columns.last.id == renamed.maxColumnId + 1 && latest.versions.size == 3)
      assert(latest.versions.last.columns.map(_.name).takeRight(2) == Seq("id", "a"))
      // A compaction has the version of its own instant.
      val service = write(columns("id INT"), OperationType.Compact)
      assert(service.latestSchema.map(InternalSchemaJson.parse).contains(added))
      assert(Timeline.load(s, open(s)).history.contains(latest))
    }
  }

  test("buckets with metadata refuse writing while they are split or under another stored index") {
    def rings(s: Storage): Storage = {
      val ring = HashRing.first("p", 2)
      s.createNew(s".hoodie/.bucket_index/consistent_hashing_metadata/p/${ring.fileName}", ring.toJson.getBytes(UTF_8))
      s
    }
    val s = rings(foreign()())
    Transaction.begin(s, open(s), Action.DeltaCommit).rollback()
    val clustering = PlannedClustering.of(s, Seq(FileSlice("p", "a-0", "1", None, Nil)))
    open(s)
    assert(writeRefusal(s).getMessage.contains(clustering))
    for (stored <- Seq("SIMPLE", "BUCKET"))
      assert(writeRefusal(rings(foreign("hoodie.index.type" -> stored)())).getMessage.contains("consistent hashing"))
    val ours = rings(foreign("hoodie.index.type" -> "BUCKET", "hoodie.index.bucket.engine" -> "CONSISTENT_HASHING")())
    Transaction.begin(ours, open(ours), Action.DeltaCommit).rollback()
  }

  test("a pending restore, a pending indexing and an unknown action refuse writing") {
    val restoring = foreign()()
    restoring.createNew(".hoodie/timeline/100.restore.inflight", Array.emptyByteArray)
    assert(writeRefusal(restoring).getMessage.contains("restore 100"))
    val indexing = foreign()()
    indexing.createNew(".hoodie/timeline/100.indexing.requested", Array.emptyByteArray)
    assert(writeRefusal(indexing).getMessage.contains(Options.DropIndexes.key))
    Transaction.begin(indexing, open(indexing), Action.Commit,
      options = Transaction.Options(TableAccess(permits = Permits(dropIndexes = true))))
      .rollback()
    val unknown = foreign()()
    unknown.createNew(".hoodie/timeline/100_101.reshuffle", Array.emptyByteArray)
    unknown.createNew(".hoodie/timeline/notes.txt", Array.emptyByteArray)
    assert(writeRefusal(unknown).getMessage.contains("'100_101.reshuffle'"))
    Transaction.begin(unknown, open(unknown), Action.Commit,
      options = Transaction.Options(TableAccess(permits = Permits(unknownProperties = true))))
      .rollback()
  }

  test("a refused write rolls back nothing, and an upgrade is refused too") {
    val s = foreign("hoodie.index.class" -> "x.Index")(6)
    s.createNew(".hoodie/100.deltacommit.requested", Array.emptyByteArray)
    val config   = open(s)
    val settings = io.merganser.table.settings.WriteConfig.parse(Map.empty, Map.empty, config)
    assert(conditionOf(Rollback.failed(s, config, Transaction.Options.of(settings))) == "TABLE_FEATURE_READ_ONLY")
    assert(conditionOf(TableUpgrade.run(s, new StructType)) == "TABLE_FEATURE_READ_ONLY")
    assert(s.exists(".hoodie/100.deltacommit.requested"))
  }

  test("an upgrade is refused if the new timeline folder has files that the timeline lacks") {
    def old(name: String) = {
      val s = faulty(name)
      table(6, s)
      PartitionMetadata.write(s, "p", "1")
      instantFile(s, "100.commit")
      instantFile(s, "200.commit")
      s
    }
    val columns = new StructType().add("id", "int")
    for (
      moved <- Seq("300_310.commit", "100_110.deltacommit", "300_310.reshuffle", "notes.txt", "history/_version_",
        "history/100_200_0.parquet")
    ) {
      val s    = old(moved.replace('/', '-'))
      val file = s".hoodie/timeline/$moved"
      s.createNew(".hoodie/timeline/100_105.commit", Array[Byte](1))
      s.createNew(file, Array[Byte](1))
      val error = intercept[MerganserException](TableUpgrade.run(s, columns))
      assert(error.condition == "UPGRADE_REFUSED", moved)
      assert(Seq(moved, ".hoodie/timeline", "complete its upgrade").forall(error.getMessage.contains), error)
      assert(s.exists(file) && s.exists(".hoodie/timeline/100_105.commit") && TableConfig.load(s).version == 6)
      s.delete(file)
      assert(TableUpgrade.run(s, columns).version == 9)
      assert(Timeline.load(s, TableConfig.load(s)).completed.map(_.requested) == Seq("100", "200"))
      assert(!s.exists(".hoodie/timeline/100_105.commit"))
    }
  }

  test("logs may have keys of their own without a base file or after certain commits") {
    val s = foreign()()
    def stat(fileId: String, inserts: Long = 0, base: String = "x") =
      WriteStat(fileId, s"p/${log(fileId, "200")}", numInserts = inserts, partitionPath = "p", baseFile = Some(base))
    instantFile(s, "100_110.deltacommit")
    instantFile(s, "150_250.commit")
    val written =
      Seq(stat("updated"), stat("inserted", inserts = 3), stat("rewritten", base = "older"), stat("concurrent"))
    instantFile(s, "200_210.deltacommit", CommitMetadata(OperationType.Upsert, Map("p" -> written), Map.empty))
    def slice(fileId: String, baseInstant: String, base: Boolean, logs: Boolean, logInstant: String = "200") =
      FileSlice("p", fileId, baseInstant,
        if (base) Some(BaseFile("p", fileId, baseInstant, "x", 1)) else None,
        if (logs) Seq(LogFile("p", fileId, logInstant, 1, None, log(fileId, logInstant), 1)) else Nil)
    val slices = IndexedSeq(slice("updated", "100", base = true, logs = true),
      slice("inserted", "100", base = true, logs = true),
      slice("alone", "200", base = false, logs = true), slice("plain", "100", base = true, logs = false),
      slice("archived", "050", base = true, logs = true, logInstant = "060"),
      slice("rewritten", "050", base = true, logs = true), slice("concurrent", "150", base = true, logs = true))
    s.createNew(".hoodie/timeline/history/manifest_1", Array.emptyByteArray) // something is archived
    val config                     = TableConfig.load(s)
    def found(areBuckets: Boolean) = LogInserts.in(slices, config, Timeline.load(s, config), areBuckets)
    assert(found(areBuckets = false) == Set(1, 2, 4, 5, 6))
    assert(found(areBuckets = true) == Set(0, 1, 2, 4, 5, 6))
  }

  test("version 6: logs of writes that may have begun before the base file may have keys of their own") {
    val s           = foreign()(version = 6)
    val compaction  = "20260101000000000"
    val completedMs = java.time.Instant.parse("2026-01-01T00:00:02Z").toEpochMilli
    instantFile(s, s"$compaction.commit")
    val slices = Seq("earlier" -> 1000, "within" -> 2500, "later" -> 3000).map { case (fileId, ms) =>
      val name = log(fileId, compaction)
      val stat = WriteStat(fileId, s"p/$name", partitionPath = "p", baseFile = Some("x"), logVersion = Some(1))
      instantFile(s, f"2026010100000$ms%04d.deltacommit",
        CommitMetadata(OperationType.Upsert, Map("p" -> Seq(stat)), Map.empty))
      FileSlice("p", fileId, compaction, Some(BaseFile("p", fileId, compaction, "x", 1)),
        Seq(LogFile("p", fileId, compaction, 1, None, name, 1)))
    }.toIndexedSeq
    val config = TableConfig.load(s)
    def found(ms: Int) = {
      s.fs.setTimes(s.path(s".hoodie/$compaction.commit"), completedMs + ms, -1)
      LogInserts.in(slices, config, Timeline.load(s, config), areBuckets = false).map(slices(_).fileId)
    }
    assert(found(ms = 100) == Set("earlier"))
    assert(found(ms = 0) == Set("earlier", "within"))
  }
}
