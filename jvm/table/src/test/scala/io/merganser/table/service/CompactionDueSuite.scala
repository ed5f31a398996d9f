package io.merganser.table.service

import java.time.LocalDateTime

import io.merganser.table.TableSuite
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.WriteConfig
import io.merganser.table.timeline.{CommitMetadata, OperationType, Timeline}

/** When each trigger makes a compaction due. Delta commits are a minute apart, at 10:01, 10:02, and so on. */
final class CompactionDueSuite extends TableSuite {

  private def instant(minute: Int) = f"2024031010$minute%02d00000"

  private def deltas(minutes: Int*): Unit =
    minutes.foreach(m => instantFile(storage, s"${instant(m)}_${instant(m).dropRight(1)}1.deltacommit"))

  private def compacted(minute: Int): Unit =
    instantFile(storage, s"${instant(minute)}_${instant(minute).dropRight(1)}1.commit",
      CommitMetadata(OperationType.Compact, Map.empty, Map.empty))

  private def isDue(trigger: String, minute: Int, commits: Int = 3, seconds: Int = 300): Boolean = {
    val config = TableConfig.load(storage)
    val options = Map("hoodie.compact.inline.trigger.strategy" -> trigger,
      "hoodie.compact.inline.max.delta.commits" -> commits.toString,
      "hoodie.compact.inline.max.delta.seconds" -> seconds.toString)
    CompactionDue.isDue(WriteConfig.parse(options, Map.empty, config).compaction, Timeline.load(storage, config),
      LocalDateTime.of(2024, 3, 10, 10, minute))
  }

  private def due(minute: Int): Seq[String] =
    Seq("NUM_COMMITS", "NUM_COMMITS_AFTER_LAST_REQUEST", "TIME_ELAPSED", "NUM_AND_TIME", "NUM_OR_TIME").filter(
      isDue(_, minute))

  test("the first compaction is due by commits and by time since the first delta commit") {
    table()
    assert(due(9).isEmpty)
    deltas(1, 2)
    assert(due(2).isEmpty)
    assert(due(6) == Seq("TIME_ELAPSED", "NUM_OR_TIME"))
    deltas(3)
    assert(due(3) == Seq("NUM_COMMITS", "NUM_COMMITS_AFTER_LAST_REQUEST", "NUM_OR_TIME"))
    assert(due(6).size == 5)
  }

  test("later compactions are due by commits and time since the last, and a scheduled one resets its own trigger") {
    table()
    deltas(1, 2, 3)
    compacted(4)
    assert(due(59).isEmpty, "nothing was written since")
    deltas(5, 6)
    assert(due(8).isEmpty)
    assert(due(9) == Seq("TIME_ELAPSED", "NUM_OR_TIME"))
    compactionFile(storage, instant(7), "a")
    deltas(8)
    assert(due(8) == Seq("NUM_COMMITS", "NUM_OR_TIME"))
    deltas(9, 10)
    assert(due(10).size == 5)
  }
}
