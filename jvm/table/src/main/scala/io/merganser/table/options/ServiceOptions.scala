package io.merganser.table.options

import io.merganser.table.options.OptionKind._

/** Options of the table services that follow a commit. */
private[options] trait ServiceOptions extends OptionDefinitions {

  // --- compaction

  val InlineCompaction: OptionEntry = write("hoodie.compact.inline", Bool, Some("false"),
    "After a write to a merge-on-read table, compact when a compaction is due " +
      "(hoodie.compact.inline.trigger.strategy). If no option for compactions after writes is set, a write to a " +
      "slice with 100 logs compacts.")
  val AsyncCompaction: OptionEntry = write("hoodie.datasource.compaction.async.enable", Bool, Some("true"),
    "If set to `true`: after a write to a merge-on-read table, schedule a compaction when one is due, and run it in " +
      "the background of the session; hoodie.compact.inline=true takes precedence. If set to `false`: " +
      "hoodie.compact.inline defaults to true, as in Hudi's batch writes. If unset: no effect.")
  val ScheduleInline: OptionEntry = write("hoodie.compact.schedule.inline", Bool, Some("false"),
    "After a write to a merge-on-read table, schedule a compaction when one is due; CALL run_compaction, a service " +
      "of the session or another engine runs it. Not together with hoodie.compact.inline.")
  val CompactionTriggerOption: OptionEntry = write("hoodie.compact.inline.trigger.strategy",
    OneOf(CompactionTrigger.all.map(_.name)), Some(CompactionTrigger.NumCommits.name),
    "When a compaction is due: `NUM_COMMITS`, after enough delta commits since the last one; " +
      "`NUM_COMMITS_AFTER_LAST_REQUEST`, since the last one scheduled, run or not; `TIME_ELAPSED`, after enough " +
      "seconds since the last one, or since the first delta commit; `NUM_AND_TIME`, both; `NUM_OR_TIME`, either.")
  val CompactionDeltaCommits: OptionEntry = write("hoodie.compact.inline.max.delta.commits", Integer(1), Some("5"),
    "Number of delta commits since the last compaction after which one is due, for triggers by commits.")
  val CompactionDeltaSeconds: OptionEntry =
    write("hoodie.compact.inline.max.delta.seconds", Integer(1), Some("3600"),
      "Seconds since the last compaction after which one is due, for triggers by time.")
  val CompactionStrategies: OptionEntry = write("hoodie.compaction.strategy",
    Classes(CompactionStrategy.all.map(_.name)), Some(CompactionStrategy.LogFileSize.name),
    "Which file slices with logs a scheduled compaction takes. `LogFileSizeBased…`: the largest logs first; " +
      "`LogFileNumBased…`: the most log files first; `BoundedIO…`: in partition order; all three up to " +
      "hoodie.compaction.target.io. `UnBounded…`: all. `DayBased…`: those in the latest partitions, ordered by path. " +
      "`BoundedPartitionAware…`: those in partitions of the last days and later; `UnBoundedPartitionAware…`: of " +
      "earlier days. `PartitionRegexBased…`: those in partitions whose path matches. If several are given, each " +
      "filters the result of the previous one.")
  val CompactionTargetIo: OptionEntry = write("hoodie.compaction.target.io", Integer(0), Some("512000"),
    "Megabytes that one compaction may read and write; the slice that reaches the limit is still compacted.")
  val CompactionLogBytes: OptionEntry = write("hoodie.compaction.logfile.size.threshold", Integer(0), Some("0"),
    "LogFileSizeBasedCompactionStrategy: minimum size of a slice's logs, in bytes.")
  val CompactionLogFiles: OptionEntry = write("hoodie.compaction.logfile.num.threshold", Integer(0), Some("0"),
    "LogFileNumBasedCompactionStrategy: minimum number of a slice's log files.")
  val CompactionPartitions: OptionEntry = write("hoodie.compaction.daybased.target.partitions", Integer(1), Some("10"),
    "DayBasedCompactionStrategy: number of partitions. BoundedPartitionAwareCompactionStrategy and " +
      "UnBoundedPartitionAwareCompactionStrategy: number of days before today.")
  val CompactionPartitionRegex: OptionEntry = write("hoodie.compaction.partition.path.regex", AnyString, None,
    "PartitionRegexBasedCompactionStrategy: regular expression that matches part of the partition's path.")

  val LogCompactionInline: OptionEntry = write("hoodie.log.compaction.inline", Bool, Some("false"),
    "After a write to a merge-on-read table, merge the log files of each slice with enough log blocks " +
      "(hoodie.log.compaction.blocks.threshold) into one, beside the base file.")
  val LogCompactionBlocks: OptionEntry = write("hoodie.log.compaction.blocks.threshold", Integer(2), Some("5"),
    "Number of log blocks at which a log compaction includes a file slice, without those that an earlier one " +
      "replaced.")

  // --- cleaning

  val CleanAutomatic: OptionEntry = write("hoodie.clean.automatic", Bool, Some("true"),
    "After a commit, delete files of older file slices that hoodie.clean.policy does not retain.")
  val CleanAsync: OptionEntry = write("hoodie.clean.async.enabled", Bool, Some("false"),
    "The clean after a commit runs in the background of the session, and the write does not wait for it. No effect " +
      "if hoodie.clean.automatic is false.",
    "hoodie.clean.async")
  val CleanPolicy: OptionEntry = write("hoodie.clean.policy",
    oneOf("KEEP_LATEST_COMMITS", "KEEP_LATEST_BY_HOURS", "KEEP_LATEST_FILE_VERSIONS"), Some("KEEP_LATEST_COMMITS"),
    "What a clean retains besides the newest file slices: all files needed by reads that began up to N commits ago " +
      "(KEEP_LATEST_COMMITS) or N hours ago (…_BY_HOURS), or N slices of each file group. The next options set N.",
    "hoodie.cleaner.policy")
  val CleanCommits: OptionEntry = write("hoodie.clean.commits.retained", Integer(1), Some("10"),
    "KEEP_LATEST_COMMITS: number of commits. Raise it if queries run longer than that many commits take, or to read " +
      "the table as of earlier times.",
    "hoodie.cleaner.commits.retained")
  val CleanHours: OptionEntry =
    write("hoodie.clean.hours.retained", Integer(0), Some("24"), "KEEP_LATEST_BY_HOURS: number of hours.",
      "hoodie.cleaner.hours.retained")
  val CleanVersions: OptionEntry = write("hoodie.clean.fileversions.retained", Integer(1), Some("3"),
    "KEEP_LATEST_FILE_VERSIONS: number of file slices per file group, including the newest. Files of replaced file " +
      "groups are not retained.",
    "hoodie.cleaner.fileversions.retained")
  val CleanTrigger: OptionEntry = write("hoodie.clean.trigger.strategy", oneOf("NUM_COMMITS"), Some("NUM_COMMITS"),
    "When a clean after a commit is due: by the number of commits since the last clean.")
  val CleanTriggerCommits: OptionEntry = write("hoodie.clean.trigger.max.commits", Integer(1), Some("1"),
    "Number of commits since the last clean after which the next one is due.", "hoodie.clean.max.commits")
  val CleanIncremental: OptionEntry = write("hoodie.clean.incremental.enabled", Bool, Some("true"),
    "A clean lists only the partitions that changed since the last one. `false`: all partitions.",
    "hoodie.cleaner.incremental.mode")

  // --- archiving

  val Archive: OptionEntry = write("hoodie.archive.automatic", Bool, Some("true"),
    "After a write, move old instants from the timeline to its history when the timeline has more than " +
      "hoodie.keep.max.commits completed writes.")
  val ArchiveAsync: OptionEntry = write("hoodie.archive.async", Bool, Some("false"),
    "Archiving after a write runs in the background of the session, and the write does not wait for it. No effect if " +
      "hoodie.archive.automatic is false.")
  val KeepMinCommits: OptionEntry = write("hoodie.keep.min.commits", Integer(1), Some("20"),
    "Number of completed writes that archiving leaves on the timeline, below hoodie.keep.max.commits. More stay if " +
      "they are still needed.")
  val KeepMaxCommits: OptionEntry = write("hoodie.keep.max.commits", Integer(2), Some("30"),
    "Number of completed writes on the timeline above which instants are archived.")
  val ArchiveBatch: OptionEntry = write("hoodie.commits.archival.batch", Integer(1), Some("10"),
    "Version 6: maximum number of records in a block of the archive.")
  val ArchiveBeyondSavepoint: OptionEntry = write("hoodie.archive.beyond.savepoint", Bool, Some("false"),
    "`true`: archiving skips instants with a savepoint and continues after them. `false`: it ends at the first one.")
  val HistoryMergeBatch: OptionEntry = write("hoodie.timeline.compaction.batch.size", Integer(2), Some("10"),
    "Number of files of one history layer that are merged into one of the next. Not in version 6.")
  val HistoryFileMaxSize: OptionEntry = write("hoodie.timeline.compaction.target.file.max.bytes", Integer(1),
    Some("1048576000"), "Maximum total size of the history files that are merged at once, in bytes.")
  val HistoryVersions: OptionEntry = write("hoodie.timeline.manifest.retained.versions", Integer(1), Some("3"),
    "Number of versions of the history whose files are retained, for readers that have opened one of them.")

  /** All options of table services. */
  val ofServices: Seq[OptionEntry] = Seq(InlineCompaction, AsyncCompaction, ScheduleInline, CompactionTriggerOption,
    CompactionDeltaCommits, CompactionDeltaSeconds, CompactionStrategies, CompactionTargetIo, CompactionLogBytes,
    CompactionLogFiles, CompactionPartitions, CompactionPartitionRegex, LogCompactionInline, LogCompactionBlocks,
    CleanAutomatic, CleanAsync, CleanPolicy, CleanCommits, CleanHours, CleanVersions, CleanTrigger,
    CleanTriggerCommits, CleanIncremental, Archive, ArchiveAsync, KeepMinCommits, KeepMaxCommits, ArchiveBatch,
    ArchiveBeyondSavepoint, HistoryMergeBatch, HistoryFileMaxSize, HistoryVersions)
}
