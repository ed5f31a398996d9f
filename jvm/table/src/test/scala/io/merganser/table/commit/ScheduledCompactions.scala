package io.merganser.table.commit

import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Instant

/** Runs of scheduled compactions, without the choice to leave one alone. */
object ScheduledCompactions {

  /** @throws io.merganser.merge.MerganserException COMPACTION_CONFLICT if the run cannot be started */
  def begin(
      storage: Storage,
      config: TableConfig,
      instant: Instant,
      options: Transaction.Options = Transaction.Options()
  ): Transaction =
    CompactionSchedule.claim(storage, config, instant, options)
      .fold(reason => throw CompactionSchedule.conflict(storage, instant.requested, reason), identity)
}
