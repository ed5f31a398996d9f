package io.merganser.table.commit

import io.merganser.merge.MerganserException
import io.merganser.table.TableSuite
import io.merganser.table.file.{BaseFile, LogFile}
import io.merganser.table.options.{ForeignOptions, Options, Permits}
import io.merganser.table.properties.{TableConfig, TableProperties, Treatment}
import io.merganser.table.slice.{FileSlice, LogInserts}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{Action, CommitMetadata, Instant, InstantState, OperationType, Timeline, WriteStat}
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
    TableFeatures.requireReadable(s, config, Timeline.load(s, config))
    config
  }

  private def refusal(body: => Any): MerganserException = intercept[MerganserException](body)

  /** What each way of writing is refused for; all of them for the same. */
  private def writeRefusal(s: Storage, permits: Permits = Permits()): MerganserException = {
    val config = TableConfig.load(s)
    val refused = Seq[() => Any](
      () => Transaction.begin(s, config, Action.DeltaCommit, options = Transaction.Options(permits = permits)),
      () => CompactionSchedule.schedule(s, config, permits = permits)(_ => None),
      () =>
        ScheduledCompactions.begin(s, config, Instant("1", Action.Compaction, InstantState.Requested),
          Transaction.Options(permits = permits))
    ).map(write => refusal(write()))
    assert(refused.map(e => (e.condition, e.getMessage)).distinct.size == 1, refused.map(_.getMessage))
    assert(names(s, config.timelineFolder).forall(name => !name.endsWith("deltacommit.requested")))
    refused.head
  }

  test(
    "each property of Hudi's that refuses writing or reading does so in every version, with its value in the error") {
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

  test("a table without stored keys is read where nothing is merged: copy-on-write, not merge-on-read") {
    val virtual = "hoodie.populate.meta.fields" -> "false"
    assert(writeRefusal(foreign(virtual)(mergeOnRead = false)).condition == "TABLE_FEATURE_READ_ONLY")
    assert(refusal(open(foreign(virtual)())).condition == "TABLE_FEATURE_UNREADABLE")
  }

  test(
    "paths of dates in three levels refuse writing where only the class that takes them apart is stored, " +
      "unless times make the paths") {
    val slashed =
      "hoodie.table.partition_extractor_class" -> "org.apache.hudi.hive.SlashEncodedDayPartitionValueExtractor"
    val refused = writeRefusal(foreign(slashed)(mergeOnRead = false))
    assert(refused.condition == "TABLE_FEATURE_READ_ONLY" && refused.getMessage.contains("partition_extractor_class"))
    val timed = foreign(slashed, "hoodie.table.keygenerator.type" -> "TIMESTAMP")()
    Transaction.begin(timed, open(timed), Action.DeltaCommit).rollback()
  }

  test(
    "a property that nobody knows refuses writing unless the write allows it; " +
      "the user's own words and stored options do not") {
    val s = foreign("hoodie.table.future.feature" -> "on")()
    open(s)
    val e = writeRefusal(s)
    assert(e.condition == "TABLE_PROPERTY_UNKNOWN" && e.getMessage.contains("hoodie.table.future.feature") &&
      e.getMessage.contains(s"${Options.AllowUnknownProperties.key}=true"))
    Transaction.begin(s, open(s), Action.DeltaCommit,
      options = Transaction.Options(permits = Permits(unknownProperties = true))).rollback()
    assert(writeRefusal(foreign("primarkey" -> "id")()).condition == "TABLE_PROPERTY_UNKNOWN")
    val known = foreign("owner.team" -> "lake", "hoodie.compact.inline" -> "true", "hoodie.metadata.enable" -> "true",
      "hoodie.table.cdc.enabled" -> "FALSE", "merganser.catalog.property.a" -> "b",
      "hoodie.record.merge.property.x" -> "y")()
    Transaction.begin(known, open(known), Action.DeltaCommit).rollback()
    // What a write refuses as an option it refuses where the table keeps it.
    val refusal = writeRefusal(foreign("hoodie.bucket.index.partition.expressions" -> "x,4")())
    assert(refusal.condition == "TABLE_FEATURE_READ_ONLY")
  }

  test("every option that only tables hold has a treatment") {
    val none = ForeignOptions.storedOnly.filter(TableProperties.of(_).isEmpty)
    assert(none.isEmpty)
  }

  private def schema(names: (Int, String)*): String =
    names.map { case (id, name) => s"""{"id":$id,"name":"$name","optional":true,"type":"string"}""" }
      .mkString("""{"type":"record","fields":[""", ",", "]}")

  private def history(s: Storage, schemas: String*): Unit =
    s.createNew(".hoodie/.schema/2_3.schemacommit", schemas.mkString("{\"schemas\":[", ",", "]}").getBytes(UTF_8))

  test(
    "a history of columns in which one was renamed, or a dropped one's name came back, " +
      "refuses reading, whatever newer commits say") {
    for (version <- Seq(6, 8, 9)) {
      val added = foreign()(version)
      history(added, schema(1 -> "a", 2 -> "b"), schema(1 -> "a"))
      open(added)
      assert(writeRefusal(added).condition == "SCHEMA_ON_READ_TABLE")
      val renamed = foreign()(version)
      history(renamed, schema(1 -> "b"), schema(1 -> "a"))
      val again = foreign()(version)
      history(again, schema(3 -> "a"), schema(2 -> "b"), schema(1 -> "a"))
      val nested                = foreign()(version)
      def struct(field: String) = s"""{"type":"record","fields":[{"id":1,"name":"s","type":${schema(2 -> field)}}]}"""
      history(nested, struct("x"), struct("y"))
      for (s <- Seq(renamed, again, nested)) {
        assert(refusal(open(s)).condition == "TABLE_FEATURE_UNREADABLE")
        assert(writeRefusal(s).condition == "SCHEMA_ON_READ_TABLE")
      }
    }
    val lost = foreign()()
    instantFile(lost, "100_110.commit",
      CommitMetadata(OperationType.Upsert, Map.empty, Map("schema" -> "{}", "latest_schema" -> schema(1 -> "a"))))
    assert(refusal(open(lost)).condition == "TABLE_FEATURE_UNREADABLE")
  }

  test("buckets with metadata of their own refuse writing, and reading while they are split") {
    val s = foreign()()
    s.createNew(".hoodie/.bucket_index/consistent_hashing_metadata/p/00000000000000.hashing_meta", Array[Byte](1))
    open(s)
    assert(writeRefusal(s).getMessage.contains("consistent hashing"))
    s.createNew(".hoodie/timeline/100.clustering.requested", Array.emptyByteArray)
    assert(refusal(open(s)).getMessage.contains("100"))
  }

  test("a pending restore, a pending indexing and an action that nobody knows refuse writing") {
    val restoring = foreign()()
    restoring.createNew(".hoodie/timeline/100.restore.inflight", Array.emptyByteArray)
    assert(writeRefusal(restoring).getMessage.contains("restore 100"))
    val indexing = foreign()()
    indexing.createNew(".hoodie/timeline/100.indexing.requested", Array.emptyByteArray)
    assert(writeRefusal(indexing).getMessage.contains(Options.DropIndexes.key))
    Transaction.begin(indexing, open(indexing), Action.Commit,
      options = Transaction.Options(permits = Permits(dropIndexes = true)))
      .rollback()
    val unknown = foreign()()
    unknown.createNew(".hoodie/timeline/100_101.reshuffle", Array.emptyByteArray)
    unknown.createNew(".hoodie/timeline/notes.txt", Array.emptyByteArray)
    assert(writeRefusal(unknown).getMessage.contains("'100_101.reshuffle'"))
    Transaction.begin(unknown, open(unknown), Action.Commit,
      options = Transaction.Options(permits = Permits(unknownProperties = true)))
      .rollback()
  }

  test("a write that is refused rolls back nothing before, and an upgrade is refused alike") {
    val s = foreign("hoodie.table.cdc.enabled" -> "true")(6)
    s.createNew(".hoodie/100.deltacommit.requested", Array.emptyByteArray)
    val config   = open(s)
    val settings = io.merganser.table.settings.WriteConfig.parse(Map.empty, Map.empty, config)
    assert(conditionOf(Rollback.failed(s, config, Transaction.Options.of(settings))) == "TABLE_FEATURE_READ_ONLY")
    assert(conditionOf(TableUpgrade.run(s, new StructType)) == "TABLE_FEATURE_READ_ONLY")
    assert(s.exists(".hoodie/100.deltacommit.requested"))
  }

  test(
    "logs may hold keys of their own where there is no base file, " +
      "and where a commit says it inserted into one or is archived") {
    val s = foreign()()
    def stat(fileId: String, inserts: Long) =
      WriteStat(fileId, s"p/${log(fileId, "200")}", numInserts = inserts, partitionPath = "p")
    instantFile(s, "100_110.deltacommit")
    instantFile(s, "200_210.deltacommit",
      CommitMetadata(OperationType.Upsert, Map("p" -> Seq(stat("updated", 0), stat("inserted", 3))), Map.empty))
    def slice(fileId: String, baseInstant: String, base: Boolean, logs: Boolean) = FileSlice("p", fileId, baseInstant,
      if (base) Some(BaseFile("p", fileId, baseInstant, "x", 1)) else None,
      if (logs) Seq(LogFile("p", fileId, "200", 1, None, "y", 1)) else Nil)
    val slices = IndexedSeq(slice("updated", "100", base = true, logs = true),
      slice("inserted", "100", base = true, logs = true),
      slice("alone", "200", base = false, logs = true), slice("plain", "100", base = true, logs = false),
      slice("archived", "050", base = true, logs = true))
    s.createNew(".hoodie/timeline/history/manifest_1", Array.emptyByteArray) // something is archived
    assert(LogInserts.in(slices, Timeline.load(s, TableConfig.load(s))) == Set(1, 2, 4))
    assert(LogInserts.withoutBase(slices) == Set(2))
  }
}
