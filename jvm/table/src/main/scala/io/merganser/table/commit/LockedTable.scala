package io.merganser.table.commit

import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.TableAccess
import io.merganser.table.storage.{Interrupts, Storage, TableLock}
import io.merganser.table.timeline.{Action, InstantFile, InstantTime, Timeline}

/**
 * A table while its lock is held.
 *
 * @param config   the properties in whose layout the timeline was loaded
 * @param timeline loaded under the lock
 */
private[table] final class LockedTable private (
    val storage: Storage,
    val config: TableConfig,
    val timeline: Timeline,
    val lock: TableLock
) {

  /** With the timeline as it is now, also with what an unfinished restore takes back. */
  def whole: LockedTable = new LockedTable(storage, config, Timeline.loadWhole(storage, config), lock)

  /** With the timeline as it is now. */
  def refreshed: LockedTable =
    new LockedTable(storage, config, Timeline.load(storage, config, Some(timeline)), lock)

  /**
   * Puts an action on the timeline.
   *
   * @return its new instant
   */
  def announce(action: Action, content: Array[Byte]): String = {
    val instant = InstantTime.next(storage.identity, config.timelineZone, timeline.times)
    lock.requireHeld()
    create(InstantFile.requested(instant, action), content)
    instant
  }

  /** Begins an action that is on the timeline. */
  def begin(instant: String, action: Action): Unit =
    create(InstantFile.inflight(instant, action), Array.emptyByteArray)

  /** Completes an action that is on the timeline. */
  def complete(instant: String, action: Action, content: Array[Byte]): Unit = Interrupts.deferred {
    lock.requireHeld()
    create(InstantFile.completed(instant, timeline.nextCompletion, action), content)
  }

  private def create(name: String, content: Array[Byte]): Unit =
    storage.createNewBesideOthers(config.timelineFile(name), content)
}

private[table] object LockedTable {

  /**
   * Locks a table that was opened before. Whether it may be changed is decided by its properties under the lock.
   *
   * @param opened the properties with which it was opened
   * @param known  an earlier timeline: what was read of it is not read again
   * @throws io.merganser.merge.MerganserException LOCK_TIMEOUT, and what [[TableFeatures.requireWritable]] throws
   */
  def of[T](storage: Storage, opened: TableConfig, access: TableAccess, known: Option[Timeline] = None)(
      work: LockedTable => T
  ): T =
    unchecked(storage, access)((opened, Timeline.load(storage, opened, known))) { table =>
      TableFeatures.requireWritable(storage, TableConfig.load(storage), table.timeline, access.permits)
      work(table)
    }

  /**
   * Locks a table to change it by its properties of now.
   *
   * @throws io.merganser.merge.MerganserException as [[of]]
   */
  def current[T](storage: Storage, access: TableAccess)(work: LockedTable => T): T =
    checked(storage, access)(TableConfig.load(storage))(work)

  /**
   * Locks a table to change it by its properties of now. An interrupted update of them is completed first.
   *
   * @throws io.merganser.merge.MerganserException as [[of]]
   */
  def repaired[T](storage: Storage, access: TableAccess)(work: LockedTable => T): T =
    checked(storage, access)(TableConfig.repair(storage))(work)

  private def checked[T](storage: Storage, access: TableAccess)(config: => TableConfig)(work: LockedTable => T): T =
    unchecked(storage, access) { val now = config; (now, Timeline.load(storage, now)) } { table =>
      TableFeatures.requireWritable(storage, table.config, table.timeline, access.permits)
      work(table)
    }

  /**
   * Locks a table; whether it may be changed is decided by the caller.
   *
   * @param load the properties and the timeline; called under the lock
   * @throws io.merganser.merge.MerganserException LOCK_TIMEOUT
   */
  def unchecked[T](storage: Storage, access: TableAccess)(load: => (TableConfig, Timeline))(
      work: LockedTable => T
  ): T =
    TableLock.hold(storage, access.lock) { lock =>
      val (config, timeline) = load
      work(new LockedTable(storage, config, timeline, lock))
    }
}
