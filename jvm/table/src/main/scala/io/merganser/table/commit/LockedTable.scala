package io.merganser.table.commit

import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.TableAccess
import io.merganser.table.storage.{Storage, TableLock}
import io.merganser.table.timeline.{Action, Timeline}

/**
 * A table that may be changed, while its lock is held.
 *
 * @param config   the properties in whose layout the timeline was loaded
 * @param timeline loaded under the lock
 */
private[table] final class LockedTable private (
    storage: Storage,
    val config: TableConfig,
    val timeline: Timeline,
    val lock: TableLock
) {

  /** Puts an action on the timeline; see [[Transaction.announce]]. */
  def announce(action: Action, content: Array[Byte]): String =
    Transaction.announce(storage, config, timeline, action, content, lock)
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
    TableLock.hold(storage, access.lock) { lock =>
      val timeline = Timeline.load(storage, opened, known)
      TableFeatures.requireWritable(storage, TableConfig.load(storage), timeline, access.permits)
      work(new LockedTable(storage, opened, timeline, lock))
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
    TableLock.hold(storage, access.lock) { lock =>
      val now      = config
      val timeline = Timeline.load(storage, now)
      TableFeatures.requireWritable(storage, now, timeline, access.permits)
      work(new LockedTable(storage, now, timeline, lock))
    }
}
