package io.merganser.table.rule

import io.merganser.merge.{DeleteMarker, MerganserException, MissingValues}
import io.merganser.merge.payload._
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.MetaColumns
import io.merganser.table.settings.NewTable
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

class StoredRuleSuite extends AnyFunSuite {
  import StoredRule._

  private val schema =
    StructType(Seq(StructField("id", IntegerType), StructField("name", StringType), StructField("ts", LongType)))
  private val models = "org.apache.hudi.common.model."

  /** The properties that the options make. */
  private def made(options: (String, String)*): TableConfig = TableConfig(
    NewTable.properties(Map("hoodie.table.name" -> "trips", "hoodie.datasource.write.recordkey.field" -> "id",
        "hoodie.table.ordering.fields" -> "ts") ++ options, schema, "trips"))

  private def madeFor(payload: String, version: Int, more: (String, String)*): TableConfig =
    made(Seq("hoodie.datasource.write.payload.class" -> (models + payload),
        "hoodie.write.table.version" -> version.toString) ++ more: _*)

  private def rule(table: TableConfig): StoredRule = StoredRule.of(table, Nil)

  private val classic = Seq(
    "OverwriteNonDefaultsWithLatestAvroPayload" -> OverwriteNonDefaults,
    "PartialUpdateAvroPayload" -> PartialUpdate,
    "AWSDmsAvroPayload" -> AwsDms
  )

  for (version <- Seq(6, 8)) {
    test(s"on version $version a classic payload class runs with its own rules, by the table's ordering fields") {
      for ((name, payload) <- classic) assert(rule(madeFor(name, version)) == ByPayload(payload, Seq("ts")), name)
    }

    test(s"on version $version the payload classes of the plain modes become these modes") {
      assert(rule(madeFor("DefaultHoodieRecordPayload", version)) == ByMode(MergeMode.EventTimeOrdering, Seq("ts")))
      assert(rule(madeFor("EventTimeAvroPayload", version)) == ByMode(MergeMode.EventTimeOrdering, Seq("ts")))
      assert(rule(madeFor("OverwriteWithLatestAvroPayload", version)) == ByPayload(OverwriteWithLatest, Seq("ts")))
    }

    test(s"on version $version the Debezium payload classes compare their own columns") {
      def debezium(name: String) = rule(madeFor(s"debezium.$name", version))
      assert(debezium("MySqlDebeziumAvroPayload") == ByPayload(MySqlDebezium, Seq("_event_seq")))
      assert(debezium("PostgresDebeziumAvroPayload") == ByPayload(PostgresDebezium, Seq("_event_lsn")))
    }
  }

  test("a plain payload class under the payload strategy gives the payload's rule") {
    val stored = madeFor("DefaultHoodieRecordPayload", 8,
      "hoodie.write.record.merge.strategy.id" -> MergeMode.StrategyId.PayloadBased)
    assert(MergeMode.of(stored) == MergeMode.Custom)
    assert(rule(stored) == ByPayload(EventTime, Seq("ts")))
  }

  test("on version 9 the payload classes become modes with properties") {
    assert(rule(madeFor("DefaultHoodieRecordPayload", 9)) == ByMode(MergeMode.EventTimeOrdering, Seq("ts")))
    assert(rule(madeFor("AWSDmsAvroPayload", 9)) == ByMode(MergeMode.CommitTimeOrdering, Nil))
    assert(rule(madeFor("OverwriteNonDefaultsWithLatestAvroPayload", 9, "hoodie.table.ordering.fields" -> "")) ==
      ByMode(MergeMode.CommitTimeOrdering, Nil, Some(MissingValues.Nulls)))
    assert(rule(madeFor("PartialUpdateAvroPayload", 9)) == ByMode(MergeMode.EventTimeOrdering, Seq("ts"),
      Some(MissingValues.Nulls)))
  }

  test("the marker for an unavailable value comes from the table's properties") {
    val stored = TableConfig(made().properties ++ Map("hoodie.table.partial.update.mode" -> "FILL_UNAVAILABLE",
      "hoodie.record.merge.property.hoodie.write.partial.update.unavailable.value" -> "n/a"))
    assert(rule(stored) == ByMode(MergeMode.EventTimeOrdering, Seq("ts"), Some(MissingValues.Marked("n/a"))))
    val silent = TableConfig(made().properties + ("hoodie.table.partial.update.mode" -> "fill_unavailable"))
    assert(rule(silent) == ByMode(MergeMode.EventTimeOrdering, Seq("ts"),
      Some(MissingValues.Marked("__debezium_unavailable_value"))))
  }

  test("OverwriteWithLatest picks the greatest of a batch on version 9 too, a commit-time table does not") {
    assert(rule(madeFor("OverwriteWithLatestAvroPayload", 9)) == ByPayload(OverwriteWithLatest, Seq("ts")))
    assert(rule(made("hoodie.write.record.merge.mode" -> "COMMIT_TIME_ORDERING")) == ByMode(
      MergeMode.CommitTimeOrdering, Nil))
    assert(rule(madeFor("OverwriteWithLatestAvroPayload", 9, "hoodie.table.ordering.fields" -> "")) ==
      ByMode(MergeMode.CommitTimeOrdering, Nil))
  }

  test("OverwriteNonDefaults picks the greatest of a batch on version 9 too, and nulls keep stored values") {
    val table = madeFor("OverwriteNonDefaultsWithLatestAvroPayload", 9)
    assert(rule(table) == ByPayload(OverwriteNonDefaults, Seq("ts"), nullsAreMissing = true))
    assert(rule(TableConfig(table.properties - "hoodie.table.legacy.payload.class")) ==
      ByMode(MergeMode.CommitTimeOrdering, Nil, Some(MissingValues.Nulls)))
  }

  test("a partial update mode has no effect below version 9, and one that is unknown is refused by name") {
    val older = TableConfig(madeFor("DefaultHoodieRecordPayload", 8)
      .properties + ("hoodie.table.partial.update.mode" -> "IGNORE_DEFAULTS"))
    assert(rule(older) == ByMode(MergeMode.EventTimeOrdering, Seq("ts")))
    val thrown = intercept[MerganserException](
      rule(TableConfig(made().properties + ("hoodie.table.partial.update.mode" -> "IGNORE_MARKERS"))))
    assert(thrown.condition == "MERGE_RULE_UNAVAILABLE" && thrown.getMessage.contains("IGNORE_MARKERS"))
  }

  test("the modes KEEP_VALUES and FILL_DEFAULTS replace nothing in full rows") {
    for (mode <- Seq("NONE", "KEEP_VALUES", "FILL_DEFAULTS", "keep_values")) {
      val stored = made().properties + ("hoodie.table.partial.update.mode" -> mode)
      assert(rule(TableConfig(stored)) == ByMode(MergeMode.EventTimeOrdering, Seq("ts")))
      val latest = madeFor("OverwriteWithLatestAvroPayload", 9).properties
      assert(rule(TableConfig(latest + ("hoodie.table.partial.update.mode" -> mode))) ==
        ByPayload(OverwriteWithLatest, Seq("ts")))
    }
  }

  test("a user's class with the simple name of a classic payload is not the classic one") {
    assert(PayloadClasses.named("com.example.AWSDmsAvroPayload").isEmpty)
    assert(PayloadClasses.named("AWSDmsAvroPayload").isEmpty)
    assert(PayloadClasses.named("org.apache.hudi.payload.AWSDmsAvroPayload").contains(AwsDms))
  }

  test("a payload class adds its own delete marker to the table's") {
    val options = Seq("hoodie.payload.delete.field" -> "name", "hoodie.payload.delete.marker" -> "gone")
    assert(PayloadClasses.markers(madeFor("AWSDmsAvroPayload", 8, options: _*)) ==
      Seq(DeleteMarker("name", "gone"), DeleteMarker("Op", "D", ignoresCase = true)))
    assert(PayloadClasses.markers(madeFor("AWSDmsAvroPayload", 9)) == Seq(DeleteMarker("Op", "D")))
    assert(PayloadClasses.markers(made()).isEmpty)
  }

  test("a read of one column also reads the columns of ordering and of delete markers") {
    val columns = schema.add("Op", StringType).add("_event_seq", StringType).add("_change_operation_type", StringType)
    def read(table: TableConfig) =
      CompiledRule.layoutSchema(StructType(Seq(columns("name"))), columns, table, rule(table)).fieldNames.toSeq
    assert(read(madeFor("AWSDmsAvroPayload", 8)) == Seq("name", MetaColumns.RecordKey, "ts", "Op"))
    assert(read(madeFor("debezium.MySqlDebeziumAvroPayload", 8)) ==
      Seq("name", MetaColumns.RecordKey, "_event_seq", "_change_operation_type"))
    assert(read(madeFor("PartialUpdateAvroPayload", 9)) == Seq("name", MetaColumns.RecordKey, "ts"))
  }

  test("a payload class is refused by the name of its column if the table lacks it") {
    val stored = madeFor("debezium.MySqlDebeziumAvroPayload", 8)
    val layout = CompiledRule.layoutSchema(schema, schema, stored, rule(stored))
    val thrown = intercept[MerganserException](CompiledRule(rule(stored), stored, layout))
    assert(thrown.condition == "ORDERING_FIELD_MISSING" && thrown.getMessage.contains("_event_seq"))
  }
}
