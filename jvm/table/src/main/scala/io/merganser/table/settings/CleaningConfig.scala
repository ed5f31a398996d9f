package io.merganser.table.settings

import io.merganser.table.options.{OptionEntry, Options, Settings}

/**
 * Which file slices a clean retains, besides the newest of each file group.
 *
 * @param name in the files of a clean, and in options
 */
sealed abstract class CleaningPolicy(val name: String) extends Serializable

object CleaningPolicy {

  /** Those that a read needs that began when one of the newest commits was the newest. */
  final case class Commits(count: Int) extends CleaningPolicy("KEEP_LATEST_COMMITS")

  /** Those that a read needs that began in the last hours. */
  final case class Hours(count: Int) extends CleaningPolicy("KEEP_LATEST_BY_HOURS")

  /** So many of each file group. */
  final case class Versions(count: Int) extends CleaningPolicy("KEEP_LATEST_FILE_VERSIONS")
}

/**
 * How a table is cleaned.
 *
 * @param automatic      after each commit
 * @param isAsync        automatic ones run in the background
 * @param triggerCommits commits since the last clean that make an automatic one due
 * @param isIncremental  only partitions that changed since the last clean are listed, where that is known
 */
final case class CleaningConfig(
    automatic: Boolean,
    policy: CleaningPolicy,
    triggerCommits: Int,
    isIncremental: Boolean,
    isAsync: Boolean = false
)

private[settings] object CleaningOptions {

  def of(settings: Settings, stored: Map[String, String]): CleaningConfig = {
    def count(entry: OptionEntry) = math.min(settings.whole(entry, stored), Int.MaxValue.toLong).toInt
    CleaningConfig(
      automatic = settings.bool(Options.CleanAutomatic, stored),
      policy = settings.required(Options.CleanPolicy, stored) match {
        case "KEEP_LATEST_BY_HOURS"      => CleaningPolicy.Hours(count(Options.CleanHours))
        case "KEEP_LATEST_FILE_VERSIONS" => CleaningPolicy.Versions(count(Options.CleanVersions))
        case _                           => CleaningPolicy.Commits(count(Options.CleanCommits))
      },
      triggerCommits = count(Options.CleanTriggerCommits),
      isIncremental = settings.bool(Options.CleanIncremental, stored),
      isAsync = settings.bool(Options.CleanAsync, stored)
    )
  }
}
