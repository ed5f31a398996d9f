package io.merganser.table.options

import io.merganser.merge.MerganserException
import io.merganser.table.settings.ReadConfig
import org.scalatest.funsuite.AnyFunSuite

class SettingsSuite extends AnyFunSuite {

  private def refusal(options: (String, String)*): MerganserException =
    intercept[MerganserException](Settings.ofWrite(options.toMap, Map.empty))

  private def accepted(options: (String, String)*): Settings = Settings.ofWrite(options.toMap, Map.empty)

  test("an unknown option is an error that suggests the nearest known name") {
    val near = Map(
      "hoodie.datasource.write.recordkey.fields" -> "hoodie.datasource.write.recordkey.field",
      "hoodie.datasource.write.opertaion" -> "hoodie.datasource.write.operation",
      "hoodie.upsert.shuffle.paralelism" -> "hoodie.upsert.shuffle.parallelism",
      "spark.merganser.write.nullordering2" -> "spark.merganser.write.nullOrdering",
      "primarykeys" -> "primaryKey",
      "preCombinedField" -> "preCombineField",
      "missingColumns" -> "spark.merganser.write.missingColumns",
      "hoodie.clean.automatik" -> "hoodie.clean.automatic",
      "hoodie.cleaner.commit.retained" -> "hoodie.cleaner.commits.retained",
      "hoodie.metadata.enabled" -> "hoodie.metadata.enable",
      "hoodie.datasource.hive_sync.enabled" -> "hoodie.datasource.hive_sync.enable",
      "hoodie.metrics.onn" -> "hoodie.metrics.on",
      "hoodie.write.lock.providr" -> "hoodie.write.lock.provider",
      "hoodie.memory.merge.max.sise" -> "hoodie.memory.merge.max.size"
    )
    for ((name, meant) <- near) {
      val thrown = refusal(name -> "x")
      assert(
        thrown.condition == "UNKNOWN_OPTION" && thrown.getMessage.contains(s"'$name'") && thrown.getMessage.contains(
          s"'$meant'"),
        name)
    }
  }

  test("an unknown option without a similar known name is an error without a suggestion") {
    for (name <- Seq("colour", "hoodie.nothing.of.the.kind.at.all", "hoodie.clean.nothing.of.the.kind.at.all")) {
      val thrown = refusal(name -> "x")
      assert(thrown.condition == "UNKNOWN_OPTION" && !thrown.getMessage.contains("Did you mean"), name)
    }
    accepted("hoodie.payload.combined.schema.validate" -> "true") // read by Hudi, and declared nowhere
  }

  test("an option of another format is an error that names our equivalent") {
    val meant = Map("versionAsOf" -> "as.of.instant", "timestampAsOf" -> "as.of.instant",
      "mergeSchema" -> "schemaEvolution",
      "overwriteSchema" -> "CREATE OR REPLACE TABLE", "replaceWhere" -> "overwrite(condition)",
      "snapshot-id" -> "as.of.instant")
    for ((name, remedy) <- meant; parse <- Seq(Settings.ofWrite _, Settings.ofRead _)) {
      val thrown = intercept[MerganserException](parse(Map(name -> "x"), Map.empty))
      assert(thrown.condition == "OPTION_OF_OTHER_FORMAT" && thrown.getMessage.contains(remedy), name)
    }
  }

  test("a free option name of an open family is accepted unless it is nearly a known name of it") {
    accepted("hoodie.metrics.our.reporter.port" -> "1", "hoodie.aws.region" -> "x",
      "hoodie.streamer.source.kafka.topic" -> "x",
      "hoodie.write.lock.dynamodb.table" -> "locks")
    assert(refusal("hoodie.metrics.reporter.typ" -> "x").getMessage.contains("'hoodie.metrics.reporter.type'"))
  }

  test("every option of Hudi is supported, refused, reported or accepted without effect") {
    val unknown = HudiOptions.names.filterNot { name =>
      val key = name.toLowerCase
      Options.byName.contains(key) || ForeignOptions.isKnown(key) || ForeignOptions.isHarmless(key)
    }
    assert(unknown.isEmpty)
    val listed = ForeignOptions.harmless ++ IgnoredOptions.ofWrites.flatMap(_.names).filterNot(_.endsWith("."))
    assert(listed.filterNot(n => HudiOptions.has(n.toLowerCase)).isEmpty, "named here, and no option of Hudi")
  }

  test("options that cannot change rows or layout are accepted with any value") {
    val settings = accepted("hoodie.file.listing.parallelism" -> "2", "hoodie.metadata.enable" -> "true",
      "hoodie.datasource.hive_sync.jdbcurl" -> "x",
      "hoodie.metrics.on" -> "true", "hoodie.cleaner.parallelism" -> "3",
      "hoodie.write.markers.type" -> "DIRECT",
      "hoodie.embed.timeline.server" -> "false",
      "hoodie.memory.merge.max.size" -> "1",
      "hoodie.bloom.index.parallelism" -> "4",
      "hoodie.meta.sync.client.tool.class" -> "x", "hoodie.write.commit.callback.on" -> "true")
    assert(settings.of(OptionScope.OfWrite).isEmpty && settings.of(OptionScope.OfTable).isEmpty)
  }

  test("a known option is refused by name if it would change rows or layout, and accepted with its harmless value") {
    val cases = Seq(("hoodie.table.base.file.format", "ORC", "parquet"),
      ("hoodie.partition.ttl.inline", "true", "false"), ("hoodie.allow.operation.metadata.field", "true", "false"))
    for ((key, changing, harmless) <- cases) {
      val thrown = refusal(key -> changing)
      assert(thrown.condition == "UNSUPPORTED_OPTION" && thrown.getMessage.contains(key) && thrown.getMessage.contains(
          changing), key)
      accepted(key -> harmless)
    }
  }

  test("an option's value is unsupported if Hudi alone has it, and any other wrong value is invalid") {
    assert(refusal("hoodie.index.type" -> "RECORD_INDEX").condition == "UNSUPPORTED_OPTION")
    assert(refusal("hoodie.datasource.write.operation" -> "bootstrap").condition == "UNSUPPORTED_OPTION")
    assert(refusal("hoodie.index.type" -> "TREE").condition == "OPTION_VALUE_INVALID")
    val thrown = refusal("hoodie.parquet.max.file.size" -> "big")
    assert(
      thrown.condition == "OPTION_VALUE_INVALID" && thrown.getMessage.contains("'big'") && thrown.getMessage.contains(
        "hoodie.parquet.max.file.size"))
  }

  test("option names are read in any case, and every alias sets its option") {
    assert(accepted("PRIMARYKEY" -> "id").fields(Options.RecordKey) == Seq("id"))
    for (name <- Options.OrderingFields.names)
      assert(accepted(name -> " a , b").fields(Options.OrderingFields) == Seq("a", "b"), name)
    assert(accepted("type" -> "mor").explicit(Options.TableTypeOption).contains("MERGE_ON_READ"))
  }

  test("two names of one option must agree") {
    val thrown = refusal("hoodie.table.ordering.fields" -> "o", "hoodie.datasource.write.precombine.field" -> "p")
    assert(thrown.condition == "OPTION_CONFLICT" && Seq("'o'", "'p'", "hoodie.table.ordering.fields",
      "hoodie.datasource.write.precombine.field").forall(thrown.getMessage.contains))
    accepted("hoodie.table.ordering.fields" -> "o", "hoodie.datasource.write.precombine.field" -> "o")
  }

  test("an option wins over Spark's configuration, of which only hoodie and merganser names are read") {
    val conf = Map("hoodie.datasource.write.operation" -> "insert", "spark.hoodie.combine.before.insert" -> "true",
      "spark.sql.shuffle.partitions" -> "2", "unknown" -> "x")
    val both = Settings.ofWrite(Map("hoodie.datasource.write.operation" -> "delete"), conf)
    assert(both.required(Options.Operation) == "delete" && both.bool(Options.CombineBeforeInsert))
    assert(Settings.ofWrite(Map.empty, conf).required(Options.Operation) == "insert")
    assert(intercept[MerganserException](Settings.ofWrite(Map.empty, Map("hoodie.combine.before.insrt" -> "true")))
      .condition == "UNKNOWN_OPTION")
  }

  test("options that Spark and its catalogs add are ignored") {
    accepted("path" -> "/t", "provider" -> "merganser", "location" -> "/t", "owner" -> "me", "option.path" -> "/t",
      "__partition_columns" -> "[]", "className" -> "org.apache.hudi", "connectionName" -> "hudi-connection")
  }

  test("options that begin with the commit prefix go into the commit") {
    assert(accepted("_source" -> "x").commitMetadata == Map("_source" -> "x"))
    assert(accepted("hoodie.datasource.write.commitmeta.key.prefix" -> "job.", "job.id" -> "7").commitMetadata == Map(
      "job.id" -> "7"))
  }

  test("an option with an empty value counts as not set") {
    assert(accepted("hoodie.datasource.write.precombine.field" -> "", "hoodie.table.ordering.fields" -> "o").fields(
      Options.OrderingFields) == Seq("o"))
  }

  test("a reader accepts options of writers and refuses options that would change the returned rows") {
    Settings.ofRead(Map("hoodie.datasource.write.operation" -> "upsert", "hoodie.clustering.inline" -> "true"),
      Map.empty)
    val thrown =
      intercept[MerganserException](Settings.ofRead(Map("hoodie.datasource.merge.type" -> "skip_merge"), Map.empty))
    assert(thrown.condition == "UNSUPPORTED_OPTION")
    assert(ReadConfig.parse(Map("hoodie.datasource.query.type" -> "read_optimized"), Map.empty).readOptimized)
  }

  test("time windows need an incremental query, which the session may set for all reads without a time") {
    val incremental                            = Map("hoodie.datasource.query.type" -> "incremental")
    val begin                                  = Map("hoodie.datasource.read.begin.instanttime" -> "2024")
    def conflict(options: Map[String, String]) = intercept[MerganserException](ReadConfig.parse(options, Map.empty))
    assert(conflict(begin).parameters("otherValue") == "snapshot")
    assert(conflict(incremental ++ begin + ("as.of.instant" -> "2024")).condition == "OPTION_CONFLICT")
    val window = ReadConfig.parse(incremental ++ begin, Map.empty)
    assert(window.changes.exists(_.begin.contains("2024")) && window.ofStatement.changes.isDefined)
    val ofSession = ReadConfig.parse(Map.empty, incremental ++ begin)
    assert(ofSession.changes.isDefined && ofSession.ofStatement.changes.isEmpty)
    assert(ReadConfig.parse(Map("as.of.instant" -> "2024"), incremental ++ begin).changes.isEmpty)
    assert(ReadConfig.parse(Map.empty, begin).changes.isEmpty)
  }

  test("no option name has two meanings") {
    val names = Options.all.flatMap(_.names)
    assert(names.map(_.toLowerCase).distinct.size == names.size)
    val foreign =
      ForeignOptions.refused.map(_.key) ++ ForeignOptions.refusedReading.map(_.key) ++ ForeignOptions.harmless ++
        ForeignOptions.storedOnly ++ ForeignOptions.ofOtherReleases ++ IgnoredOptions.ofWrites.flatMap(
          _.names) ++ OtherFormats.words.map(
          _.key)
    assert(foreign.distinct.size == foreign.size)
    assert(foreign.filter(f => Options.byName.contains(f.toLowerCase)).isEmpty)
  }

  test("every default is a value of its kind") {
    for (entry <- Options.all; default <- entry.default) assert(entry.kind.parse(default).contains(default), entry.key)
  }

  test("the edit distance counts insertions, deletions, replacements and swaps") {
    assert(NearestName.distance("kitten", "sitting") == 3)
    assert(NearestName.distance("abcd", "abdc") == 1)
    assert(NearestName.distance("", "ab") == 2)
    assert(NearestName.of("tabel", Seq("tables", "table"), 2).contains("table"))
    assert(NearestName.of("tabel", Seq("timeline"), 2).isEmpty)
  }
}
