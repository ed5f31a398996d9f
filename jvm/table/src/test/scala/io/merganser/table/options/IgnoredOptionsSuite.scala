package io.merganser.table.options

import io.merganser.table.settings.ReadConfig
import org.scalatest.funsuite.AnyFunSuite

class IgnoredOptionsSuite extends AnyFunSuite {

  private def reported(options: (String, String)*): Seq[String] =
    Settings.ofWrite(options.toMap, Map.empty).ignored.map(_.key)

  test("ignored options that a job may miss are reported by name") {
    val missed = Seq("hoodie.clean.partition.filter.regex" -> "2", "hoodie.archive.delete.parallelism" -> "3",
      "hoodie.metrics.on" -> "true", "hoodie.write.commit.callback.on" -> "true",
      "hoodie.bulkinsert.sort.mode" -> "PARTITION_SORT",
      "hoodie.compaction.plan.generator" -> "a.Generator",
      "hoodie.metadata.enable" -> "true", "hoodie.metadata.record.index.enable" -> "true",
      "hoodie.write.merge.handle.class" -> "a.Handle")
    for (option <- missed) assert(reported(option) == Seq(option._1))
    assert(reported(missed: _*).toSet == missed.map(_._1).toSet)
  }

  test("an option without a difference or of a disabled feature is not reported") {
    val same = Seq("hoodie.datasource.hive_sync.enable" -> "false", "hoodie.clean.async" -> "false",
      "hoodie.metadata.enable" -> "false",
      "hoodie.archive.async" -> "false", "hoodie.metrics.on" -> "false",
      "hoodie.bulkinsert.sort.mode" -> "global_sort",
      "hoodie.datasource.hive_sync.database" -> "d",
      "hoodie.metrics.reporter.type" -> "JMX",
      "hoodie.write.merge.handle.class" -> "org.apache.hudi.io.FileGroupReaderBasedMergeHandle",
      "hoodie.keep.min.commits" -> "", "hoodie.datasource.compaction.async.enable" -> "true")
    for (option <- same) assert(reported(option).isEmpty, option)
    assert(reported("hoodie.archive.automatic" -> "false", "hoodie.keep.max.commits" -> "2").isEmpty)
    assert(reported("hoodie.metadata.enable" -> "false", "hoodie.metadata.index.column.stats.enable" -> "true").isEmpty)
    val registered = Seq("hoodie.datasource.hive_sync.enable" -> "true", "hoodie.datasource.hive_sync.database" -> "d")
    val ofAnother  = Seq("hoodie.datasource.hive_sync.jdbcurl" -> "jdbc", "hoodie.glue.database" -> "d")
    assert(reported(registered: _*).isEmpty, "these have an effect here")
    assert(reported(registered ++ ofAnother: _*) == ofAnother.map(_._1) && reported(ofAnother: _*).isEmpty)
  }

  test("options that only tune Hudi or that we support are not reported") {
    assert(reported("hoodie.memory.merge.max.size" -> "1", "hoodie.embed.timeline.server" -> "true",
        "hoodie.clean.failed.writes.policy" -> "LAZY", "hoodie.clean.automatic" -> "true",
        "hoodie.cleaner.commits.retained" -> "2", "hoodie.clean.parallelism" -> "7",
        "hoodie.upsert.shuffle.parallelism" -> "2",
        "hoodie.write.num.retries.on.conflict.failures" -> "3").isEmpty)
  }

  test("ignored options of Spark's configuration are reported unless a write's option overrides them") {
    val session =
      Map("spark.hoodie.metrics.on" -> "true", "hoodie.archive.delete.parallelism" -> "3",
        "hoodie.metadata.enable" -> "true")
    assert(Settings.ofWrite(Map("hoodie.metadata.enable" -> "false"), session).ignored.map(_.key) ==
      Seq("hoodie.archive.delete.parallelism", "hoodie.metrics.on"))
  }

  test("ignored options with one effect are described together, without their values") {
    val ignored = Settings.ofWrite(Map("hoodie.archive.delete.parallelism" -> "3",
        "hoodie.metrics.on" -> "true", "hoodie.metrics.executor.enable" -> "77"), Map.empty).ignored
    val described = IgnoredOptions.described(ignored)
    assert(
      described.size == 2 && described.last.startsWith("hoodie.metrics.executor.enable, hoodie.metrics.on (") &&
        !described.mkString.contains("77"))
  }

  test("a read reports its own ignored options and none of the session") {
    def ofRead(options: Map[String, String], session: Map[String, String]) =
      ReadConfig.parse(options, session).ignored.map(_.key)
    val session = Map("hoodie.metadata.enable" -> "true", "hoodie.metrics.on" -> "true")
    assert(ofRead(Map.empty, session).isEmpty)
    assert(ofRead(Map("hoodie.archive.delete.parallelism" -> "3"), session).isEmpty)
    assert(ofRead(Map("hoodie.metadata.enable" -> "true"), session) == Seq("hoodie.metadata.enable"))
  }
}
