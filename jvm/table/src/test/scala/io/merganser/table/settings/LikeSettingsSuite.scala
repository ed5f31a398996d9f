package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.MergeMode
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

/** What a table like another one stores, where a statement has settings of its own. */
class LikeSettingsSuite extends AnyFunSuite {

  private val schema = StructType.fromDDL("id INT, other INT, ts BIGINT, o INT, n INT, m INT, day STRING, op STRING")
  private val models = "org.apache.hudi.common.model."

  private def created(options: Map[String, String], partitions: Seq[String] = Seq("day")): TableConfig =
    TableConfig(NewTable.properties(options, schema, "t", partitions, bySql = true))

  private def table(options: (String, String)*): TableConfig = created(Map("primaryKey" -> "id") ++ options)

  private def like(existing: TableConfig, explicit: (String, String)*): TableConfig = {
    val partitions = if (LikeSettings.setsPartitions(explicit.toMap)) Nil else existing.partitionFields
    created(LikeSettings.of(explicit.toMap, existing), partitions)
  }

  test("an explicit setting replaces the existing table's under any of its names") {
    val existing = table("preCombineField" -> "ts", "type" -> "mor", "hoodie.clean.commits.retained" -> "3")
    assert(like(existing) == existing)
    val other = like(existing, "hoodie.table.ordering.fields" -> "o", "hoodie.datasource.write.table.type" -> "cow",
      "primaryKey" -> "other", "hoodie.clean.commits.retained" -> "7", "hoodie.write.table.version" -> "8")
    assert(other.orderingFields == Seq("o") && !other.isMergeOnRead && other.recordKeyFields == Seq("other"))
    assert(other.version == 8 && other.properties("hoodie.clean.commits.retained") == "7")
    assert(like(existing, "hoodie.datasource.write.partitionpath.field" -> "op").partitionFields == Seq("op"))
    assert(like(existing, "hoodie.table.partition.fields" -> "").partitionFields.isEmpty)
  }

  test("an explicit part of a merge rule replaces the whole rule") {
    val summed = table("orderingFields" -> "ts", "merganser.rule.column.n" -> "sum")
    assert(like(summed).rule == summed.rule)
    val maximum = like(summed, "merganser.rule.column.m" -> "max").rule.get
    assert(maximum.columns.keySet == Set("m"))
    val byTime = like(summed, "hoodie.record.merge.mode" -> "COMMIT_TIME_ORDERING")
    assert(byTime.rule.isEmpty && MergeMode.of(byTime) == MergeMode.CommitTimeOrdering)
    val marked =
      table("orderingFields" -> "ts", "hoodie.payload.delete.field" -> "op", "hoodie.payload.delete.marker" -> "x")
    assert(like(marked, "recordMergeMode" -> "COMMIT_TIME_ORDERING").mergeProperties == marked.mergeProperties)
    val payload = models + "AWSDmsAvroPayload"
    assert(like(marked, "payloadClass" -> payload) == table("orderingFields" -> "ts", "payloadClass" -> payload))
  }

  test("explicit ordering fields imply a merge mode, unless the existing table's mode is not the implied one") {
    val plain = table()
    assert(MergeMode.of(like(plain, "orderingFields" -> "ts")) == MergeMode.EventTimeOrdering)
    val ordered = table("orderingFields" -> "ts")
    assert(MergeMode.of(like(ordered, "orderingFields" -> "")) == MergeMode.CommitTimeOrdering)
    val byCommit = table("orderingFields" -> "ts", "recordMergeMode" -> "COMMIT_TIME_ORDERING")
    assert(MergeMode.of(like(byCommit, "orderingFields" -> "o")) == MergeMode.CommitTimeOrdering)
    val old = table("hoodie.write.table.version" -> "6")
    assert(MergeMode.of(like(old, "orderingFields" -> "ts")) == MergeMode.EventTimeOrdering)
  }

  test("a new table with another index or key does not copy settings of buckets") {
    val bucketed                     = table("hoodie.index.type" -> "BUCKET", "hoodie.bucket.index.num.buckets" -> "7")
    def buckets(config: TableConfig) = config.properties.filter(_._1.startsWith("hoodie.bucket.index"))
    assert(buckets(like(bucketed, "hoodie.index.type" -> "BLOOM")).isEmpty)
    assert(buckets(like(bucketed, "hoodie.index.type" -> "bucket")) == buckets(bucketed))
    assert(buckets(like(bucketed, "primaryKey" -> "other")) == Map(
      "hoodie.bucket.index.num.buckets" -> "7", "hoodie.bucket.index.hash.field" -> "other"))
  }

  test("a new table does not copy the existing table's name in a metastore") {
    val synced     = table("hoodie.datasource.hive_sync.enable" -> "true", "hoodie.datasource.hive_sync.table" -> "a")
    val properties = like(synced).properties
    assert(properties("hoodie.datasource.hive_sync.enable") == "true")
    assert(!properties.contains("hoodie.datasource.hive_sync.table"))
  }

  test("a partial update mode that no new table stores is refused by name, or replaced with the rule") {
    val ordered  = table("orderingFields" -> "ts")
    val existing = TableConfig(ordered.properties + ("hoodie.table.partial.update.mode" -> "IGNORE_DEFAULTS"))
    val refused  = intercept[MerganserException](like(existing))
    assert(refused.condition == "CONFIG_CONFLICT" && refused.getMessage.contains("hoodie.table.partial.update.mode"))
    val payload = models + "PartialUpdateAvroPayload"
    assert(like(existing, "payloadClass" -> payload) == table("orderingFields" -> "ts", "payloadClass" -> payload))
    val harmless = TableConfig(ordered.properties + ("hoodie.table.partial.update.mode" -> "KEEP_VALUES"))
    assert(like(harmless) == ordered)
  }
}
