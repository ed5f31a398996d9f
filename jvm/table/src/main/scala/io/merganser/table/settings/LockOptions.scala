package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{OptionKind, Options, Settings}
import io.merganser.table.storage.TableLock

/** How a write locks its table. Of Hudi's lock providers there are the one whose lock is a file, and the one of one process. */
private[table] object LockOptions {

  private val FileSystemProvider = "FileSystemBasedLockProvider"

  /** Ours keeps the writers of one process apart as well, whatever name they call a table by. */
  private val InProcessProvider = "InProcessLockProvider"

  private val MinuteMs = 60000L

  /** @throws io.merganser.merge.MerganserException LOCK_PROVIDER_UNSUPPORTED where others write at a time and lock the table elsewhere */
  def of(settings: Settings, kept: Map[String, String]): TableLock.Settings = {
    val severalWriters = settings.required(Options.ConcurrencyMode, kept) != "SINGLE_WRITER"
    val provider       = settings.text(Options.LockProvider, kept).filter(_.nonEmpty)
    val name           = provider.map(p => p.drop(p.lastIndexOf('.') + 1))
    if (severalWriters) provider.filterNot(_ => name.exists(Set(FileSystemProvider, InProcessProvider))).foreach { p =>
      throw MerganserException("LOCK_PROVIDER_UNSUPPORTED", "provider" -> p, "key" -> Options.LockProvider.key)
    }
    val isFile = name.contains(FileSystemProvider)
    TableLock.Settings(
      timeoutMs = settings.whole(Options.LockWait, kept),
      severalWriters = severalWriters,
      exclusiveSchemes = settings.text(Options.ExclusiveSchemes, kept).toSeq.flatMap(OptionKind.Fields.split).toSet,
      folder = if (isFile) settings.text(Options.LockFolder, kept).filter(_.nonEmpty) else None,
      foreignExpiryMs = if (isFile) settings.whole(Options.LockExpiry, kept) * MinuteMs else 0L
    )
  }
}
