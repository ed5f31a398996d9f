package io.merganser.table.service

import io.merganser.merge.MerganserException
import io.merganser.table.commit.LockedTable
import io.merganser.table.settings.TableAccess
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{Instant, InstantState, Timeline}

/** Removes pending cleans whose plan cannot be read: every write of any engine fails on them. */
final class CleanFilesRepair(
    storage: Storage,
    access: TableAccess = TableAccess()
) {

  /**
   * A clean that has not completed has deleted only files that the next one deletes, so that nothing is lost.
   *
   * @return requested times of the cleans removed
   */
  def run(): Seq[String] = LockedTable.repaired(storage, access) { table =>
    import table.timeline
    timeline.pendingCleans.filterNot(hasPlan(timeline, _)).map { clean =>
      // The requested file last: with it alone, the next call removes the clean.
      timeline.filesIn(clean, InstantState.Inflight, InstantState.Requested).foreach(file => storage.delete(file))
      clean.requested
    }
  }

  private def hasPlan(timeline: Timeline, clean: Instant): Boolean =
    try timeline.cleanPlan(clean).isDefined
    catch { case e: MerganserException if e.condition == "TIMELINE_FILE_UNREADABLE" => false }
}
