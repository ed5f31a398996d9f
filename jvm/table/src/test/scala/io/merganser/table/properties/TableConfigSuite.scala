package io.merganser.table.properties

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files

import io.merganser.merge.MerganserException
import io.merganser.table.{FaultyFileSystem, TableSuite}
import io.merganser.table.commit.{Creation, PropertiesUpdate}
import io.merganser.table.rule.MergeMode

final class TableConfigSuite extends TableSuite {

  test("the checksum is the CRC32 of database and name, joined by a dot even without a database") {
    assert(TableConfig(Map("hoodie.table.name" -> "mor9")).checksum == 1880643271L)
    assert(TableConfig(Map("hoodie.table.name" -> "mor9", "hoodie.database.name" -> "db")).checksum != 1880643271L)
  }

  test("a created table reads back every property, with unknown keys and characters that need escapes") {
    val odd =
      properties() ++ Map("some.unknown:key" -> "a=b:c # d\\e", "umlaut" -> "Gänse\nund mehr",
        "hoodie.table.create.schema" -> "{\"a\": 1}")
    Creation.create(storage, odd)
    val read = TableConfig.load(storage).properties
    assert(read - PropertiesFile.Checksum == odd)
    assert(read(PropertiesFile.Checksum) == TableConfig(odd).checksum.toString)
  }

  test("creating a table twice is refused and leaves the first") {
    table()
    assert(conditionOf(Creation.create(storage, properties() + ("hoodie.table.name" -> "other"))) == "TABLE_EXISTS")
    assert(TableConfig.load(storage).name == "t")
  }

  test("creating a table fails in a folder with foreign files; dot files, job markers and empty folders are allowed") {
    storage.makeFolder("day=1/empty")
    storage.touch(".DS_Store")
    storage.touch("_SUCCESS")
    storage.touch("day=1/deep/part-0.parquet")
    val refused = intercept[MerganserException](Creation.create(storage, properties()))
    assert(refused.condition == "FOLDER_NOT_EMPTY" && refused.parameters("found") == "day=1/deep/part-0.parquet")
    assert(!storage.exists(".hoodie"))
    storage.delete("day=1/deep/part-0.parquet")
    val log = ".group_20250101000000000.log.1_0-0-0"
    storage.touch(log)
    assert(intercept[MerganserException](Creation.create(storage, properties())).parameters("found") == log)
    storage.delete(log)
    // What a task wrote that outlived its failed write.
    storage.touch("day=1/group_0-0-0_20250101000000000.parquet")
    storage.touch(".hoodie/.temp/20250101000000000/day=1/group_0-0-0_20250101000000000.parquet.marker.CREATE")
    assert(Creation.create(storage, properties()).name == "t")
  }

  test("loading refuses a path without a table, an unknown version, a bootstrapped table and ORC files by name") {
    assert(conditionOf(TableConfig.load(storage)) == "PATH_IS_NO_TABLE")
    assert(conditionOf(Creation.create(storage, properties(7))) == "TABLE_VERSION_UNKNOWN")
    assert(conditionOf(Creation.create(storage, properties(10))) == "TABLE_VERSION_UNKNOWN")
    assert(conditionOf(Creation.create(storage, properties() - "hoodie.table.version")) == "TABLE_VERSION_UNKNOWN")
    for (
      (version, remedy) <- Seq(5 -> "Any Hudi from 0.14 on upgrades", 7 -> "build that made it", 10 -> "newer release")
    )
      assert(intercept[MerganserException](Creation.create(storage, properties(version))).getMessage.contains(remedy))
    assert(conditionOf(Creation.create(storage,
        properties() + ("hoodie.bootstrap.base.path" -> "/x"))) == "BOOTSTRAP_TABLE")
    assert(conditionOf(Creation.create(storage,
        properties() + ("hoodie.table.base.file.format" -> "ORC"))) == "BASE_FORMAT_UNSUPPORTED")
  }

  test("a valid backup replaces properties with a wrong checksum, and the next update repairs the file") {
    table()
    val file = folder.resolve("t/.hoodie/hoodie.properties")
    Files.copy(file, folder.resolve("t/.hoodie/hoodie.properties.backup"))
    overwrite(file, "hoodie.table.name=t\nhoodie.table.version=9\nhoodie.table.checksum=1\n")
    assert(TableConfig.load(storage).tableType == TableType.MergeOnRead)
    PropertiesUpdate.run(storage, _ + ("k" -> "v"))
    assert(!storage.exists(PropertiesFile.Backup))
    assert(TableConfig.load(storage).properties("k") == "v")
    overwrite(file, "hoodie.table.name=t\nhoodie.table.version=9\nhoodie.table.checksum=1\n")
    assert(conditionOf(TableConfig.load(storage)) == "TABLE_PROPERTIES_INVALID")
  }

  test("a backup wins over properties without a checksum, which are trusted if there is none") {
    table()
    val file = folder.resolve("t/.hoodie/hoodie.properties")
    Files.copy(file, folder.resolve("t/.hoodie/hoodie.properties.backup"))
    overwrite(file, "hoodie.table.name=t\nhoodie.table.version=9\n")
    assert(TableConfig.load(storage).recordKeyFields == Seq("id"))
    Files.delete(folder.resolve("t/.hoodie/hoodie.properties.backup"))
    assert(TableConfig.load(storage).recordKeyFields.isEmpty)
  }

  test("a stale checksum file of the local file system does not hide the properties, and an update repairs it") {
    table()
    PropertiesUpdate.run(storage, _ + ("k" -> "v"))
    val conf  = storage.fs
    val bytes = storage.read(PropertiesFile.Name)
    val out   = conf.create(storage.path(PropertiesFile.Name), true) // leaves a .crc
    try out.write(bytes)
    finally out.close()
    val file = folder.resolve("t/.hoodie/hoodie.properties")
    overwrite(file, new String(bytes, UTF_8).replace("k=v", "k=w"))
    assert(TableConfig.load(storage).properties("k") == "w")
    PropertiesUpdate.run(storage, _ + ("l" -> "m"))
    assert(storage.readText(PropertiesFile.Name).contains("l=m"))
  }

  test(
    "an update that fails at any operation leaves the old properties or the new ones, and the next update succeeds") {
    for (how <- Seq(FaultyFileSystem.Before, FaultyFileSystem.After, FaultyFileSystem.Dead)) {
      var n       = 1
      var reached = true
      while (reached) {
        val storage = faulty(s"$how-$n")
        table(storage = storage)
        val (result, failed) = FaultyFileSystem.failing(n, how)(PropertiesUpdate.run(storage, _ + ("k" -> "new")))
        reached = failed.isDefined
        if (!reached) assert(result.isRight)
        val seen = TableConfig.load(storage).properties
        assert((seen - "k") == TableConfig(properties()).copy()
            .properties + (PropertiesFile.Checksum -> TableConfig(properties()).checksum.toString), failed)
        assert(seen.get("k").forall(_ == "new"), failed)
        PropertiesUpdate.run(storage, _ + ("k" -> "newer"))
        assert(TableConfig.load(storage).properties("k") == "newer", failed)
        assert(!storage.exists(PropertiesFile.Backup), failed)
        n += 1
      }
      assert(n > 8)
    }
  }

  test("fields are parsed from the legacy ordering key, partition kinds and the key generator's class") {
    def config(p: (String, String)*) = TableConfig(properties() ++ p)
    assert(config("hoodie.table.precombine.field" -> "ts").orderingFields == Seq("ts"))
    val twoNames = config("hoodie.table.ordering.fields" -> "a, b", "hoodie.table.precombine.field" -> "ts")
    assert(twoNames.orderingFields == Seq("a", "b"))
    assert(config("hoodie.table.partition.fields" -> "f:SIMPLE,g:timestamp, h:x").partitionSpec == Seq(
      PartitionField("f", PartitionKind.Simple), PartitionField("g", PartitionKind.Timestamp),
      PartitionField("h", PartitionKind.Other("X"))))
    assert(config("hoodie.table.partition.fields" -> "f:SIMPLE,g:timestamp").partitionFields == Seq("f", "g"))
    assert(config("hoodie.table.partition.fields" -> "").keyGeneratorType == "NON_PARTITION")
    assert(config().keyGeneratorType == "SIMPLE")
    assert(config("hoodie.table.recordkey.fields" -> "a,b").keyGeneratorType == "COMPLEX")
    assert(config("hoodie.table.keygenerator.class" -> "org.apache.hudi.keygen.TimestampBasedKeyGenerator")
      .keyGeneratorType == "TIMESTAMP")
  }

  test("a missing merge mode is derived first from the payload in version 6 and from the strategy in version 8") {
    val both = (properties() - "hoodie.record.merge.mode") ++ Map(
      "hoodie.record.merge.strategy.id" -> MergeMode.StrategyId.EventTime,
      "hoodie.compaction.payload.class" -> "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload")
    assert(MergeMode.of(TableConfig(both + ("hoodie.table.version" -> "6"))) == MergeMode.CommitTimeOrdering)
    assert(MergeMode.of(TableConfig(both + ("hoodie.table.version" -> "8"))) == MergeMode.EventTimeOrdering)
    val ordered = properties() - "hoodie.record.merge.mode" + ("hoodie.table.ordering.fields" -> "ts")
    assert(MergeMode.of(TableConfig(ordered)) == MergeMode.EventTimeOrdering)
  }

  test("the timeline's zone is UTC if the table has it configured, else the zone of this JVM") {
    assert(TableConfig(properties()).timelineZone == java.time.ZoneOffset.UTC)
    assert(TableConfig(properties() - "hoodie.table.timeline.timezone").timelineZone == java.time.ZoneId.systemDefault)
  }

  private def overwrite(file: java.nio.file.Path, text: String): Unit = { Files.write(file, text.getBytes(UTF_8)); () }
}
