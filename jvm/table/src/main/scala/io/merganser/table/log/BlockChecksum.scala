package io.merganser.table.log

import java.util.zip.{CRC32, Checksum}

/**
 * The checksums of a log file's blocks, which the format has no place for: our commits have them. For each block in
 * file order CRC32 of the bytes before its content and of its content, in eight hexadecimal digits each.
 *
 * @param head    of the bytes before the content
 * @param content of the content
 */
private[log] final case class BlockChecksum(head: Long, content: Long)

private[log] object BlockChecksum {
  private val Digits = 8

  def apply(head: Array[Byte], content: Checksum): String = f"${of(head, 0, head.length)}%08x${content.getValue}%08x"

  def of(bytes: Array[Byte], offset: Int, length: Int): Long = {
    val crc = new CRC32
    crc.update(bytes, offset, length)
    crc.getValue
  }

  def parse(checksums: String): IndexedSeq[BlockChecksum] = checksums.grouped(2 * Digits).map { both =>
    val (head, content) = both.splitAt(Digits)
    BlockChecksum(java.lang.Long.parseLong(head, 16), java.lang.Long.parseLong(content, 16))
  }.toIndexedSeq
}
