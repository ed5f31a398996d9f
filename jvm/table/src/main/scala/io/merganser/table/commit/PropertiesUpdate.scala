package io.merganser.table.commit

import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.TableAccess
import io.merganser.table.storage.Storage

/** A change of hoodie.properties, by ALTER TABLE and by procedures. */
object PropertiesUpdate {

  /**
   * Changes the properties atomically for readers, under the table lock.
   *
   * An interrupted earlier update is completed first.
   *
   * @throws io.merganser.merge.MerganserException LOCK_TIMEOUT, and what [[TableFeatures.requireWritable]] throws; no
   *                                               property is changed then
   */
  def run(
      storage: Storage,
      change: Map[String, String] => Map[String, String],
      access: TableAccess = TableAccess()
  ): TableConfig =
    LockedTable.repaired(storage, access)(_ => TableConfig.updateUnderLock(storage, change))
}
