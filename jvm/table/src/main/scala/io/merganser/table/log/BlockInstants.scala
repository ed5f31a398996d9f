package io.merganser.table.log

import io.merganser.table.file.LogFile
import io.merganser.table.storage.Storage

/** The writes of a log file's blocks: in version 6 several writes may share a file, and its name has none of them. */
private[table] object BlockInstants {

  /**
   * Instants of intact blocks; corrupt blocks are ignored.
   *
   * @throws io.merganser.merge.MerganserException LOG_BLOCK_UNREADABLE
   */
  def of(storage: Storage, log: LogFile): Set[String] = {
    val reader = new LogFileReader(storage, log)
    try reader.blocks()._1.map(_.instant).toSet
    finally reader.close()
  }

  /** Instants whose blocks in earlier files of the slice it takes back. */
  def takenBack(storage: Storage, log: LogFile): Set[String] = {
    val reader = new LogFileReader(storage, log)
    try reader.blocks()._1.filter(_.isRollback).flatMap(_.header.get(LogFormat.Header.TargetInstantTime)).toSet
    finally reader.close()
  }

  /** Whether it has blocks that act on those of other files, such as a rollback's. */
  def hasCommands(storage: Storage, log: LogFile): Boolean = {
    val reader = new LogFileReader(storage, log)
    try reader.blocks()._1.exists(_.blockType == LogFormat.BlockType.Command)
    finally reader.close()
  }
}
