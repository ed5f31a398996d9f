package io.merganser.table.settings

import java.util.regex.{Pattern, PatternSyntaxException}

import io.merganser.merge.MerganserException
import io.merganser.table.options._

/**
 * Which partitions a scheduled clustering takes.
 *
 * @param selected      their paths; empty for all
 * @param pattern       matches the whole path
 * @param lookback      RECENT_DAYS: number of partitions, 0 for all
 * @param skippedLatest RECENT_DAYS: number of partitions that are left out from the end
 * @param begin         SELECTED_PARTITIONS: first path, inclusive
 * @param end           SELECTED_PARTITIONS: last path, inclusive
 */
final case class ClusteringPartitions(
    mode: PartitionFilterMode = PartitionFilterMode.All,
    selected: Seq[String] = Nil,
    pattern: Option[Pattern] = None,
    lookback: Int = 2,
    skippedLatest: Int = 0,
    begin: Option[String] = None,
    end: Option[String] = None
)

/**
 * Which file slices a scheduled clustering takes, and how they are grouped.
 *
 * @param smallFileBytes  slices with a smaller base file are taken
 * @param targetFileBytes size up to which files are filled
 * @param groupBytes      most bytes of the slices that are sorted together
 * @param groups          most groups of one clustering
 * @param takesSingle     whether a slice without another one to combine it with is taken
 */
final case class ClusteringSizes(
    smallFileBytes: Long,
    targetFileBytes: Long,
    groupBytes: Long,
    groups: Int,
    takesSingle: Boolean
)

/**
 * The order of the rows that a clustering writes.
 *
 * @param columns    names, with dots for fields of structs; none: rows are not sorted
 * @param isSampled  curves: by ranks in a sample instead of the values' first bytes
 * @param sampleRows number of rows in the sample
 */
final case class ClusteringOrder(
    columns: Seq[String],
    strategy: LayoutStrategy,
    isSampled: Boolean = false,
    sampleRows: Long = 200000L
)

/**
 * When a write clusters its table, and how.
 *
 * @param isInline        after the write, if a clustering is due
 * @param isScheduled     after the write, if one is due, it is scheduled and not run
 * @param isAsync         after the write, if one is due, it is planned and run in the background of the session
 * @param commits         since the last clustering that make one due
 * @param preservesCommit whether rows keep their commit time
 * @param updates         what happens to this write if it writes to file groups in a pending clustering
 * @param expiresAfterMs  milliseconds after which a pending clustering that no process runs counts as failed, though it
 *                        was not planned for one run; None: never
 * @param otherStrategies options that name classes of others, with their values: nothing can be scheduled
 */
final case class ClusteringConfig(
    isInline: Boolean,
    isScheduled: Boolean,
    isAsync: Boolean,
    commits: Int,
    partitions: ClusteringPartitions,
    sizes: ClusteringSizes,
    order: ClusteringOrder,
    preservesCommit: Boolean,
    updates: ClusteringUpdates,
    expiresAfterMs: Option[Long],
    otherStrategies: Seq[(String, String)]
)

private[settings] object ClusteringConfig {

  /** @throws MerganserException OPTION_CONFLICT, OPTION_VALUE_INVALID */
  def of(settings: Settings, stored: Map[String, String]): ClusteringConfig = {
    val isInline    = settings.bool(Options.InlineClustering, stored)
    val isScheduled = settings.bool(Options.ScheduleInlineClustering, stored)
    val isAsync     = !isInline && settings.bool(Options.AsyncClustering, stored)
    if (isInline && isScheduled)
      throw MerganserException("OPTION_CONFLICT", "key" -> Options.ScheduleInlineClustering.key, "value" -> "true",
        "otherKey" -> Options.InlineClustering.key, "otherValue" -> "true")
    def number(entry: OptionEntry) = math.min(settings.whole(entry, stored), Int.MaxValue.toLong).toInt
    def names(entry: OptionEntry)  = settings.text(entry, stored).toSeq.flatMap(OptionKind.NameList.split)
    val columns                    = names(Options.ClusteringSortColumns)
    ClusteringConfig(
      isInline,
      isScheduled,
      isAsync,
      commits = number(if (isAsync) Options.AsyncClusteringMaxCommits else Options.ClusteringMaxCommits),
      ClusteringPartitions(
        PartitionFilterMode.of(settings.required(Options.ClusteringFilterMode, stored)),
        settings.text(Options.ClusteringPartitions, stored).toSeq.flatMap(OptionKind.PathList.split),
        settings.text(Options.ClusteringPartitionRegex, stored).filter(_.nonEmpty).map(compiled),
        number(Options.ClusteringLookback),
        number(Options.ClusteringSkipLatest),
        settings.text(Options.ClusteringBeginPartition, stored),
        settings.text(Options.ClusteringEndPartition, stored)
      ),
      ClusteringSizes(
        settings.whole(Options.ClusteringSmallFileLimit, stored),
        settings.whole(Options.ClusteringTargetFileBytes, stored),
        settings.whole(Options.ClusteringGroupBytes, stored),
        number(Options.ClusteringGroups),
        takesSingle = columns.nonEmpty || settings.bool(Options.ClusteringSingleGroup, stored)
      ),
      ClusteringOrder(
        columns,
        LayoutStrategy.of(settings.required(Options.LayoutStrategyOption, stored)),
        isSampled = settings.required(Options.CurveMethod, stored) == "SAMPLE",
        sampleRows = settings.whole(Options.CurveSample, stored)
      ),
      preservesCommit = settings.bool(Options.ClusteringPreserves, stored),
      updates = ClusteringUpdates.of(settings.required(Options.ClusteringUpdatesStrategy, stored)),
      expiresAfterMs =
        if (settings.bool(Options.ClusteringExpirations, stored))
          Some(number(Options.ClusteringExpirationMinutes) * 60000L)
        else None,
      otherStrategies = Seq(Options.ClusteringPlanStrategy, Options.ClusteringExecution).flatMap { entry =>
        val name = settings.required(entry, stored)
        Some(entry.key -> name).filterNot(_ => entry.default.exists(_.equalsIgnoreCase(name.split('.').last)))
      }
    )
  }

  private def compiled(regex: String): Pattern =
    try Pattern.compile(regex)
    catch {
      case e: PatternSyntaxException =>
        throw MerganserException("OPTION_VALUE_INVALID", "key" -> Options.ClusteringPartitionRegex.key,
          "value" -> regex, "expected" -> s"a regular expression (${e.getDescription})").causedBy(e)
    }
}
