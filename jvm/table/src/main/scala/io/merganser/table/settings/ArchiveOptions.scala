package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{HistorySettings, OptionEntry, Options, Settings}

/**
 * When and how far instants are archived.
 *
 * @param automatic       after a write
 * @param isAsync         automatic ones run in the background
 * @param minCommits      completed writes that stay on the timeline
 * @param maxCommits      completed writes above which others are archived
 * @param beyondSavepoint continue after instants with a savepoint, which stay
 * @param cleans          the table is cleaned automatically: archiving ends at what the last clean retains
 * @param deltaCommits    delta commits since the last compaction that make one due: so many must stay to be counted
 * @param compactsByTime  the time since the last compaction makes one due: it must stay to be found
 * @param batch           version 6: most records of a block
 */
final case class ArchiveConfig(
    automatic: Boolean = true,
    minCommits: Int = 20,
    maxCommits: Int = 30,
    beyondSavepoint: Boolean = false,
    cleans: Boolean = false,
    deltaCommits: Int = 5,
    compactsByTime: Boolean = false,
    batch: Int = 10,
    history: HistorySettings = HistorySettings(),
    isAsync: Boolean = false
) {

  /** With other limits, as a call of the service names them. */
  def keeping(min: Option[Int], max: Option[Int], retained: Option[Int]): ArchiveConfig = {
    val changed = copy(minCommits = min.getOrElse(minCommits), maxCommits = max.getOrElse(maxCommits))
    ArchiveOptions.requireOrder(changed.minCommits, changed.maxCommits)
    retained.filter(_ > 0).fold(changed)(ArchiveOptions.retaining(changed, _))
  }
}

private[table] object ArchiveOptions {

  /** @throws io.merganser.merge.MerganserException OPTION_CONFLICT if the limits contradict each other */
  def of(settings: Settings, stored: Map[String, String], compaction: CompactionConfig): ArchiveConfig = {
    def number(entry: OptionEntry) = settings.whole(entry, stored).toInt
    val (min, max)                 = (number(Options.KeepMinCommits), number(Options.KeepMaxCommits))
    requireOrder(min, max)
    val config = ArchiveConfig(
      automatic = settings.bool(Options.Archive, stored),
      minCommits = min,
      maxCommits = max,
      beyondSavepoint = settings.bool(Options.ArchiveBeyondSavepoint, stored),
      cleans = settings.bool(Options.CleanAutomatic, stored),
      deltaCommits = number(Options.CompactionDeltaCommits),
      compactsByTime = compaction.usesTime,
      batch = number(Options.ArchiveBatch),
      history = HistorySettings(number(Options.HistoryMergeBatch), settings.whole(Options.HistoryFileMaxSize, stored),
        number(Options.HistoryVersions)),
      isAsync = settings.bool(Options.ArchiveAsync, stored)
    )
    if (config.cleans) retaining(config, number(Options.CleanCommits)) else config
  }

  /** As in Hudi, the limits are raised so that a clean still finds the instants that it has to retain. */
  def retaining(config: ArchiveConfig, commits: Int): ArchiveConfig = {
    val more = math.max(0, commits + 2 - config.minCommits)
    config.copy(minCommits = config.minCommits + more, maxCommits = config.maxCommits + more)
  }

  def requireOrder(min: Int, max: Int): Unit = if (max <= min)
    throw MerganserException("OPTION_CONFLICT", "key" -> Options.KeepMaxCommits.key, "value" -> max,
      "otherKey" -> Options.KeepMinCommits.key, "otherValue" -> min)
}
