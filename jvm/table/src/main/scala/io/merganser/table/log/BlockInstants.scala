package io.merganser.table.log

import io.merganser.table.file.LogFile
import io.merganser.table.storage.Storage

/** Which writes a log file holds blocks of: in version 6 several may share a file, and its name tells none of them. */
private[table] object BlockInstants {

  /**
   * Instants of the whole blocks; broken ones are nobody's.
   *
   * @throws io.merganser.merge.MerganserException LOG_BLOCK_UNREADABLE
   */
  def of(storage: Storage, log: LogFile): Set[String] = {
    val reader = new LogFileReader(storage, log)
    try reader.blocks()._1.map(_.instant).toSet
    finally reader.close()
  }
}
