package io.merganser.table.settings

import java.util.regex.{Pattern, PatternSyntaxException}

import io.merganser.merge.MerganserException
import io.merganser.table.options._

/**
 * Which file slices with logs a scheduled compaction takes.
 *
 * @param strategies       each chooses among what those before it have left
 * @param targetMegabytes  that one compaction reads and writes
 * @param leastLogBytes    of a slice, for LogFileSize
 * @param leastLogFiles    of a slice, for LogFileNum
 * @param partitions       number of partitions, or of days before today
 * @param partitionPattern found in the paths of partitions, for PartitionRegex
 */
final case class CompactionChoice(
    strategies: Seq[CompactionStrategy],
    targetMegabytes: Long,
    leastLogBytes: Long,
    leastLogFiles: Long,
    partitions: Int,
    partitionPattern: Option[Pattern]
)

/**
 * When the logs of a slice are merged with each other.
 *
 * @param isInline    after each write
 * @param leastBlocks of a slice
 */
final case class LogCompactionConfig(isInline: Boolean, leastBlocks: Int)

/**
 * When a write compacts its table, and what.
 *
 * @param isInline        after the write, if a compaction is due
 * @param isScheduled     after the write, if a compaction is due, it is scheduled and not run
 * @param isAsync         after the write, if a compaction is due, it is scheduled, and run in the background
 * @param isUnconfigured  no setting configures compactions: a write to a slice of very many logs does
 * @param deltaCommits    since the last compaction that make one due
 * @param deltaSeconds    since the last compaction that make one due
 * @param logs            log compactions
 */
final case class CompactionConfig(
    isInline: Boolean,
    isScheduled: Boolean,
    isAsync: Boolean,
    isUnconfigured: Boolean,
    trigger: CompactionTrigger,
    deltaCommits: Int,
    deltaSeconds: Long,
    choice: CompactionChoice,
    logs: LogCompactionConfig
) {

  /** Whether the time since the last compaction makes one due. */
  def usesTime: Boolean = followsWrites && trigger.usesTime

  /** Whether a compaction that is due is scheduled after a write. */
  def followsWrites: Boolean = isInline || isScheduled || isAsync

  /** Whether this is [[dueNow]] of a table for which no setting configures compactions. */
  def isOverdue: Boolean = isInline && isUnconfigured

  /** The same after a write that is to compact in any case. */
  def dueNow: CompactionConfig = copy(isInline = true, trigger = CompactionTrigger.NumCommits, deltaCommits = 1)
}

private[settings] object CompactionConfig {

  /** @throws MerganserException OPTION_CONFLICT, OPTION_VALUE_INVALID */
  def of(settings: Settings, stored: Map[String, String], isMergeOnRead: Boolean): CompactionConfig = {
    val isInline    = runsInline(settings, stored)
    val isScheduled = settings.bool(Options.ScheduleInline, stored)
    if (isInline && isScheduled)
      throw MerganserException("OPTION_CONFLICT", "key" -> Options.ScheduleInline.key, "value" -> "true",
        "otherKey" -> Options.InlineCompaction.key, "otherValue" -> "true")
    CompactionConfig(
      isInline = isInline && isMergeOnRead,
      isScheduled = isScheduled && isMergeOnRead,
      isAsync = isMergeOnRead && !isInline &&
        settings.explicitOrStored(Options.AsyncCompaction, stored).contains("true"),
      isUnconfigured = isMergeOnRead && !Seq(Options.InlineCompaction, Options.ScheduleInline, Options.AsyncCompaction)
        .exists(settings.explicitOrStored(_, stored).isDefined),
      trigger = CompactionTrigger.of(settings.required(Options.CompactionTriggerOption, stored)),
      deltaCommits = settings.whole(Options.CompactionDeltaCommits, stored).toInt,
      deltaSeconds = settings.whole(Options.CompactionDeltaSeconds, stored),
      choice = choice(settings, stored),
      logs = LogCompactionConfig(
        settings.bool(Options.LogCompactionInline, stored) && isMergeOnRead,
        math.min(settings.whole(Options.LogCompactionBlocks, stored), Int.MaxValue.toLong).toInt
      )
    )
  }

  /** As in Hudi's batch writes: unless set, inline compaction is on where asynchronous compaction is turned off. */
  private def runsInline(settings: Settings, stored: Map[String, String]): Boolean =
    settings.explicitOrStored(Options.InlineCompaction, stored).map(_ == "true")
      .getOrElse(!settings.bool(Options.AsyncCompaction, stored) && !settings.bool(Options.ScheduleInline, stored))

  private def choice(settings: Settings, stored: Map[String, String]): CompactionChoice = {
    val strategies =
      OptionKind.NameList.split(settings.required(Options.CompactionStrategies, stored)).map(CompactionStrategy.of)
    val pattern = settings.text(Options.CompactionPartitionRegex, stored).map(compiled)
    if (strategies.contains(CompactionStrategy.PartitionRegex) && pattern.isEmpty)
      throw MerganserException("OPTION_VALUE_INVALID", "key" -> Options.CompactionPartitionRegex.key, "value" -> "",
        "expected" -> s"a regular expression, for ${CompactionStrategy.PartitionRegex}")
    CompactionChoice(
      strategies,
      targetMegabytes = settings.whole(Options.CompactionTargetIo, stored),
      leastLogBytes = settings.whole(Options.CompactionLogBytes, stored),
      leastLogFiles = settings.whole(Options.CompactionLogFiles, stored),
      partitions = math.min(settings.whole(Options.CompactionPartitions, stored), Int.MaxValue.toLong).toInt,
      partitionPattern = pattern
    )
  }

  private def compiled(regex: String): Pattern =
    try Pattern.compile(regex)
    catch {
      case e: PatternSyntaxException =>
        throw MerganserException("OPTION_VALUE_INVALID", "key" -> Options.CompactionPartitionRegex.key,
          "value" -> regex, "expected" -> s"a regular expression (${e.getDescription})").causedBy(e)
    }
}
