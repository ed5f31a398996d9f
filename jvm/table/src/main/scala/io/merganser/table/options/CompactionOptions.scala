package io.merganser.table.options

import io.merganser.table.options.OptionKind._

/** Options of when a merge-on-read table is compacted, and which of its file slices. */
private[options] trait CompactionOptions extends OptionDefinitions {

  val InlineCompaction: OptionEntry = write("hoodie.compact.inline", Bool, Some("false"),
    "After a write to a merge-on-read table, compact when enough delta commits have accumulated.")
  val AsyncCompaction: OptionEntry = write("hoodie.datasource.compaction.async.enable", Bool, Some("true"),
    "`false` turns hoodie.compact.inline on where that is not set, as in Hudi's batch writes. `true` alone compacts " +
      "nothing: batch writes have no background compaction.")
  val ScheduleInline: OptionEntry = write("hoodie.compact.schedule.inline", Bool, Some("false"),
    "After a write to a merge-on-read table, schedule a compaction when one is due, and leave it to be run by CALL " +
      "run_compaction or another engine. Not together with hoodie.compact.inline.")
  val CompactionTriggerOption: OptionEntry = write("hoodie.compact.inline.trigger.strategy",
    OneOf(CompactionTrigger.all.map(_.name)), Some(CompactionTrigger.NumCommits.name),
    "What makes a compaction due: `NUM_COMMITS`, enough delta commits since the last one; " +
      "`NUM_COMMITS_AFTER_LAST_REQUEST`, since the last one that was scheduled, run or not; `TIME_ELAPSED`, enough " +
      "seconds since the last one, or since the first delta commit; `NUM_AND_TIME`, `NUM_OR_TIME`.")
  val CompactionDeltaCommits: OptionEntry = write("hoodie.compact.inline.max.delta.commits", Integer(1), Some("5"),
    "Delta commits since the last compaction that make a compaction due.")
  val CompactionDeltaSeconds: OptionEntry =
    write("hoodie.compact.inline.max.delta.seconds", Integer(1), Some("3600"),
      "Seconds since the last compaction that make a compaction due, with the triggers for time.")
  val CompactionStrategies: OptionEntry = write("hoodie.compaction.strategy",
    Classes(CompactionStrategy.all.map(_.name)), Some(CompactionStrategy.LogFileSize.name),
    "Which file slices with logs a scheduled compaction takes. `LogFileSizeBased…`: the largest logs first; " +
      "`LogFileNumBased…`: those with most log files first; `BoundedIO…`: in the order of partitions; all three up " +
      "to hoodie.compaction.target.io. `UnBounded…`: all. `DayBased…`: those of the latest partitions, by the order " +
      "of their paths. `BoundedPartitionAware…`: those of partitions of the last days and later ones, and " +
      "`UnBoundedPartitionAware…`: of earlier days. `PartitionRegexBased…`: those of partitions whose path matches. " +
      "Of several, each chooses among what those before it have left.")
  val CompactionTargetIo: OptionEntry = write("hoodie.compaction.target.io", Integer(0), Some("512000"),
    "Megabytes that one compaction reads and writes; the slice that reaches the limit is still compacted.")
  val CompactionLogBytes: OptionEntry = write("hoodie.compaction.logfile.size.threshold", Integer(0), Some("0"),
    "LogFileSizeBasedCompactionStrategy: bytes of logs from which on a slice is compacted.")
  val CompactionLogFiles: OptionEntry = write("hoodie.compaction.logfile.num.threshold", Integer(0), Some("0"),
    "LogFileNumBasedCompactionStrategy: log files from which on a slice is compacted.")
  val CompactionPartitions: OptionEntry = write("hoodie.compaction.daybased.target.partitions", Integer(1), Some("10"),
    "DayBasedCompactionStrategy: number of partitions. BoundedPartitionAwareCompactionStrategy and " +
      "UnBoundedPartitionAwareCompactionStrategy: number of days before today.")
  val CompactionPartitionRegex: OptionEntry = write("hoodie.compaction.partition.path.regex", AnyString, None,
    "PartitionRegexBasedCompactionStrategy: regular expression that is found in the paths of the partitions.")

  /** All options of when and what is compacted. */
  val ofCompaction: Seq[OptionEntry] = Seq(InlineCompaction, AsyncCompaction, ScheduleInline, CompactionTriggerOption,
    CompactionDeltaCommits, CompactionDeltaSeconds, CompactionStrategies, CompactionTargetIo, CompactionLogBytes,
    CompactionLogFiles, CompactionPartitions, CompactionPartitionRegex)
}
