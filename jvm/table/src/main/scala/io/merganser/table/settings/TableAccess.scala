package io.merganser.table.settings

import io.merganser.table.options.{Options, Permits, Settings}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.TableLock

/**
 * How a change of a table's properties alone locks it, and what the change may do to it.
 *
 * @param lock    as of every write of the session
 * @param permits what would be refused otherwise
 */
final case class TableAccess(lock: TableLock.Settings = TableLock.Settings(), permits: Permits = Permits())

object TableAccess {

  /**
   * As a session's writes of the table have it. Other settings that the table stores are not looked at: a wrong one can be corrected.
   *
   * @throws io.merganser.merge.MerganserException what [[Settings.ofWrite]] throws; LOCK_PROVIDER_UNSUPPORTED
   */
  def of(sessionConf: Map[String, String], table: TableConfig): TableAccess = {
    val settings = Settings.ofWrite(Map.empty, sessionConf)
    TableAccess(LockOptions.of(settings, table.properties), permits(settings, table.properties))
  }

  private[table] def permits(settings: Settings, kept: Map[String, String]): Permits =
    Permits(settings.bool(Options.DropIndexes, kept), settings.bool(Options.AllowUnknownProperties, kept))
}
