package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{Options, Settings}
import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

class NewTableSuite extends AnyFunSuite {

  private val schema = StructType.fromDDL(
    "_hoodie_record_key STRING, id INT, name STRING, ts BIGINT, o INT, day STRING, at TIMESTAMP, " +
      "tags ARRAY<STRING>, m MAP<STRING, INT>, inner STRUCT<a: INT>, bytes BINARY"
  )
  private val key = "hoodie.datasource.write.recordkey.field" -> "id"

  private def made(options: (String, String)*): Map[String, String] =
    NewTable.properties(options.toMap, schema, "trips")
  private def refusal(options: (String, String)*): MerganserException = intercept[MerganserException](made(options: _*))
  private def generator(options: (String, String)*): String = made(key +: options: _*)("hoodie.table.keygenerator.type")

  test("a new table of version 9 stores the properties that readers need, in layout 2 and UTC") {
    assert(made(key, "hoodie.table.ordering.fields" -> "ts") == Map(
      "hoodie.table.name" -> "trips", "hoodie.table.type" -> "COPY_ON_WRITE", "hoodie.table.version" -> "9",
      "hoodie.table.initial.version" -> "9",
      "hoodie.timeline.layout.version" -> "2", "hoodie.timeline.path" -> "timeline",
      "hoodie.timeline.history.path" -> "history",
      "hoodie.table.timeline.timezone" -> "UTC", "hoodie.table.recordkey.fields" -> "id",
      "hoodie.table.ordering.fields" -> "ts",
      "hoodie.record.merge.mode" -> "EVENT_TIME_ORDERING", "hoodie.table.keygenerator.type" -> "NON_PARTITION",
      "hoodie.table.base.file.format" -> "PARQUET",
      "hoodie.populate.meta.fields" -> "true", "hoodie.datasource.write.hive_style_partitioning" -> "false",
      "hoodie.datasource.write.partitionpath.urlencode" -> "false",
      "hoodie.datasource.write.drop.partition.columns" -> "false",
      "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled" -> "false",
      "hoodie.index.type" -> "SIMPLE"))
  }

  test("exclusive settings of files and paths are refused by name") {
    val (dropped, slashed) =
      ("hoodie.datasource.write.drop.partition.columns", "hoodie.datasource.write.slash.separated.date.partitioning")
    val (keys, partition) = ("hoodie.populate.meta.fields", "hoodie.datasource.write.partitionpath.field")
    val hive              = "hoodie.datasource.write.hive_style_partitioning"
    val generator         = "hoodie.datasource.write.keygenerator.type"
    val times = Seq(generator -> "TIMESTAMP", partition -> "at", "hoodie.keygen.timebased.timestamp.type" -> "SCALAR",
      "hoodie.keygen.timebased.output.dateformat" -> "yyyy")
    for (
      (options, other) <- Seq(
        Seq(dropped -> "true", partition -> "inner.a") -> "inner.a",
        (times :+ (dropped -> "true")) -> "TIMESTAMP",
        Seq(slashed -> "true", partition -> "day", hive -> "true") -> hive,
        Seq(slashed -> "true", partition -> "day,name") -> "day,name",
        Seq(slashed -> "true") -> "none",
        (times :+ (slashed -> "true")) -> "at",
        (times :+ (keys -> "false")) -> "TIMESTAMP",
        Seq(keys -> "false", "hoodie.index.type" -> "GLOBAL_BLOOM") -> "GLOBAL_BLOOM",
        Seq(keys -> "false", dropped -> "true", partition -> "day") -> dropped
      )
    ) {
      val refused = refusal(key +: options: _*)
      assert(refused.condition == "OPTION_CONFLICT" && refused.getMessage.contains(s"'$other'"), options)
    }
    assert(!made(key, slashed -> "true", partition -> "day").contains(hive), "Hudi refuses both, whatever their values")
  }

  test("a table made with the settings shown for another one stores the same properties") {
    val payload = "hoodie.datasource.write.payload.class"
    val models  = "org.apache.hudi.common.model."
    val kinds = Seq(
      Map("type" -> "mor", "orderingFields" -> "ts,o"),
      Map("hoodie.record.merge.mode" -> "COMMIT_TIME_ORDERING"),
      Map("orderingFields" -> "ts", "hoodie.payload.delete.field" -> "name", "hoodie.payload.delete.marker" -> "gone"),
      Map("orderingFields" -> "ts", payload -> (models + "PartialUpdateAvroPayload")),
      Map("orderingFields" -> "ts", payload -> (models + "DefaultHoodieRecordPayload"),
        "hoodie.payload.delete.field" -> "name", "hoodie.payload.delete.marker" -> "gone"),
      Map("hoodie.write.record.merge.strategy.id" -> "00f9d1a4-6a0b-4cbd-9e6e-9e6a8e0b3a55",
        "hoodie.record.merge.property.unit" -> "km"),
      Map("hoodie.write.record.merge.strategy.id" -> "00f9d1a4-6a0b-4cbd-9e6e-9e6a8e0b3a55",
        payload -> "com.example.OwnPayload", "orderingFields" -> "ts"),
      Map(payload -> (models + "AWSDmsAvroPayload")),
      Map("hoodie.index.type" -> "BUCKET", "hoodie.bucket.index.num.buckets" -> "7",
        "hoodie.combine.before.upsert" -> "false"),
      Map("spark.merganser.write.nullOrdering" -> "reject",
        "hoodie.datasource.write.hive_style_partitioning" -> "false",
        "hoodie.datasource.write.partitionpath.urlencode" -> "true"),
      Map("hoodie.populate.meta.fields" -> "false"),
      Map("hoodie.datasource.write.drop.partition.columns" -> "true"),
      Map("hoodie.datasource.write.slash.separated.date.partitioning" -> "true"),
      Map("hoodie.datasource.write.keygenerator.type" -> "CUSTOM",
        "hoodie.datasource.write.partitionpath.field" -> "ts:TIMESTAMP,day:SIMPLE",
        "hoodie.keygen.timebased.timestamp.type" -> "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat" -> "yyyy")
    )
    for (kind <- kinds; version <- Seq("6", "8", "9")) {
      val partitions = if (kind.keys.exists(_.endsWith("partitionpath.field"))) Seq("ts", "day") else Seq("day")
      def again(input: Map[String, String]) = NewTable.properties(input, schema, "trips", partitions, bySql = true)
      val stored = again(kind ++ Map("primaryKey" -> "id", "hoodie.write.table.version" -> version))
      val shown  = ShownSettings.of(TableConfig(stored))
      withClue(s"version $version, $kind, shown $shown: ") {
        assert(again(shown) == stored)
        assert(shown("primaryKey") == "id" && shown.contains("type"))
        TableConflicts.settled(Settings.ofWrite(shown, Map.empty), TableConfig(stored))
      }
    }
    val named = Map("preCombineField" -> "ts", "hoodie.table.type" -> "MERGE_ON_READ", "team" -> "birds")
    val beside = ShownSettings.beside(named,
      TableConfig(create(Map("primaryKey" -> "id", "type" -> "mor", "orderingFields" -> "ts"))))
    assert(beside.keySet == Set("primaryKey", "hoodie.record.merge.mode"))
  }

  private def create(input: Map[String, String]) = NewTable.properties(input, schema, "trips", Seq("day"), bySql = true)

  test("a table of version 6 has layout 1, no merge mode and no initial version") {
    val six = made(key, "hoodie.write.table.version" -> "6")
    assert(six("hoodie.timeline.layout.version") == "1")
    assert(
      !six.contains("hoodie.record.merge.mode") && !six.contains("hoodie.table.initial.version") && !six.contains(
        "hoodie.timeline.path"))
    assert(refusal(key, "hoodie.write.table.version" -> "7").condition == "OPTION_VALUE_INVALID")
  }

  test("SQL's option names make the same table with hive-style partitions") {
    val sql =
      NewTable.properties(Map("primaryKey" -> "id", "type" -> "mor", "preCombineField" -> "ts"), schema, "trips",
        Seq("day"), bySql = true)
    assert(sql("hoodie.table.recordkey.fields") == "id" && sql("hoodie.table.type") == "MERGE_ON_READ" && sql(
      "hoodie.table.ordering.fields") == "ts")
    assert(
      sql("hoodie.table.partition.fields") == "day" && sql("hoodie.datasource.write.hive_style_partitioning") == "true")
    assert(sql("hoodie.table.keygenerator.type") == "SIMPLE")
  }

  test("options of writes are stored by CREATE TABLE and not by a data frame's first write") {
    val option = "hoodie.compact.inline.max.delta.commits" -> "3"
    assert(NewTable.properties(Map(key, option), schema, "t", bySql = true).get(option._1).contains("3"))
    assert(!made(key, option).contains(option._1))
  }

  test("the key generator is inferred from key and partition columns") {
    assert(generator() == "NON_PARTITION")
    assert(generator("hoodie.datasource.write.partitionpath.field" -> "day") == "SIMPLE")
    assert(generator("hoodie.datasource.write.partitionpath.field" -> "day,name") == "COMPLEX")
    assert(generator("hoodie.datasource.write.partitionpath.field" -> "day:SIMPLE") == "CUSTOM")
    assert(made("hoodie.datasource.write.recordkey.field" -> "id,name",
      "hoodie.datasource.write.partitionpath.field" -> "day")(
      "hoodie.table.keygenerator.type") == "COMPLEX")
  }

  test("a key generator is taken by type and by class, also by the Avro variants") {
    val classes =
      Map("SimpleKeyGenerator" -> "NON_PARTITION", "ComplexAvroKeyGenerator" -> "COMPLEX_AVRO",
        "NonpartitionedKeyGenerator" -> "NON_PARTITION", "GlobalDeleteKeyGenerator" -> "GLOBAL_DELETE",
        "GlobalAvroDeleteKeyGenerator" -> "GLOBAL_DELETE_AVRO")
    for ((name, expected) <- classes)
      assert(generator("hoodie.datasource.write.keygenerator.class" -> s"org.apache.hudi.keygen.$name") == expected,
        name)
    assert(generator("hoodie.datasource.write.keygenerator.type" -> "complex_avro") == "COMPLEX")
  }

  test("an unsupported or contradicting key generator is refused by name") {
    val thrown = refusal(key, "hoodie.datasource.write.keygenerator.class" -> "com.example.Mine")
    assert(thrown.condition == "KEY_GENERATOR_UNSUPPORTED" && thrown.getMessage.contains("com.example.Mine"))
    def mismatch(kind: String, partitions: String) =
      refusal(key, "hoodie.datasource.write.keygenerator.type" -> kind,
        "hoodie.datasource.write.partitionpath.field" -> partitions).condition
    assert(mismatch("SIMPLE", "day,name") == "KEY_GENERATOR_MISMATCH")
    assert(mismatch("NON_PARTITION", "day") == "KEY_GENERATOR_MISMATCH")
    assert(mismatch("GLOBAL_DELETE", "day") == "KEY_GENERATOR_MISMATCH")
    for (kind <- Seq("SIMPLE", "TIMESTAMP"))
      assert(refusal("primaryKey" -> "id,name", "hoodie.datasource.write.keygenerator.type" -> kind,
        "hoodie.datasource.write.partitionpath.field" -> "day").condition == "KEY_GENERATOR_MISMATCH")
    assert(mismatch("CUSTOM", "day") == "KEY_GENERATOR_MISMATCH")
    assert(mismatch("CUSTOM", "day:WEEKLY") == "KEY_GENERATOR_MISMATCH")
  }

  test("a time-based generator needs its type and format") {
    val time = Seq(key, "hoodie.datasource.write.keygenerator.type" -> "TIMESTAMP",
      "hoodie.datasource.write.partitionpath.field" -> "ts")
    val kind   = "hoodie.deltastreamer.keygen.timebased.timestamp.type" -> "EPOCHMILLISECONDS"
    val format = "hoodie.keygen.timebased.output.dateformat" -> "yyyy/MM/dd"
    assert(refusal(time :+ format: _*).getMessage.contains("hoodie.keygen.timebased.timestamp.type"))
    assert(refusal(time :+ kind: _*).getMessage.contains("hoodie.keygen.timebased.output.dateformat"))
    val stored = made(time :+ kind :+ format: _*)
    assert(stored("hoodie.keygen.timebased.timestamp.type") == "EPOCHMILLISECONDS" && stored(format._1) == format._2)
  }

  test("column names are stored in the schema's spelling, and a missing one is refused by name") {
    val spelled = made("hoodie.datasource.write.recordkey.field" -> "ID", "hoodie.table.ordering.fields" -> "TS",
      "hoodie.datasource.write.partitionpath.field" -> "Day")
    assert(Seq("recordkey", "ordering", "partition").map(part => spelled(s"hoodie.table.$part.fields")) == Seq("id",
      "ts", "day"))
    val missing = Map("hoodie.datasource.write.recordkey.field" -> "RECORD_KEY_COLUMN_MISSING",
      "hoodie.table.ordering.fields" -> "ORDERING_FIELD_MISSING",
      "hoodie.datasource.write.partitionpath.field" -> "PARTITION_COLUMN_MISSING")
    for ((option, condition) <- missing) {
      val thrown = refusal((Map(key) + (option -> "nope")).toSeq: _*)
      assert(thrown.condition == condition && thrown.getMessage.contains("'nope'") && thrown.getMessage.contains(
          "id, name, ts"), option)
    }
  }

  test("a table without key columns stores none, and is refused if options suggest a forgotten key") {
    val stored = made("hoodie.datasource.write.partitionpath.field" -> "day")
    assert(
      !stored.contains("hoodie.table.recordkey.fields") && !stored.contains("hoodie.datasource.write.recordkey.field"))
    assert(stored("hoodie.table.keygenerator.type") == "SIMPLE")
    assert(stored("hoodie.record.merge.mode") == "COMMIT_TIME_ORDERING")
    assert(made()("hoodie.table.keygenerator.type") == "NON_PARTITION")
    for (
      forgotten <- Seq("primaryKey" -> "", "hoodie.datasource.write.operation" -> "upsert",
        "hoodie.datasource.write.operation" -> "delete")
    )
      assert(refusal(forgotten).condition == "RECORD_KEY_REQUIRED", forgotten)
    for (
      comparing <- Seq("hoodie.index.type" -> "BUCKET", "hoodie.combine.before.insert" -> "true",
        "hoodie.datasource.write.insert.drop.duplicates" -> "true")
    )
      assert(refusal(comparing).condition == "KEYS_ARE_GENERATED", comparing)
  }

  test("an ordering field of a type without an order is refused, as is a key of a type without a text") {
    for (field <- Seq("tags", "m", "inner"))
      assert(refusal(key, "hoodie.table.ordering.fields" -> field).condition == "ORDERING_TYPE_UNORDERED", field)
    for (field <- Seq("tags", "m", "inner", "bytes"))
      assert(refusal("primaryKey" -> field).condition == "KEY_TYPE_UNSUPPORTED", field)
  }

  test("a field inside a struct can be key and ordering field under each name of the option") {
    assert(made("primaryKey" -> "inner.a")("hoodie.table.recordkey.fields") == "inner.a")
    for (name <- Options.OrderingFields.names)
      assert(made(key, name -> "Inner.A, ts")("hoodie.table.ordering.fields") == "inner.a,ts")
    for (missing <- Seq("inner.z", "id.a", "inner.a.b", "nope.a"))
      assert(refusal(key, "hoodie.table.ordering.fields" -> missing).condition == "ORDERING_FIELD_MISSING", missing)
  }

  test("the merge mode is accepted by its stored name wherever a table is created") {
    for (
      bySql <- Seq(false, true);
      conf  <- Seq(Map("hoodie.record.merge.mode" -> "COMMIT_TIME_ORDERING"), Map.empty[String, String])
    ) {
      val options =
        Map(key, "orderingFields" -> "ts") ++ (if (conf.isEmpty)
                                                 Map("hoodie.record.merge.mode" -> "commit_time_ordering")
                                               else Nil)
      val stored = NewTable.properties(options, schema, "t", sessionConf = conf, bySql = bySql)
      assert(stored("hoodie.record.merge.mode") == "COMMIT_TIME_ORDERING")
    }
    val both = Seq("hoodie.record.merge.mode" -> "COMMIT_TIME_ORDERING",
      "hoodie.write.record.merge.mode" -> "EVENT_TIME_ORDERING")
    assert(refusal(key +: both: _*).condition == "OPTION_CONFLICT")
  }

  test("a session's default for the merge rule does not contradict explicit settings of a new table") {
    def stored(conf: (String, String), options: (String, String)*) =
      NewTable.properties((key +: options).toMap, schema, "t", sessionConf = Map(conf))
    val ordered = stored("hoodie.payload.ordering.field" -> "o", "orderingFields" -> "ts")
    assert(ordered("hoodie.table.ordering.fields") == "ts")
    assert(!stored("hoodie.payload.ordering.field" -> "o").contains("hoodie.table.ordering.fields"))
    val payload = "payloadClass" -> "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"
    val older =
      stored("hoodie.write.record.merge.mode" -> "EVENT_TIME_ORDERING", payload, "hoodie.table.version" -> "8")
    assert(older("hoodie.record.merge.mode") == "COMMIT_TIME_ORDERING")
  }

  test("a new bucket table stores its number of buckets and its hash columns") {
    val bucket = made(key, "hoodie.index.type" -> "BUCKET")
    assert(bucket("hoodie.bucket.index.num.buckets") == "256" && bucket("hoodie.bucket.index.hash.field") == "id")
    assert(
      bucket(
        "hoodie.datasource.write.recordkey.field") == "id") // Hudi's procedures look for it beside the hash columns
    val thrown = refusal(key, "hoodie.index.type" -> "BUCKET", "hoodie.bucket.index.hash.field" -> "name")
    assert(thrown.condition == "BUCKET_HASH_FIELD_UNKNOWN" && thrown.getMessage.contains("'name'"))
  }

  test("the delete field and its marker are stored with the table and refused without each other") {
    val stored = made(key, "hoodie.payload.delete.field" -> "name", "hoodie.payload.delete.marker" -> "D")
    assert(stored("hoodie.record.merge.property.hoodie.payload.delete.field") == "name" && stored(
      "hoodie.record.merge.property.hoodie.payload.delete.marker") == "D")
    assert(refusal(key, "hoodie.payload.delete.field" -> "name").condition == "DELETE_MARKER_INCOMPLETE")
    assert(refusal(key, "hoodie.payload.delete.marker" -> "D").condition == "DELETE_MARKER_INCOMPLETE")
  }

  test("the older option of the ordering field must agree with the newer one, and replaces it on older tables") {
    val older   = "hoodie.payload.ordering.field" -> "o"
    val payload = "hoodie.datasource.write.payload.class" -> "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
    assert(refusal(key, older, "hoodie.table.ordering.fields" -> "ts").condition == "CONFIG_CONFLICT")
    assert(made(key, older, "hoodie.table.ordering.fields" -> "o")("hoodie.table.ordering.fields") == "o")
    assert(made(key, older, payload, "hoodie.write.table.version" -> "8")("hoodie.table.ordering.fields") == "o")
    assert(made(key, payload, "hoodie.write.table.version" -> "6")("hoodie.table.ordering.fields") == "ts")
    assert(!made(key, payload).contains("hoodie.table.ordering.fields"))
  }

  test("CREATE TABLE refuses the commit-time strategy with ordering fields unless a mode is named; a data frame may") {
    val input  = Map(key, "recordMergeStrategyId" -> "ce9acb64-bde0-424c-9b91-f6ebba25356d", "orderingFields" -> "ts")
    val thrown = intercept[MerganserException](NewTable.properties(input, schema, "t", bySql = true))
    assert(
      thrown.condition == "OPTION_CONFLICT" && thrown.getMessage.contains("'ce9acb64-bde0-424c-9b91-f6ebba25356d'"))
    assert(thrown.getMessage.contains("'ts'"))
    val named = input + ("recordMergeMode" -> "COMMIT_TIME_ORDERING")
    assert(NewTable.properties(named, schema, "t", bySql = true)("hoodie.record.merge.mode") == "COMMIT_TIME_ORDERING")
    assert(made(input.toSeq: _*)("hoodie.record.merge.mode") == "COMMIT_TIME_ORDERING")
  }

  test("a Debezium payload sets its ordering fields and refuses others") {
    val payload =
      "hoodie.datasource.write.payload.class" -> "org.apache.hudi.common.model.debezium.PostgresDebeziumAvroPayload"
    val feed = StructType.fromDDL("id INT, ts BIGINT, _event_lsn BIGINT, _change_operation_type STRING")
    def of(options: (String, String)*) = NewTable.properties(Map(key, payload) ++ options, feed, "t")
    assert(of()("hoodie.table.ordering.fields") == "_event_lsn")
    assert(of("preCombineField" -> "_event_lsn")("hoodie.table.ordering.fields") == "_event_lsn")
    val thrown = intercept[MerganserException](of("preCombineField" -> "ts"))
    assert(thrown.condition == "CONFIG_CONFLICT" && thrown.getMessage.contains("'ts'") && thrown.getMessage.contains(
      "'_event_lsn'"))
  }

  test("a partial update mode is refused as an option and set by a payload class only") {
    assert(refusal(key, "hoodie.table.partial.update.mode" -> "IGNORE_DEFAULTS").condition == "CONFIG_CONFLICT")
  }

  test("partitionBy and the partition option must agree") {
    val options = Map(key, "hoodie.datasource.write.partitionpath.field" -> "day")
    assert(NewTable.properties(options, schema, "t", Seq("day"))("hoodie.table.partition.fields") == "day")
    val conflict = intercept[MerganserException](NewTable.properties(options, schema, "t", Seq("name")))
    assert(conflict.condition == "OPTION_CONFLICT")
  }
}
