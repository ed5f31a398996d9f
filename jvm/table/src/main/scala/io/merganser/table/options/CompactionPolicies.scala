package io.merganser.table.options

import io.merganser.merge.{NamedValue, NamedValues}

/**
 * When a write compacts its table, or schedules a compaction of it.
 *
 * @param name     value of `hoodie.compact.inline.trigger.strategy`
 * @param usesTime whether the time since the last compaction counts
 */
sealed abstract class CompactionTrigger(val name: String, val usesTime: Boolean) extends NamedValue

object CompactionTrigger extends NamedValues[CompactionTrigger] {

  /** Delta commits since the last compaction that was completed. */
  case object NumCommits extends CompactionTrigger("NUM_COMMITS", usesTime = false)

  /** Delta commits since the last compaction that was scheduled, completed or not. */
  case object NumCommitsAfterLastRequest extends CompactionTrigger("NUM_COMMITS_AFTER_LAST_REQUEST", usesTime = false)

  /** Time since the last compaction that was completed; without one, since the first delta commit. */
  case object TimeElapsed extends CompactionTrigger("TIME_ELAPSED", usesTime = true)

  /** [[NumCommits]] and [[TimeElapsed]]. */
  case object NumAndTime extends CompactionTrigger("NUM_AND_TIME", usesTime = true)

  /** [[NumCommits]] or [[TimeElapsed]]. */
  case object NumOrTime extends CompactionTrigger("NUM_OR_TIME", usesTime = true)

  val all: Seq[CompactionTrigger] = Seq(NumCommits, NumCommitsAfterLastRequest, TimeElapsed, NumAndTime, NumOrTime)
}

/**
 * Which file slices with logs a scheduled compaction takes.
 *
 * @param name value of `hoodie.compaction.strategy`, the last part of Hudi's class name
 */
sealed abstract class CompactionStrategy(val name: String) extends NamedValue

object CompactionStrategy extends NamedValues[CompactionStrategy] {
  case object UnBounded extends CompactionStrategy("UnBoundedCompactionStrategy")

  /** In the order of partitions and file groups, until they read and write as much as is allowed. */
  case object BoundedIo extends CompactionStrategy("BoundedIOCompactionStrategy")

  /** The largest logs first, until they read and write as much as is allowed. */
  case object LogFileSize extends CompactionStrategy("LogFileSizeBasedCompactionStrategy")

  /** The slices with most log files first, until they read and write as much as is allowed. */
  case object LogFileNum extends CompactionStrategy("LogFileNumBasedCompactionStrategy")

  /** Those of the latest partitions. */
  case object DayBased extends CompactionStrategy("DayBasedCompactionStrategy")

  /** Those of the partitions of the last days, and of days to come. */
  case object LastDays extends CompactionStrategy("BoundedPartitionAwareCompactionStrategy")

  /** Those of the partitions of days before the last ones. */
  case object BeforeLastDays extends CompactionStrategy("UnBoundedPartitionAwareCompactionStrategy")

  /** Those of the partitions whose path a regular expression finds. */
  case object PartitionRegex extends CompactionStrategy("PartitionRegexBasedCompactionStrategy")

  val all: Seq[CompactionStrategy] =
    Seq(LogFileSize, LogFileNum, BoundedIo, UnBounded, DayBased, LastDays, BeforeLastDays, PartitionRegex)
}
