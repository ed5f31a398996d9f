package io.merganser.table.service

import java.time.LocalDate

import io.merganser.merge.MerganserException
import io.merganser.table.settings.{CompactionChoice, WriteConfig}
import io.merganser.table.TableSuite
import io.merganser.table.timeline.CompactionOperation

/** Which partitions and file slices each strategy chooses. */
final class CompactionSelectionSuite extends TableSuite {

  private def choice(options: (String, String)*): CompactionChoice =
    WriteConfig.parse(options.toMap, Map.empty, table(storage = faulty(s"t${options.hashCode}"))).compaction.choice

  private def strategy(names: String): (String, String) = "hoodie.compaction.strategy" -> names

  private val today = LocalDate.parse("2024-03-10")

  private def partitions(of: CompactionChoice)(all: String*): Seq[String] =
    CompactionSelection.partitions(of, all, today)

  private val megabyte = 1024.0 * 1024.0

  /** A slice with some log files of some megabytes in all, of which twice as much is read and written. */
  private def slice(name: String, megabytes: Int, logs: Int = 1): CompactionOperation =
    CompactionOperation("p", name, "1", None, (1 to logs).map(i => s"$name.log.$i"),
      Map("TOTAL_LOG_FILES_SIZE" -> megabytes * megabyte, "TOTAL_IO_MB" -> megabytes * 2.0))

  private val slices = Seq(slice("a", 10, logs = 3), slice("b", 30), slice("c", 20, logs = 5), slice("d", 0, logs = 2))

  private def chosen(of: CompactionChoice): String = CompactionSelection.operations(of, slices).map(_.fileId).mkString

  test("slices with the largest logs are chosen first, until the target of IO is exceeded") {
    assert(chosen(choice()) == "bcad")
    assert(chosen(choice("hoodie.compaction.target.io" -> "61")) == "bc")
    assert(chosen(choice("hoodie.compaction.target.io" -> "60")) == "b")
    assert(chosen(choice("hoodie.compaction.target.io" -> "0")) == "b", "a compaction makes progress")
    assert(chosen(choice("hoodie.compaction.logfile.size.threshold" -> (20 * megabyte).toLong.toString)) == "bc")
  }

  test("slices are chosen by their number of log files, in their order, or all") {
    val target = "hoodie.compaction.target.io" -> "50"
    assert(chosen(choice(strategy("LogFileNumBasedCompactionStrategy"), target)) == "ca")
    assert(chosen(choice(strategy("LogFileNumBasedCompactionStrategy"),
        "hoodie.compaction.logfile.num.threshold" -> "3")) == "ca")
    assert(chosen(choice(strategy("BoundedIOCompactionStrategy"), target)) == "ab")
    assert(chosen(choice(strategy("UnBoundedCompactionStrategy"), target)) == "abcd")
  }

  test("the latest partitions are chosen by the order of their values, in any style of path") {
    val latest = choice(strategy("org.apache.hudi.table.action.compact.strategy.DayBasedCompactionStrategy"),
      "hoodie.compaction.daybased.target.partitions" -> "2")
    assert(partitions(latest)("2023/12/31", "2024/01/02", "2024/01/10") == Seq("2024/01/02", "2024/01/10"))
    assert(partitions(latest)("y=2023/d=9", "y=2024/d=1", "y=2024/d=2") == Seq("y=2024/d=1", "y=2024/d=2"))
    assert(partitions(latest)("") == Seq(""))
  }

  test("partitions of the last days or the days before them are chosen, and a path without a day is an error") {
    val days   = "hoodie.compaction.daybased.target.partitions" -> "3"
    val last   = choice(strategy("BoundedPartitionAwareCompactionStrategy"), days)
    val before = choice(strategy("UnBoundedPartitionAwareCompactionStrategy"), days)
    val paths =
      Seq("2024/03/06", "day=2024-03-06", "2024-03-07", "year=2024/month=03/day=10", "2024/04/01", "2024/03/06")
    assert(partitions(last)(paths: _*) == Seq("2024-03-07", "year=2024/month=03/day=10", "2024/04/01"))
    assert(partitions(before)(paths: _*) == Seq("2024/03/06", "day=2024-03-06", "2024/03/06"))
    for (path <- Seq("city=Oslo", "", "2024/13/01")) {
      val error = intercept[MerganserException](partitions(last)(path))
      assert(error.condition == "PARTITION_NOT_A_DAY" && error.parameters("partition") == path)
    }
  }

  test("partitions are chosen by a regular expression, which is checked before anything is written") {
    val regex  = "hoodie.compaction.partition.path.regex"
    val choose = strategy("PartitionRegexBasedCompactionStrategy")
    assert(partitions(choice(choose, regex -> "=(Oslo|Rome)$"))("c=Oslo", "c=Paris", "c=Rome") ==
      Seq("c=Oslo", "c=Rome"))
    for (wrong <- Seq(Seq(choose), Seq(choose, regex -> "("))) {
      val error = intercept[MerganserException](choice(wrong: _*))
      assert(error.condition == "OPTION_VALUE_INVALID" && error.parameters("key") == regex)
    }
  }

  test("several strategies are applied one after the other, and an unknown one is an error") {
    val both = choice(
      strategy("org.apache.hudi.table.action.compact.strategy.PartitionRegexBasedCompactionStrategy," +
        "LogFileNumBasedCompactionStrategy"),
      "hoodie.compaction.partition.path.regex" -> "Oslo", "hoodie.compaction.logfile.num.threshold" -> "5")
    assert(partitions(both)("Oslo", "Rome") == Seq("Oslo") && chosen(both) == "c")
    for (name <- Seq("com.example.Mine", "org.apache.hudi.Mine", "UnBoundedCompactionStrategy,Mine", ","))
      assert(conditionOf(choice(strategy(name))) == "OPTION_VALUE_INVALID", name)
  }
}
