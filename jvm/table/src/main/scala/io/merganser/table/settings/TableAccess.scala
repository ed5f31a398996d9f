package io.merganser.table.settings

import io.merganser.table.options.{Options, Permits, Settings}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.TableLock

/**
 * How a change locks its table, and what it may do to it.
 *
 * @param lock    as of every write of the session
 * @param permits what is refused by default
 */
final case class TableAccess(lock: TableLock.Settings = TableLock.Settings(), permits: Permits = Permits())

object TableAccess {

  /**
   * The same as for a session's writes to the table. Other stored settings are not checked, so that a wrong one can be
   * corrected.
   *
   * @throws io.merganser.merge.MerganserException what [[Settings.ofWrite]] throws; LOCK_PROVIDER_UNSUPPORTED
   */
  def of(sessionConf: Map[String, String], table: TableConfig): TableAccess =
    of(Settings.ofWrite(Map.empty, sessionConf), table.properties)

  private[settings] def of(settings: Settings, stored: Map[String, String]): TableAccess =
    TableAccess(
      LockOptions.of(settings, stored),
      Permits(
        settings.bool(Options.DropIndexes, stored),
        settings.bool(Options.AllowUnknownProperties, stored),
        settings.bool(Options.DropMetadataTable, stored),
        otherKeyNames = !settings.bool(Options.ComplexKeyValidation, stored),
        ambiguousKeys = settings.bool(Options.AllowAmbiguousKeys, stored)
      )
    )
}
