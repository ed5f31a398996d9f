package io.merganser.table.commit

import io.merganser.table.TableSuite
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{CommitMetadata, CompactionPlan, OperationType, Timeline, WriteStat}

/** Which partitions an inline compaction lists. */
final class LoggedPartitionsSuite extends TableSuite {

  private def of(s: Storage): Option[Seq[String]] = {
    val config = TableConfig.load(s)
    LoggedPartitions.of(config, Timeline.load(s, config)).map(_.sorted)
  }

  /** A completed write to one file of a partition. */
  private def write(s: Storage, name: String, partition: String, isLog: Boolean = true): Unit = {
    val instant = name.takeWhile(_.isDigit)
    val file    = if (isLog) log("f", instant) else base("f", instant)
    val stat    = WriteStat("f", s"$partition/$file", fileSizeInBytes = 1, partitionPath = partition)
    instantFile(s, name, CommitMetadata(OperationType.Upsert, Map(partition -> Seq(stat)), Map.empty))
  }

  private def compaction(s: Storage, requested: String, completed: String, extra: Map[String, String]): Unit = {
    s.createNew(s".hoodie/timeline/$requested.compaction.requested", CompactionPlan.encode(CompactionPlan(Nil, extra)))
    instantFile(s, s"${requested}_$completed.commit")
  }

  test("without a compaction only partitions with logs are listed, unless commits were archived") {
    val s = storage
    Creation.create(s, properties() + ("hoodie.table.initial.version" -> "9"))
    assert(of(s).contains(Nil))
    write(s, "100_101.deltacommit", "a")
    write(s, "110_111.deltacommit", "b", isLog = false)
    assert(of(s).contains(Seq("a")))
    s.touch(".hoodie/timeline/history/manifest_1")
    assert(of(s).isEmpty)
  }

  test("after a full compaction only partitions written since its plan are listed") {
    val s = storage
    table(storage = s)
    write(s, "100_101.deltacommit", "before")
    write(s, "110_125.deltacommit", "during")
    compaction(s, "120", "130", LoggedPartitions.ofAllSlices)
    write(s, "140_141.deltacommit", "after")
    s.touch(".hoodie/timeline/history/manifest_1")
    assert(of(s).contains(Seq("after", "during")))
    compaction(s, "150", "160", Map.empty)
    assert(of(s).isEmpty, "other engines compact some slices")
  }

  test("in version 6 all partitions are listed") {
    val s = storage
    table(version = 6, storage = s)
    assert(of(s).isEmpty)
  }
}
