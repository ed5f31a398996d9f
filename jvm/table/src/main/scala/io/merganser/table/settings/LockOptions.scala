package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{OptionKind, Options, Settings}
import io.merganser.table.storage.{StorageLock, TableLock}

/**
 * How a write locks its table. Of Hudi's lock providers, the file-based, the storage-based and the in-process one are
 * supported.
 */
private[table] object LockOptions {

  private val FileSystemProvider = "FileSystemBasedLockProvider"

  private val StorageProvider = "StorageBasedLockProvider"

  /** Our lock also excludes the writers of one process, whatever path they use for the table. */
  private val InProcessProvider = "InProcessLockProvider"

  private val MinuteMs = 60000L
  private val SecondMs = 1000L

  /**
   * @throws io.merganser.merge.MerganserException LOCK_PROVIDER_UNSUPPORTED if several writers use another provider
   */
  def of(settings: Settings, stored: Map[String, String]): TableLock.Settings = {
    val severalWriters = settings.required(Options.ConcurrencyMode, stored) != "SINGLE_WRITER"
    val provider       = settings.text(Options.LockProvider, stored).filter(_.nonEmpty)
    val name           = provider.map(p => p.drop(p.lastIndexOf('.') + 1))
    if (severalWriters)
      provider.filterNot(_ => name.exists(Set(FileSystemProvider, StorageProvider, InProcessProvider))).foreach { p =>
        throw MerganserException("LOCK_PROVIDER_UNSUPPORTED", "provider" -> p, "key" -> Options.LockProvider.key)
      }
    val isFile = name.contains(FileSystemProvider)
    TableLock.Settings(
      timeoutMs = settings.whole(Options.LockWait, stored),
      severalWriters = severalWriters,
      exclusiveSchemes = settings.text(Options.ExclusiveSchemes, stored).toSeq.flatMap(OptionKind.NameList.split).toSet,
      folder = if (isFile) settings.text(Options.LockFolder, stored).filter(_.nonEmpty) else None,
      foreignExpiryMs = if (isFile) settings.whole(Options.LockExpiry, stored) * MinuteMs else 0L,
      storageLease =
        if (severalWriters && name.contains(StorageProvider)) Some(StorageLock.Lease(
            settings.whole(Options.LockValidity, stored) * SecondMs,
            settings.whole(Options.LockRenewal, stored) * SecondMs))
        else None
    )
  }
}
