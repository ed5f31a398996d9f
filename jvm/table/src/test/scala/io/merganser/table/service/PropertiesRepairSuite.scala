package io.merganser.table.service

import java.nio.charset.StandardCharsets.ISO_8859_1

import io.merganser.merge.MerganserException
import io.merganser.table.{DrawnPoints, FaultyFileSystem, TableSuite}
import io.merganser.table.FaultyFileSystem._
import io.merganser.table.file.FileNames
import io.merganser.table.properties.{PropertiesFile, TableConfig}
import io.merganser.table.rule.RecordedRule
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{CommitMetadata, OperationType, WriteStat}
import org.apache.commons.io.FileUtils

/** Properties that are lost, damaged or overwritten; with faults at [[DrawnPoints]]. */
final class PropertiesRepairSuite extends TableSuite with CleaningFixture {

  private def repair(s: Storage) = new PropertiesRepair(s)(PropertiesCheck.require(s, _))

  private def written(name: String, version: Int = 9, logs: Seq[String] = Nil): Storage = {
    val s = faulty(name)
    table(version, s)
    write(s, "100", Seq("a"))
    if (logs.nonEmpty) write(s, "200", logs = logs, action = "deltacommit")
    if (version < 8) completeInOrder(s)
    s
  }

  private def stored(s: Storage): Map[String, String] = TableConfig.load(s).properties

  private def damage(s: Storage, text: String): Unit = {
    s.delete(PropertiesFile.Name)
    s.createNew(PropertiesFile.Name, text.getBytes(ISO_8859_1))
  }

  private def restored(s: Storage, named: Map[String, String] = Map.empty, dryRun: Boolean = false) =
    repair(s).restore(named, dryRun)(properties() ++ named)

  for (version <- Seq(6, 8, 9)) test(s"version $version: an overwrite replaces all properties and their checksum") {
    val s       = written("t", version)
    val changed = properties(version) + ("note" -> "x") - "hoodie.record.merge.mode"
    val changes = repair(s).overwrite(changed + (PropertiesFile.Checksum -> "1"))
    assert(stored(s) == TableConfig.withChecksum(changed).properties)
    assert(changes.filter(c => c.before != c.after).map(c => (c.key, c.before, c.after)) == Seq(
      ("hoodie.record.merge.mode", Some("COMMIT_TIME_ORDERING"), None), ("note", None, Some("x"))))
  }

  test("properties that contradict the table's files are refused and change nothing") {
    val s      = written("t", logs = Seq("a"))
    val before = stored(s)
    val wrong = Seq(
      before + ("hoodie.table.type" -> "COPY_ON_WRITE") -> "PROPERTIES_CONTRADICT_DATA",
      before + ("hoodie.table.name" -> " ") -> "PROPERTIES_CONTRADICT_DATA",
      before ++ properties(6) -> "PROPERTIES_CONTRADICT_DATA",
      before + ("hoodie.timeline.layout.version" -> "1") -> "PROPERTIES_CONTRADICT_DATA",
      before - "hoodie.table.partition.fields" -> "PROPERTIES_CONTRADICT_DATA",
      before + ("hoodie.table.partition.fields" -> "part,other") -> "PROPERTIES_CONTRADICT_DATA",
      before + ("hoodie.datasource.write.hive_style_partitioning" -> "true") -> "PROPERTIES_CONTRADICT_DATA",
      before + ("hoodie.table.version" -> "7") -> "TABLE_VERSION_UNKNOWN",
      before + ("hoodie.record.merge.mode" -> "NONE_SUCH") -> "TABLE_PROPERTIES_INVALID"
    )
    for ((changed, condition) <- wrong) {
      assert(conditionOf(repair(s).overwrite(changed)) == condition, changed)
      assert(stored(s) == before && !s.exists(PropertiesFile.Backup))
    }
  }

  test("a repair does not replace a damaged file's rule and keys by defaults unless they are named") {
    val s     = written("t")
    val fixed = Map("hoodie.table.ordering.fields" -> "ts", "hoodie.record.merge.mode" -> "EVENT_TIME_ORDERING")
    damage(s,
      "hoodie.table.ordering.fields=ts\nhoodie.record.merge.mode=EVENT_TIME_ORDERING\nhoodie.table.checksum=1\n")
    val error = intercept[MerganserException](restored(s))
    assert(error.condition == "PROPERTIES_CONTRADICT_DATA" && error.getMessage.contains("EVENT_TIME_ORDERING"))
    assert(conditionOf(restored(s, fixed - "hoodie.table.ordering.fields")) == "PROPERTIES_CONTRADICT_DATA")
    restored(s, Map("hoodie.table.ordering.fields" -> "", "hoodie.record.merge.mode" -> "COMMIT_TIME_ORDERING"))
    assert(stored(s)("hoodie.record.merge.mode") == "COMMIT_TIME_ORDERING")
  }

  test("a check compares merge mode and ordering fields with the newest commit that records them") {
    val s      = written("t")
    val config = TableConfig.load(s)
    assert(PropertiesCheck.ruleContradiction(s, config).isEmpty, "commits without them")
    def commit(name: String, rule: TableConfig): Unit =
      instantFile(s, name,
        CommitMetadata(OperationType.Upsert, Map.empty, Map("schema" -> "\"string\"") ++ RecordedRule.of(rule)))
    val other = TableConfig(config.properties ++ Map("hoodie.table.ordering.fields" -> "ts",
      "hoodie.record.merge.mode" -> "EVENT_TIME_ORDERING"))
    commit("250_260.deltacommit", other)
    commit("300_350.deltacommit", config)
    assert(PropertiesCheck.ruleContradiction(s, config).isEmpty, "the commit before had another rule")
    val found = PropertiesCheck.ruleContradiction(s, other).getOrElse(fail())
    assert(found.condition == "PROPERTIES_CONTRADICT_DATA" && found.parameters("value") == "ts")
    val earlier = TableConfig(other.properties + ("hoodie.table.version" -> "8"))
    assert(PropertiesCheck.ruleContradiction(s, earlier).isEmpty,
      "another version has other properties for the same rule")
  }

  test("a repair keeps intact properties, restores lost ones from backup or commits, and saves the damaged file") {
    val s      = written("t")
    val before = stored(s)
    assert(restored(s)._1 == PropertiesSource.Intact && stored(s) == before)
    assert(restored(s, Map("note" -> "x"))._2.filter(c => c.before != c.after) ==
      Seq(PropertyChange("note", None, Some("x"))))
    val noted = stored(s)
    s.createNew(PropertiesFile.Backup, PropertiesFile.write(noted))
    damage(s, "")
    assert(restored(s)._1 == PropertiesSource.Backup && stored(s) == noted && !s.exists(PropertiesFile.Backup))
    damage(s, "hoodie.table.name=t\nhoodie.table.checksum=1\nmore=here\n")
    assert(conditionOf(TableConfig.load(s)) == "TABLE_PROPERTIES_INVALID")
    val (source, changes) = restored(s, dryRun = true)
    assert(source == PropertiesSource.Commits && changes.contains(PropertyChange("more", Some("here"), None)))
    assert(conditionOf(TableConfig.load(s)) == "TABLE_PROPERTIES_INVALID", "a dry run")
    restored(s)
    assert(stored(s) == before)
    assert(names(s, ".hoodie").exists(_.startsWith("hoodie.properties.damaged.")))
    s.delete(PropertiesFile.Name)
    restored(s)
    assert(stored(s) == before)
  }

  test("a repair prefers the backup to properties without a checksum, as readers do") {
    val s      = written("t")
    val before = stored(s)
    s.createNew(PropertiesFile.Backup, PropertiesFile.write(before))
    val cut = PropertiesFile.write(before - PropertiesFile.Checksum - "hoodie.record.merge.mode")
    damage(s, new String(cut, ISO_8859_1))
    assert(stored(s) == before, "readers")
    assert(restored(s)._1 == PropertiesSource.Backup && stored(s) == before && !s.exists(PropertiesFile.Backup))
  }

  for (
    (what, act) <- Seq[(String, Storage => Any)](
      "an overwrite" -> (s => repair(s).overwrite(properties() + ("note" -> "x"))),
      "a restoration" -> (s => restored(s, Map("note" -> "x"))))
  )
    test(s"a failure of $what at any operation leaves old or new properties, and the next call completes it") {
      val prepared = written("prepared")
      val expected = TableConfig.withChecksum(properties() + ("note" -> "x")).properties
      if (what == "a restoration") damage(prepared, "hoodie.table.checksum=1\n")
      val before = scala.util.Try(stored(prepared)).toOption
      def copied(name: String): Storage = {
        FileUtils.copyDirectory(folder.resolve("prepared").toFile, folder.resolve(name).toFile, true)
        faulty(name)
      }
      val operations = FaultyFileSystem.recorded(act(copied("whole")))
      val points = DrawnPoints.of(operations.indices.flatMap { i =>
        if (isChange(operations(i))) Seq(Before, After, Dead, Lost).map(i + 1 -> _) else Seq(i + 1 -> (Before: Fault))
      })
      for (((n, fault), i) <- points.zipWithIndex) {
        val s       = copied(s"point-$i")
        val (_, at) = FaultyFileSystem.failing(n, fault)(act(s))
        val now     = scala.util.Try(stored(s)).toOption
        assert(now == before || now.contains(expected), s"$fault at $at")
        act(s)
        assert(stored(s) == expected && !s.exists(PropertiesFile.Backup), s"$fault at $at")
        FileUtils.deleteDirectory(folder.resolve(s"point-$i").toFile)
      }
      info(s"${operations.size} operations, ${points.size} points")
    }

  test("properties are recreated from files and given values, and missing ones are required by name") {
    val s = written("t", logs = Seq("a"))
    s.delete(PropertiesFile.Name)
    def recreated(named: (String, String)*) = RecreatedProperties.of(s, named.toMap, Map.empty)
    assert(conditionOf(recreated()) == "PROPERTY_REQUIRED")
    assert(conditionOf(recreated("hoodie.table.version" -> "9")) == "PROPERTY_REQUIRED")
    val fields = Seq("id", "part").map(name => s"""{"name":"$name","type":"string"}""").mkString(",")
    val schema = s"""{"type":"record","name":"t","fields":[$fields]}"""
    def delta(instant: String, logOf: String): Unit = {
      val stat     = WriteStat("a", s"p/${log("a", t(logOf))}", t(logOf), fileSizeInBytes = 1, partitionPath = "p")
      val metadata = CommitMetadata(OperationType.Upsert, Map("p" -> Seq(stat)), Map("schema" -> schema))
      s.createNew(s".hoodie/timeline/${t(instant)}_${t(instant).dropRight(1)}5.deltacommit",
        CommitMetadata.encodeAvro(metadata, isReplace = false))
    }
    val all = Seq("hoodie.table.version" -> "9", "hoodie.table.recordkey.fields" -> "id",
      "hoodie.table.partition.fields" -> "part")
    def shown = {
      val found = recreated(all: _*)
      (found.get("hoodie.table.type"), found.get("hoodie.table.initial.version"))
    }
    delta("300", "300")
    data(s).filter(FileNames.isLog).foreach(name => s.delete(s"p/$name"))
    assert(shown == ((Some("MERGE_ON_READ"), Some("9"))), "also without a log")
    delta("400", "100")
    assert(shown == ((Some("MERGE_ON_READ"), Some("6"))), "a log of version 6 is named after its slice")
    val none = faulty("none")
    none.makeFolder(".hoodie")
    assert(conditionOf(RecreatedProperties.of(none, Map.empty, Map.empty)) == "PATH_IS_NO_TABLE")
  }
}
