package io.merganser.table.options

import io.merganser.table.options.OptionKind._

/** Options of clustering. */
private[options] trait ClusteringOptions extends OptionDefinitions {

  private val Plan = "hoodie.clustering.plan.strategy."

  val InlineClustering: OptionEntry = write("hoodie.clustering.inline", Bool, Some("false"),
    "After a write, cluster the table when a clustering is due (hoodie.clustering.inline.max.commits).",
    "hoodie.datasource.clustering.inline.enable")
  val ScheduleInlineClustering: OptionEntry = write("hoodie.clustering.schedule.inline", Bool, Some("false"),
    "After a write, schedule a clustering when one is due; CALL run_clustering or another engine runs it. Not " +
      "together with hoodie.clustering.inline.")
  val AsyncClustering: OptionEntry = write("hoodie.clustering.async.enabled", Bool, Some("false"),
    "After a write, cluster in the background of the session when a clustering is due " +
      "(hoodie.clustering.async.max.commits). hoodie.clustering.inline=true takes precedence.",
    "hoodie.datasource.clustering.async.enable")
  val AsyncClusteringMaxCommits: OptionEntry = write("hoodie.clustering.async.max.commits", Integer(1), Some("4"),
    "Number of commits since the last clustering, run or only scheduled, after which one in the background is due.")
  val ClusteringMaxCommits: OptionEntry = write("hoodie.clustering.inline.max.commits", Integer(1), Some("4"),
    "Number of commits since the last clustering, run or only scheduled, after which one after a write is due.")
  val ClusteringSmallFileLimit: OptionEntry = write(s"${Plan}small.file.limit", Integer(0), Some("314572800"),
    "A scheduled clustering takes file slices whose base file is smaller than this, in bytes, and those without one.")
  val ClusteringTargetFileBytes: OptionEntry = write(s"${Plan}target.file.max.bytes", Integer(1), Some("1073741824"),
    "Target size of the files that a clustering writes, in bytes.")
  val ClusteringGroupBytes: OptionEntry = write(s"${Plan}max.bytes.per.group", Integer(1), Some("2147483648"),
    "Maximum size of the file slices of a partition that are sorted together, in bytes.")
  val ClusteringGroups: OptionEntry = write(s"${Plan}max.num.groups", Integer(1), Some("30"),
    "Maximum number of file-slice groups per clustering; the next one takes the rest.")
  val ClusteringSortColumns: OptionEntry = write(s"${Plan}sort.columns", NameList, None,
    "Columns by which a clustering sorts the rows, in this order; a field inside a struct is written `meta.id`. If " +
      "unset, files are only combined.")
  val ClusteringSingleGroup: OptionEntry = write(s"${Plan}single.group.clustering.enabled", Bool, Some("true"),
    "`false`: without sort columns, a file slice that cannot be combined with another is not rewritten.")
  val ClusteringFilterMode: OptionEntry = write("hoodie.clustering.plan.partition.filter.mode",
    OneOf(PartitionFilterMode.all.map(_.name)), Some(PartitionFilterMode.All.name),
    "Which partitions a scheduled clustering takes, after the regular expression and the list below: `NONE`, all; " +
      "`RECENT_DAYS`, the last ones by path; `SELECTED_PARTITIONS`, those between two paths; `DAY_ROLLING`, every " +
      "24th partition, a different set each hour of the day.")
  val ClusteringLookback: OptionEntry = write(s"${Plan}daybased.lookback.partitions", Integer(0), Some("2"),
    "RECENT_DAYS: number of partitions; 0 for all.")
  val ClusteringSkipLatest: OptionEntry = write(s"${Plan}daybased.skipfromlatest.partitions", Integer(0), Some("0"),
    "RECENT_DAYS: number of latest partitions to skip.")
  val ClusteringBeginPartition: OptionEntry = write(s"${Plan}cluster.begin.partition", AnyString, None,
    "SELECTED_PARTITIONS: path of the first partition, inclusive.")
  val ClusteringEndPartition: OptionEntry = write(s"${Plan}cluster.end.partition", AnyString, None,
    "SELECTED_PARTITIONS: path of the last partition, inclusive.")
  val ClusteringPartitions: OptionEntry = write(s"${Plan}partition.selected", PathList, None,
    "Paths of the partitions that a scheduled clustering may take.")
  val ClusteringPartitionRegex: OptionEntry = write(s"${Plan}partition.regex.pattern", AnyString, None,
    "Regular expression that matches the whole path of each partition that a scheduled clustering may take.")
  val ClusteringPlanStrategy: OptionEntry = write("hoodie.clustering.plan.strategy.class", AnyString,
    Some("SparkSizeBasedClusteringPlanStrategy"),
    "How a scheduled clustering groups file slices. Only this Hudi class is supported (short or full name); with any " +
      "other, no clustering is scheduled.")
  val ClusteringExecution: OptionEntry = write("hoodie.clustering.execution.strategy.class", AnyString,
    Some("SparkSortAndSizeExecutionStrategy"),
    "How a clustering is run. Only this Hudi class is supported (short or full name); with any other, no clustering " +
      "is scheduled.")
  val ClusteringUpdatesStrategy: OptionEntry = write("hoodie.clustering.updates.strategy",
    OneOf(ClusteringUpdates.all.map(_.name), ClusteringUpdates.short), Some(ClusteringUpdates.Reject.name),
    "What happens if a write changes file groups of a scheduled clustering. `SparkRejectUpdateStrategy`: it is " +
      "refused. `SparkAllowUpdateStrategy`: it is committed, and rolls the clustering back. Short or full class name.")
  val ClusteringExpirations: OptionEntry = write("hoodie.clustering.enable.expirations", Bool, Some("false"),
    "Writes also roll back clusterings that were only scheduled, and those of other engines, if no process runs them " +
      "(hoodie.clustering.expiration.threshold.mins). A clustering whose process died while planning and running it " +
      "is always rolled back.")
  val ClusteringExpirationMinutes: OptionEntry = write("hoodie.clustering.expiration.threshold.mins", Integer(0),
    Some("60"),
    "Age of a plan that `hoodie.clustering.enable.expirations` rolls back, in minutes.")
  val ClusteringPreserves: OptionEntry = write("hoodie.clustering.preserve.commit.metadata", Bool, Some("true"),
    "A clustering keeps each row's `_hoodie_commit_time` and `_hoodie_commit_seqno`. `false`: rows get its own.")
  val LayoutStrategyOption: OptionEntry = write("hoodie.layout.optimize.strategy",
    OneOf(LayoutStrategy.all.map(_.name), LayoutStrategy.short), Some(LayoutStrategy.Linear.name),
    "How a clustering orders rows by its sort columns. `LINEAR`: by the first one, then the second one. `ZORDER` " +
      "(also `z-order`), `HILBERT`: along a curve that keeps rows close together if they are close in all columns.")
  val CurveMethod: OptionEntry = write("hoodie.layout.optimize.curve.build.method", oneOf("DIRECT", "SAMPLE"),
    Some("DIRECT"),
    "ZORDER and HILBERT. `DIRECT`: by the first eight bytes of each value. `SAMPLE`: by the rank of each value in a " +
      "sample of the rows, which also suits strings with a common prefix and columns with very different ranges.")
  val CurveSample: OptionEntry = write("hoodie.layout.optimize.build.curve.sample.size", Integer(1), Some("200000"),
    "`SAMPLE`: number of rows in the sample of one clustering.")

  /** All options of clustering. */
  val ofClustering: Seq[OptionEntry] = Seq(InlineClustering, ScheduleInlineClustering, AsyncClustering,
    AsyncClusteringMaxCommits, ClusteringMaxCommits,
    ClusteringSmallFileLimit, ClusteringTargetFileBytes, ClusteringGroupBytes, ClusteringGroups, ClusteringSortColumns,
    ClusteringSingleGroup, ClusteringFilterMode, ClusteringLookback, ClusteringSkipLatest, ClusteringBeginPartition,
    ClusteringEndPartition, ClusteringPartitions, ClusteringPartitionRegex, ClusteringPlanStrategy, ClusteringExecution,
    ClusteringUpdatesStrategy, ClusteringExpirations, ClusteringExpirationMinutes, ClusteringPreserves,
    LayoutStrategyOption, CurveMethod, CurveSample)
}
