// Hot path: one call per record.
package io.merganser.table.log

import io.merganser.table.avro.AvroInput

import java.nio.ByteBuffer
import java.util.zip.CRC32

/**
 * Iterates over the records of an Avro data block, with a buffer that grows at most to the size of the largest record.
 */
private[log] final class AvroBlock(file: LogFileReader, block: LogBlock) {
  private[this] val input       = new AvroInput
  private[this] var buffer      = new Array[Byte](Math.min(block.contentLength, AvroBlock.BufferBytes.toLong).toInt)
  private[this] var from        = 0
  private[this] var until       = 0
  private[this] var unread      = block.contentLength
  private[this] val checksum    = if (block.contentChecksum.isDefined) new CRC32 else null
  private[this] val version     = int()
  private[this] var recordsLeft = int()
  if (version < 1 || version > LogFormat.ContentVersion)
    throw block.unreadable(s"its content is of version $version", "Compact the slice with the engine that wrote it.")
  if (recordsLeft < 0 || recordsLeft > block.contentLength / 4)
    throw block.unreadable(s"its $recordsLeft records do not fit its content", "Restore the file from a copy.")

  if (unread == 0) verify() // before a row of a damaged block is merged; larger ones are verified at their end

  private[this] def verify(): Unit =
    if (checksum != null && !block.contentChecksum.contains(checksum.getValue)) throw block.differs

  /**
   * The next record's bytes, valid until the next call; null after the last.
   *
   * @throws io.merganser.merge.MerganserException LOG_BLOCK_UNREADABLE if the content ends too early
   */
  def next(): AvroInput =
    if (recordsLeft <= 0) {
      if (unread > 0 || from < until)
        throw block.unreadable("its content does not end with its last record", "Restore the file from a copy.")
      verify()
      null
    } else {
      recordsLeft -= 1
      val length = int()
      if (length < 0) throw short(length)
      require(length)
      from += length
      input.reset(buffer, from - length, from)
    }

  private[this] def int(): Int = {
    require(4)
    from += 4
    ByteBuffer.wrap(buffer, from - 4, 4).getInt
  }

  /** Ensures that the next `length` bytes of the content are in the buffer. */
  private[this] def require(length: Int): Unit =
    if (until - from < length) {
      val buffered = until - from
      if (length - buffered > unread) throw short(length)
      val target = if (length > buffer.length) new Array[Byte](length) else buffer
      System.arraycopy(buffer, from, target, 0, buffered)
      buffer = target
      val more = Math.min(unread, (buffer.length - buffered).toLong).toInt
      file.read(block.contentOffset + block.contentLength - unread, buffer, buffered, more)
      if (checksum != null) checksum.update(buffer, buffered, more)
      unread -= more
      from = 0
      until = buffered + more
    }

  private[this] def short(length: Int) =
    block.unreadable(s"a record of $length bytes does not fit its content", "Restore the file from a copy.")
}

private object AvroBlock {
  private val BufferBytes = 1024 * 1024
}
