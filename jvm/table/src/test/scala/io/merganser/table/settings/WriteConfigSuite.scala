package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{FailedWrites, IndexType, NullOrdering, StoredKeyPolicy, WriteOperation, WriteSource}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.{MergeMode, StoredRule}
import io.merganser.table.storage.StorageLock
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

class WriteConfigSuite extends AnyFunSuite {

  private val schema = StructType.fromDDL("id INT, name STRING, ts BIGINT, o INT, day STRING")
  private val base = Map("hoodie.datasource.write.recordkey.field" -> "id", "hoodie.table.ordering.fields" -> "ts",
    "hoodie.datasource.write.partitionpath.field" -> "day")

  private def table(more: (String, String)*): TableConfig =
    TableConfig(NewTable.properties(base ++ more, schema, "trips"))

  private def parse(table: TableConfig, options: (String, String)*): WriteConfig =
    WriteConfig.parse(options.toMap, Map.empty, table)

  private def conflict(table: TableConfig, option: (String, String)): MerganserException =
    intercept[MerganserException](parse(table, option))

  test("a write without options is an upsert that combines its rows and looks up keys") {
    val config = parse(table())
    assert(config.operation == WriteOperation.Upsert && config.combineBeforeUpsert && !config.combineBeforeInsert)
    assert(config.index == IndexType.Simple(bloomFilters = false) && config.storedKeys == StoredKeyPolicy.InsertAgain)
    assert(config.failedWrites == FailedWrites.Eager && config.nullOrdering == NullOrdering.Lowest)
    assert(!config.compaction.isInline)
  }

  test("an unknown lock provider is refused for several writers and ignored for a single one") {
    val several   = "hoodie.write.concurrency.mode" -> "OPTIMISTIC_CONCURRENCY_CONTROL"
    val zookeeper = "hoodie.write.lock.provider" -> "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider"
    val error     = intercept[MerganserException](parse(table(), several, zookeeper))
    assert(error.condition == "LOCK_PROVIDER_UNSUPPORTED" && error.getMessage.contains("ZookeeperBasedLockProvider"))
    assert(!parse(table(), zookeeper).access.lock.severalWriters)
    for (known <- Seq("FileSystemBasedLockProvider", "InProcessLockProvider", "StorageBasedLockProvider"))
      assert(parse(table(), several,
          "hoodie.write.lock.provider" -> s"org.apache.hudi.client.transaction.lock.$known").access.lock.severalWriters,
        known)
  }

  test("the storage-based lock provider takes its validity and renewal from its options") {
    val several  = "hoodie.write.concurrency.mode" -> "OPTIMISTIC_CONCURRENCY_CONTROL"
    val provider = "hoodie.write.lock.provider" -> "org.apache.hudi.client.transaction.lock.StorageBasedLockProvider"
    val validity = "hoodie.write.lock.storage.validity.timeout.secs"
    assert(parse(table(), several, provider).access.lock.storageLease.contains(StorageLock.Lease(300000, 30000)))
    Seq("renew.interval", "heartbeat.poll").foreach { renewal =>
      val config =
        parse(table(), several, provider, validity -> "20", s"hoodie.write.lock.storage.$renewal.secs" -> "2")
      assert(config.access.lock.storageLease.contains(StorageLock.Lease(20000, 2000)))
    }
    assert(parse(table(), provider).access.lock.storageLease.isEmpty && parse(table(), several).access.lock.storageLease
      .isEmpty)
  }

  test("options that repeat what the table stores are accepted, in any case") {
    val all = base ++ Map("hoodie.write.record.merge.mode" -> "event_time_ordering",
      "hoodie.record.merge.mode" -> "EVENT_TIME_ORDERING",
      "hoodie.write.record.merge.strategy.id" -> "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
      "hoodie.datasource.write.table.type" -> "cow",
      "hoodie.table.name" -> "trips",
      "hoodie.datasource.write.keygenerator.class" -> "org.apache.hudi.keygen.SimpleKeyGenerator",
      "hoodie.datasource.write.hive_style_partitioning" -> "false",
      "hoodie.write.table.version" -> "9", "hoodie.datasource.write.precombine.field" -> "ts",
      "hoodie.payload.ordering.field" -> "ts",
      "hoodie.datasource.write.payload.class" -> "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
      "hoodie.index.type" -> "BLOOM")
    assert(parse(table(), all.toSeq: _*).index == IndexType.Simple(bloomFilters = true))
  }

  test("an option that contradicts the table is refused naming it, its value and the table's") {
    val contradictions = Seq(
      ("hoodie.write.record.merge.mode", "COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING"),
      ("hoodie.write.record.merge.mode", "CUSTOM", "EVENT_TIME_ORDERING"),
      ("hoodie.write.record.merge.strategy.id", "ce9acb64-bde0-424c-9b91-f6ebba25356d",
        "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"), ("hoodie.table.ordering.fields", "o", "ts"),
      ("hoodie.datasource.write.recordkey.field", "name", "id"),
      ("hoodie.datasource.write.partitionpath.field", "name", "day"),
      ("hoodie.datasource.write.table.type", "MERGE_ON_READ", "COPY_ON_WRITE"),
      ("hoodie.table.name", "others", "trips"), ("hoodie.datasource.write.keygenerator.type", "COMPLEX", "SIMPLE"),
      ("hoodie.datasource.write.hive_style_partitioning", "true", "false"),
      ("hoodie.datasource.write.partitionpath.urlencode", "true", "false"),
      ("hoodie.datasource.write.payload.class", "org.apache.hudi.common.model.PartialUpdateAvroPayload",
        "EVENT_TIME_ORDERING"), ("hoodie.write.table.version", "8", "9"), ("hoodie.payload.ordering.field", "o", "ts"),
      ("hoodie.payload.delete.field", "name", "none"), ("hoodie.index.type", "BUCKET", "SIMPLE"),
      ("hoodie.table.partial.update.mode", "IGNORE_DEFAULTS", "none"),
      ("hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled", "true", "false"),
      ("hoodie.table.timeline.timezone", "LOCAL", "UTC"))
    for ((key, value, stored) <- contradictions) {
      val thrown = conflict(table(), key -> value)
      assert(thrown.condition == "CONFIG_CONFLICT", key)
      assert(Seq(key, s"'$value'", stored).forall(thrown.getMessage.contains), thrown.getMessage)
    }
  }

  test("the session's table settings are ignored for a table that stores others") {
    val conf = Map("hoodie.payload.ordering.field" -> "o",
      "spark.hoodie.write.record.merge.mode" -> "COMMIT_TIME_ORDERING",
      "hoodie.table.precombine.field" -> "o", "hoodie.index.type" -> "BUCKET",
      "hoodie.table.partial.update.mode" -> "IGNORE_DEFAULTS",
      "hoodie.datasource.write.payload.class" -> "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
      "hoodie.record.merge.property.hoodie.payload.delete.field" -> "name", "hoodie.combine.before.insert" -> "true")
    val config = WriteConfig.parse(Map.empty, conf, table())
    assert(config.rule == StoredRule.ByMode(MergeMode.EventTimeOrdering, Seq("ts")))
    assert(
      config.index == IndexType.Simple(bloomFilters = false) && config.combineBeforeInsert && config.deleteMark.isEmpty)
    val both =
      intercept[MerganserException](WriteConfig.parse(Map("hoodie.payload.ordering.field" -> "o"), conf, table()))
    assert(both.condition == "CONFIG_CONFLICT")
  }

  test("the session's table settings are used for a table that does not store them") {
    val foreign = TableConfig(table().properties - "hoodie.index.type")
    val config =
      WriteConfig.parse(Map.empty,
        Map("hoodie.index.type" -> "BLOOM", "spark.merganser.write.nullOrdering" -> "reject"), foreign)
    assert(config.index == IndexType.Simple(bloomFilters = true) && config.nullOrdering == NullOrdering.Reject)
  }

  test("ordering fields of a write to a table without any are accepted and ignored") {
    val plain = TableConfig(NewTable.properties(base - "hoodie.table.ordering.fields", schema, "trips"))
    parse(plain, "hoodie.table.ordering.fields" -> "ts")
    assert(MergeMode.of(plain) == MergeMode.CommitTimeOrdering)
  }

  test("the write that creates a table is not compared with it") {
    val options = base ++ Map("hoodie.write.record.merge.mode" -> "EVENT_TIME_ORDERING",
      "hoodie.datasource.write.payload.class" -> "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload")
    val made = TableConfig(NewTable.properties(options, schema, "trips"))
    WriteConfig.parse(options, Map.empty, made, creating = true)
    assert(intercept[MerganserException](WriteConfig.parse(options, Map.empty, made)).condition == "CONFIG_CONFLICT")
  }

  test("a payload class that is no merge rule is refused with a remedy, in the session too") {
    val classes = Seq("EmptyHoodieRecordPayload" -> "hoodie.datasource.write.operation to delete",
      "ExpressionPayload" -> "MERGE, UPDATE and DELETE need no payload class")
    for ((name, remedy) <- classes) {
      val option = "hoodie.datasource.write.payload.class" -> s"org.apache.hudi.common.model.$name"
      for (
        thrown <- Seq(intercept[MerganserException](parse(table(), option)),
          intercept[MerganserException](WriteConfig.parse(Map.empty, Map(option), table())))
      ) {
        assert(thrown.condition == "PAYLOAD_CLASS_REFUSED")
        assert(thrown.getMessage.contains(remedy) && thrown.getMessage.contains(name))
      }
    }
    parse(table(), "hoodie.datasource.write.operation" -> "delete")
  }

  test("an unsupported index of Hudi's is refused with the equivalent indexes") {
    def remedy(index: String) = intercept[MerganserException](table("hoodie.index.type" -> index)).getMessage
    assert(remedy("RECORD_INDEX").contains("Set it to GLOBAL_SIMPLE or GLOBAL_BLOOM"))
    assert(remedy("record_level_index").contains("Set it to SIMPLE or BLOOM"))
    Seq("GLOBAL_SIMPLE", "GLOBAL_BLOOM", "SIMPLE", "BLOOM").foreach(index => table("hoodie.index.type" -> index))
  }

  test("a bulk insert is refused with options that need a lookup of keys") {
    val bulk = "hoodie.datasource.write.operation" -> "bulk_insert"
    val looksUp = Seq("hoodie.datasource.insert.dup.policy" -> "drop", "hoodie.datasource.insert.dup.policy" -> "fail",
      "hoodie.datasource.write.insert.drop.duplicates" -> "true")
    for (option <- looksUp) {
      val thrown = intercept[MerganserException](parse(table(), option, bulk))
      assert(thrown.condition == "OPTION_CONFLICT" && thrown.getMessage.contains(s"'${option._1}' = '${option._2}'"))
      parse(table(), option, "hoodie.datasource.write.operation" -> "insert")
    }
    parse(table(), bulk, "hoodie.datasource.insert.dup.policy" -> "none")
  }

  test("a write to a table with an unknown rule is refused by the name of payload class or partial update mode") {
    val custom = table("hoodie.datasource.write.payload.class" -> "com.example.Mine")
    val thrown = intercept[MerganserException](parse(custom))
    assert(thrown.condition == "PAYLOAD_UNAVAILABLE")
    assert(thrown.getMessage.contains("com.example.Mine"))
    val partial = TableConfig(table().properties + ("hoodie.table.partial.update.mode" -> "IGNORE_MARKERS"))
    assert(intercept[MerganserException](parse(partial)).getMessage.contains("IGNORE_MARKERS"))
  }

  test("a write is refused if the table's keys cannot be generated") {
    val foreign = TableConfig(table().properties + ("hoodie.table.keygenerator.type" -> "USER_PROVIDED"))
    assert(intercept[MerganserException](parse(foreign)).condition == "KEY_GENERATOR_UNSUPPORTED")
  }

  test("a bucket table stays a bucket table if a write leaves its options out, and refuses others") {
    val bucket = table("hoodie.index.type" -> "BUCKET", "hoodie.bucket.index.num.buckets" -> "4")
    assert(parse(bucket).index == IndexType.Bucket(Some(4), Seq("id")))
    assert(conflict(bucket, "hoodie.index.type" -> "SIMPLE").condition == "CONFIG_CONFLICT")
    assert(conflict(bucket, "hoodie.bucket.index.num.buckets" -> "8").condition == "CONFIG_CONFLICT")
  }

  test("a table with a global index keeps it, and rows change partitions unless its option forbids it") {
    def global(index: String) = table("hoodie.index.type" -> index)
    def keys(config: WriteConfig) = config.index match {
      case simple: IndexType.Simple => simple.global.map(_.move)
      case _                        => None
    }
    assert(keys(parse(global("GLOBAL_SIMPLE"))) == Some(true))
    assert(keys(parse(global("GLOBAL_SIMPLE"), "hoodie.simple.index.update.partition.path" -> "false")) == Some(false))
    assert(keys(parse(global("GLOBAL_SIMPLE"), "hoodie.bloom.index.update.partition.path" -> "false")) == Some(true))
    assert(keys(parse(global("GLOBAL_BLOOM"), "hoodie.bloom.index.update.partition.path" -> "false")) == Some(false))
    assert(parse(global("GLOBAL_SIMPLE"), "hoodie.index.type" -> "GLOBAL_BLOOM").index ==
      IndexType.Simple(bloomFilters = true, Some(IndexType.GlobalKeys(move = true))))
    assert(conflict(global("GLOBAL_SIMPLE"), "hoodie.index.type" -> "SIMPLE").condition == "CONFIG_CONFLICT")
    assert(conflict(table(), "hoodie.index.type" -> "GLOBAL_SIMPLE").condition == "CONFIG_CONFLICT")
    val foreign = TableConfig(table().properties - "hoodie.index.type")
    assert(keys(parse(foreign, "hoodie.index.type" -> "GLOBAL_SIMPLE")) == Some(true))
  }

  test("a bucket table of another writer does not store its number of buckets") {
    val foreign = TableConfig(table().properties - "hoodie.index.type")
    assert(parse(foreign).index == IndexType.ByFiles(IndexType.Bucket(None, Seq("id"))))
    assert(parse(foreign, "hoodie.index.type" -> "BUCKET").index == IndexType.Bucket(None, Seq("id")))
    val eight = parse(foreign, "hoodie.index.type" -> "BUCKET", "hoodie.bucket.index.num.buckets" -> "8")
    assert(eight.index == IndexType.Bucket(Some(8), Seq("id")))
  }

  test("a SQL INSERT inserts unless an option names the operation or the older insert mode") {
    def sql(options: (String, String)*) = WriteConfig.parse(options.toMap, Map.empty, table(), WriteSource.SqlInsert)
    assert(sql().operation == WriteOperation.Insert && sql().storedKeys == StoredKeyPolicy.InsertAgain)
    assert(sql("hoodie.datasource.write.operation" -> "delete").operation == WriteOperation.Delete)
    assert(sql("hoodie.datasource.write.operation" -> "bulk_insert",
      "hoodie.spark.sql.insert.into.operation" -> "upsert",
      "hoodie.sql.insert.mode" -> "upsert").operation == WriteOperation.BulkInsert)
    // As a property of the table it is the default of data frames.
    val stored = TableConfig(table().properties + ("hoodie.datasource.write.operation" -> "delete"))
    assert(WriteConfig.parse(Map.empty, Map.empty, stored, WriteSource.SqlInsert).operation == WriteOperation.Insert)
    assert(parse(stored).operation == WriteOperation.Delete)
    assert(sql("hoodie.spark.sql.insert.into.operation" -> "upsert").operation == WriteOperation.Upsert)
    assert(sql("hoodie.sql.bulk.insert.enable" -> "true").operation == WriteOperation.BulkInsert)
    assert(sql("hoodie.sql.insert.mode" -> "upsert").operation == WriteOperation.Upsert)
    assert(sql("hoodie.sql.insert.mode" -> "strict").storedKeys == StoredKeyPolicy.Fail)
    assert(sql("hoodie.sql.insert.mode" -> "non-strict").storedKeys == StoredKeyPolicy.InsertAgain)
  }

  test("a call of an operation refuses an option of another or an unknown operation") {
    val key   = "hoodie.datasource.write.operation"
    val other = "hoodie.combine.before.upsert" -> "false"
    assert(WriteConfig.ofCall(Map(other, key.toUpperCase -> "UPSERT"), "upsert") == Map(other, key -> "upsert"))
    val contradiction = intercept[MerganserException](WriteConfig.ofCall(Map(key -> "delete"), "upsert"))
    assert(contradiction.condition == "OPTION_CONFLICT" && contradiction.getMessage.contains("delete"))
    val misspelt = intercept[MerganserException](WriteConfig.ofCall(Map(key -> "upsrt"), "upsert"))
    assert(misspelt.condition == "OPTION_VALUE_INVALID")
  }

  test("SQL's row changes are upserted despite the option for inserts") {
    assert(WriteConfig.parse(Map("hoodie.spark.sql.insert.into.operation" -> "insert"), Map.empty, table(),
      WriteSource.SqlChange)
      .operation == WriteOperation.Upsert)
  }

  test("inserts drop, refuse or merge stored keys as their options request") {
    assert(parse(table(), "hoodie.datasource.insert.dup.policy" -> "drop").storedKeys == StoredKeyPolicy.Drop)
    assert(parse(table(), "hoodie.datasource.insert.dup.policy" -> "fail").storedKeys == StoredKeyPolicy.Fail)
    val merging = parse(table(), "hoodie.merge.allow.duplicate.on.inserts" -> "false")
    assert(merging.storedKeys == StoredKeyPolicy.MergeInFileGroup)
    val dropping = parse(table(), "hoodie.datasource.write.insert.drop.duplicates" -> "true")
    assert(dropping.storedKeys == StoredKeyPolicy.Drop && dropping.combineBeforeInsert)
    assert(intercept[MerganserException](parse(table(), "hoodie.datasource.write.insert.drop.duplicates" -> "true",
        "hoodie.datasource.insert.dup.policy" -> "fail")).condition == "OPTION_CONFLICT")
  }

  test("a write's option wins over the session's, that over the table's property, that over the default") {
    val stored = TableConfig(table("hoodie.datasource.write.table.type" -> "mor")
      .properties + ("hoodie.compact.inline.max.delta.commits" -> "7") + ("hoodie.compact.inline" -> "true"))
    val conf = Map("hoodie.compact.inline.max.delta.commits" -> "8")
    assert(parse(stored).compaction.deltaCommits == 7 && parse(stored).compaction.isInline)
    assert(WriteConfig.parse(Map.empty, conf, stored).compaction.deltaCommits == 8)
    assert(WriteConfig.parse(Map("hoodie.compact.inline.max.delta.commits" -> "9"), conf, stored)
      .compaction.deltaCommits == 9)
    assert(parse(table()).compaction.deltaCommits == 5)
  }

  test("a copy-on-write table is not compacted") {
    assert(!parse(table(), "hoodie.compact.inline" -> "true").compaction.isInline)
    assert(!parse(table(), "hoodie.datasource.compaction.async.enable" -> "false").compaction.isInline)
  }

  test("services run in the background if configured, and an inline compaction takes precedence") {
    val mor   = table("hoodie.datasource.write.table.type" -> "mor")
    val async = "hoodie.datasource.compaction.async.enable" -> "true"
    assert(!parse(mor).compaction.isAsync && !parse(mor).compaction.followsWrites && !parse(mor).cleaning.isAsync)
    assert(parse(mor, async).compaction.isAsync && !parse(table(), async).compaction.isAsync)
    val inline = parse(mor, async, "hoodie.compact.inline" -> "true").compaction
    assert(inline.isInline && !inline.isAsync)
    assert(parse(mor, async, "hoodie.compact.inline.trigger.strategy" -> "TIME_ELAPSED").archive.compactsByTime)
    assert(parse(mor, "hoodie.clean.async" -> "true").cleaning.isAsync)
    assert(parse(mor, "hoodie.archive.async" -> "true").archive.isAsync)
  }

  test("a run of a service counts as dead after the configured heartbeats, also with a single writer") {
    assert(parse(table()).heartbeatExpiryMs == 180000)
    assert(parse(table(), "hoodie.client.heartbeat.interval_in_ms" -> "500",
      "hoodie.client.heartbeat.tolerable.misses" -> "1").heartbeatExpiryMs == 1000)
  }

  test("a write may be stricter about null ordering values than the table, not laxer") {
    assert(parse(table(), "spark.merganser.write.nullOrdering" -> "reject").nullOrdering == NullOrdering.Reject)
    val strict = table("spark.merganser.write.nullOrdering" -> "reject")
    assert(parse(strict).nullOrdering == NullOrdering.Reject)
    assert(conflict(strict, "spark.merganser.write.nullOrdering" -> "lowest").condition == "CONFIG_CONFLICT")
  }

  test("the delete mark is read from the table, and before version 9 from the write") {
    val mark = Seq("hoodie.payload.delete.field" -> "name", "hoodie.payload.delete.marker" -> "D")
    assert(parse(table(mark: _*)).deleteMark.contains(DeleteMark("name", "D")))
    val foreign = TableConfig(table("hoodie.write.table.version" -> "8").properties)
    assert(parse(foreign, mark: _*).deleteMark.contains(DeleteMark("name", "D")))
    assert(conflict(foreign, "hoodie.payload.delete.field" -> "name").condition == "DELETE_MARKER_INCOMPLETE")
  }

  test("a write with another table version is refused with both versions") {
    for (version <- Seq("6", "8")) {
      val older = table("hoodie.write.table.version" -> version)
      parse(older, "hoodie.write.table.version" -> version, "hoodie.write.auto.upgrade" -> "false")
      val other = conflict(older, "hoodie.write.table.version" -> "9")
      assert(other.condition == "CONFIG_CONFLICT" && other.getMessage.contains("'9'") && other.getMessage.contains(
        s"'$version'"))
    }
    parse(table(), "hoodie.write.auto.upgrade" -> "true")
  }

  test("lazily cleaned writes expire by missed heartbeats") {
    val lazily = parse(table(), "hoodie.cleaner.policy.failed.writes" -> "LAZY",
      "hoodie.client.heartbeat.interval_in_ms" -> "1000")
    assert(lazily.failedWrites == FailedWrites.Lazy(3000))
    val several = "hoodie.write.concurrency.mode" -> "OPTIMISTIC_CONCURRENCY_CONTROL"
    assert(parse(table(), several).failedWrites.isInstanceOf[FailedWrites.Lazy])
    assert(parse(table(), several, "hoodie.clean.failed.writes.policy" -> "EAGER").failedWrites == FailedWrites.Eager)
  }
}
