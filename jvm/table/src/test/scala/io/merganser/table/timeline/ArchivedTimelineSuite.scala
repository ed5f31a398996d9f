package io.merganser.table.timeline

import io.merganser.table.TableSuite
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.MessageTypeParser

final class ArchivedTimelineSuite extends TableSuite {

  private val history = ".hoodie/timeline/history"

  private val schema = MessageTypeParser.parseMessageType(
    "message archived { optional binary instantTime (STRING); optional binary completionTime (STRING); " +
      "optional binary action (STRING); optional binary metadata; optional binary plan; optional int32 version; }")

  private def archive(s: Storage, file: String, instants: (String, String)*): Unit = {
    val writer = ExampleParquetWriter.builder(s.path(s"$history/$file")).withType(schema).withConf(s.conf).build()
    try instants.foreach { case (requested, completed) =>
        writer.write(new SimpleGroupFactory(schema).newGroup().append("instantTime", requested).append("completionTime",
            completed)
            .append("action", "deltacommit").append("version", 1))
      }
    finally writer.close()
  }

  private def manifest(s: Storage, number: Int, files: String*): Unit =
    s.createNew(s"$history/manifest_$number",
      files.map(f => s"""{"fileName":"$f","fileLen":${s.status(s"$history/$f").get.getLen}}""").mkString(
        """{"files":[""", ",", "]}").getBytes)

  test("completion times are read from the files of the current manifest") {
    val s      = storage
    val config = table(storage = s)
    archive(s, "100_200_0.parquet", "100" -> "110", "200" -> "350")
    archive(s, "300_300_0.parquet", "300" -> "310")
    archive(s, "100_200_1.parquet", "200" -> "999")
    manifest(s, 1, "100_200_1.parquet")
    manifest(s, 2, "100_200_0.parquet", "300_300_0.parquet")
    val newest = new ArchivedTimeline(s, config)
    assert(newest.completionTime("200").contains("350") && newest.completionTime("300").contains("310"))
    assert(newest.completionTime("400").isEmpty)
    s.createNew(s"$history/_version_", "1".getBytes)
    assert(new ArchivedTimeline(s, config).completionTime("200").contains("999"))
  }

  test("a log of an archived delta commit belongs to the slice that had started when it completed") {
    val s = storage
    table(storage = s)
    partition(s, base("a", "100"), base("a", "200"), log("a", "150"), log("a", "160"))
    instantFile(s, "900_910.deltacommit")
    archive(s, "100_200_0.parquet", "100" -> "110", "150" -> "170", "160" -> "350", "200" -> "300")
    manifest(s, 1, "100_200_0.parquet")
    assert(show(view(s).allSlices("p")) == Seq("a@100:150", "a@200:160"))
    assert(TableConfig.load(s).historyFolder == history)
  }
}
