package io.merganser.table.service

import io.merganser.merge.MerganserException
import io.merganser.table.TableSuite
import io.merganser.table.file.{BaseFile, LogFile}
import io.merganser.table.options.LayoutStrategy
import io.merganser.table.settings.{ClusteringConfig, WriteConfig}
import io.merganser.table.slice.FileSlice
import io.merganser.table.timeline.{ClusteringPlan, CommitMetadata, OperationType, RequestedReplace, Timeline}

/** Which partitions and file slices a scheduled clustering takes, how they are grouped, and when one is due. */
final class ClusteringPlannerSuite extends TableSuite {

  private val plan = "hoodie.clustering.plan.strategy."

  private var configs = 0

  private def config(options: (String, String)*): ClusteringConfig = {
    configs += 1
    WriteConfig.parse(options.toMap, Map.empty, table(storage = faulty(s"t$configs"))).clustering
  }

  private val days = (1 to 30).map(d => f"2024/03/$d%02d")

  private def partitions(all: Seq[String], hour: Int = 0)(options: (String, String)*): Seq[String] =
    ClusteringPlanner.partitions(config(options: _*).partitions, all, hour)

  private def mode(name: String) = "hoodie.clustering.plan.partition.filter.mode" -> name

  test("the partition mode selects all partitions, the latest, a range or another 24th part each hour") {
    assert(partitions(days.reverse)() == days)
    assert(partitions(days)(mode("RECENT_DAYS")) == Seq("2024/03/30", "2024/03/29"))
    assert(partitions(days)(mode("recent_days"), s"${plan}daybased.lookback.partitions" -> "1",
      s"${plan}daybased.skipfromlatest.partitions" -> "3") == Seq("2024/03/27"))
    assert(partitions(days)(mode("RECENT_DAYS"), s"${plan}daybased.lookback.partitions" -> "0").size == 30)
    assert(partitions(days)(mode("SELECTED_PARTITIONS"), s"${plan}cluster.begin.partition" -> "2024/03/03",
      s"${plan}cluster.end.partition" -> "2024/03/04") == Seq("2024/03/03", "2024/03/04"))
    assert(partitions(days)(mode("SELECTED_PARTITIONS"), s"${plan}cluster.begin.partition" -> "2024/03/29").size == 2)
    assert(partitions(days, hour = 1)(mode("DAY_ROLLING")) == Seq("2024/03/02", "2024/03/26"))
    assert((0 to 23).flatMap(hour => partitions(days, hour)(mode("DAY_ROLLING"))).sorted == days)
  }

  test("partitions are chosen by path or by regular expression, and an unknown one is an error") {
    assert(partitions(days)(s"${plan}partition.selected" -> "2024/03/09,2024/03/02") ==
      Seq("2024/03/02", "2024/03/09"))
    assert(partitions(Seq("b", "b "))(s"${plan}partition.selected" -> "b ") == Seq("b "))
    assert(partitions(days)(s"${plan}partition.regex.pattern" -> ".*/03/0[12]") == days.take(2))
    assert(partitions(days)(s"${plan}partition.regex.pattern" -> "03").isEmpty, "the whole path is matched")
    val unknown = intercept[MerganserException](partitions(days)(s"${plan}partition.selected" -> "2025/01/01"))
    assert(unknown.condition == "OPTION_VALUE_INVALID" && unknown.parameters("value") == "2025/01/01")
    assert(conditionOf(config(s"${plan}partition.regex.pattern" -> "(")) == "OPTION_VALUE_INVALID")
    assert(conditionOf(config("hoodie.clustering.inline" -> "true", "hoodie.clustering.schedule.inline" -> "true")) ==
      "OPTION_CONFLICT")
  }

  private def slice(name: String, bytes: Long, logBytes: Long = 0L, partition: String = "p"): FileSlice = FileSlice(
    partition, name, "1",
    Some(bytes).filter(_ > 0).map(BaseFile(partition, name, "1", s"${name}_0-0-0_1.parquet", _)),
    Some(logBytes).filter(_ > 0).toSeq.map(LogFile(partition, name, "2", 1, Some("0-0-0"), s".${name}_2.log.1_0-0-0",
        _)))

  private def groups(slices: FileSlice*)(options: (String, String)*): Seq[String] =
    ClusteringPlanner.plan(config(options: _*), slices).toSeq.flatMap(_.groups).map(g =>
      s"${g.partitionPath}:${g.slices.map(_.fileId).mkString}>${g.outputGroups}")

  test("small slices of a partition are grouped from the largest up to the bytes of a group") {
    val slices = Seq(slice("a", 30), slice("b", 50), slice("c", 20, logBytes = 20), slice("d", 0, logBytes = 10),
      slice("e", 100), slice("f", 5, partition = "q"))
    val small = s"${plan}small.file.limit" -> "100"
    assert(groups(slices: _*)(small) == Seq("p:bcad>1", "q:f>1"))
    assert(groups(slices: _*)() == Seq("p:ebcad>1", "q:f>1"))
    assert(groups(slices: _*)(small, s"${plan}max.bytes.per.group" -> "90") == Seq("p:bc>1", "p:ad>1", "q:f>1"))
    assert(groups(slices: _*)(small, s"${plan}max.bytes.per.group" -> "90", s"${plan}max.num.groups" -> "2") ==
      Seq("p:bc>1", "p:ad>1"))
    assert(groups(slices: _*)(small, s"${plan}target.file.max.bytes" -> "40") == Seq("p:bcad>4", "q:f>1"))
    assert(groups(slice("a", 100))(small).isEmpty)
  }

  test("a single slice is not clustered if this is configured and no sorting is") {
    val single = s"${plan}single.group.clustering.enabled" -> "false"
    assert(groups(slice("a", 1), slice("f", 5, partition = "q"), slice("g", 5, partition = "q"))(single) ==
      Seq("q:fg>1"))
    assert(groups(slice("a", 1))(single, s"${plan}sort.columns" -> "x") == Seq("p:a>1"))
  }

  test("a clustering plan survives its encoding and has the order of its rows") {
    val chosen = config(s"${plan}sort.columns" -> "a, b.c", "hoodie.layout.optimize.strategy" -> "z-order",
      s"${plan}target.file.max.bytes" -> "7", "hoodie.clustering.preserve.commit.metadata" -> "false")
    val planned = ClusteringPlanner.plan(chosen, Seq(slice("a", 1, 1), slice("b", 0, 1))).get
    val read    = RequestedReplace.decode(RequestedReplace.clustering(planned, p => s"file:/t/$p"))
    assert(read.isClustering && read.operationType.contains(OperationType.Cluster) && read.plan.contains(planned))
    assert(planned.layout.contains(LayoutStrategy.ZOrder) && planned.targetFileBytes.contains(7L))
    assert(planned.params(s"${plan}sort.columns") == "a,b.c" && !planned.preservesCommit)
    assert(ClusteringPlan(Nil, Map.empty, preservesCommit = true).layout.isEmpty)
  }

  private def isDue(commits: Int): Boolean =
    ClusteringDue.isDue(config("hoodie.clustering.inline.max.commits" -> commits.toString),
      Timeline.load(storage, io.merganser.table.properties.TableConfig.load(storage)))

  test("clustering is due by the commits since the last one, whether that was run or only scheduled") {
    table()
    instantFiles(storage, "101_102.commit", "103_104.deltacommit")
    assert(isDue(2) && !isDue(3))
    instantFile(storage, "105_106.replacecommit", CommitMetadata(OperationType.InsertOverwrite, Map.empty, Map.empty))
    assert(isDue(3))
    instantFile(storage, "107_108.replacecommit", CommitMetadata(OperationType.Cluster, Map.empty, Map.empty))
    assert(!isDue(1))
    instantFiles(storage, "109_110.commit")
    assert(isDue(1) && !isDue(2))
    io.merganser.table.timeline.PlannedClustering.at(storage, "111", Seq(slice("a", 1)))
    assert(!isDue(1))
    instantFiles(storage, "112_113.commit")
    assert(isDue(1))
  }
}
