package io.merganser.table.base

import java.io.IOException
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.US_ASCII
import java.util.zip.CRC32

import org.apache.parquet.io.SeekableInputStream

/**
 * The checksum of a base file's footer, which Parquet has no place for: an entry of the footer's own key-value metadata
 * with CRC32 of the footer, in which the eight hexadecimal digits of the entry are zeros.
 *
 * A footer without the entry is one of another writer, or of an encrypted file, and is not checked. Nor is one of a
 * tool that copies row groups, as Hudi's binary copy does: it copies the entries of our footer into one of its own.
 */
private[base] object FooterChecksum {
  val Entry = "merganser.footer.crc32"
  val Unset = "00000000"

  /** An entry that such tools add, with the names of the writers of the files that were copied. */
  private val Copied = "original.created.by"

  /** What a complete file that is not encrypted ends with. */
  private val Magic = "PAR1".getBytes(US_ASCII)

  /** Bytes after the footer: its length, little endian, and [[Magic]]. */
  private val Tail = 4 + Magic.length

  /** The entry's key, and the header of its value: field 2 of type binary, of eight bytes, in Thrift's compact form. */
  private val Key = Entry.getBytes(US_ASCII) ++ Array[Byte](0x18, Unset.length.toByte)

  /**
   * Replaces the zeros of the entry, in place.
   *
   * @param end the last bytes of a file, at least the whole footer; nothing changes if it is not complete
   */
  def set(end: Array[Byte]): Unit =
    if (end.length > Tail && end.takeRight(Magic.length).sameElements(Magic)) {
      val length = Integer.reverseBytes(ByteBuffer.wrap(end, end.length - Tail, 4).getInt)
      val start  = end.length - Tail - length
      if (length > 0 && start >= 0) {
        val digits = digitsAt(end, start, end.length - Tail)
        if (digits >= 0)
          System.arraycopy(f"${crc(end, start, length)}%08x".getBytes(US_ASCII), 0, end, digits, Unset.length)
      }
    }

  /** Whether the entries of a footer are those of other files' footers. */
  def isCopied(entries: java.util.Map[String, String]): Boolean = entries.containsKey(Copied)

  /**
   * @param footer a footer as it is stored
   * @throws java.io.IOException if it has a checksum of other bytes
   */
  def check(footer: Array[Byte]): Unit = {
    val digits = digitsAt(footer, 0, footer.length)
    if (digits >= 0) {
      val stored = new String(footer, digits, Unset.length, US_ASCII)
      if (stored != Unset) {
        val intact = footer.clone()
        System.arraycopy(Unset.getBytes(US_ASCII), 0, intact, digits, Unset.length)
        val found = f"${crc(intact, 0, intact.length)}%08x"
        if (found != stored) throw new IOException(s"its footer has the checksum $found, not $stored as when written")
      }
    }
  }

  private def crc(bytes: Array[Byte], start: Int, length: Int): Long = {
    val crc = new CRC32
    crc.update(bytes, start, length)
    crc.getValue
  }

  /** Where the digits begin, or -1; entries are behind the row groups, so the search is from the end. */
  private def digitsAt(bytes: Array[Byte], start: Int, end: Int): Int = {
    var at = end - Key.length - Unset.length
    while (at >= start && !isKeyAt(bytes, at)) at -= 1
    if (at < start) -1 else at + Key.length
  }

  private def isKeyAt(bytes: Array[Byte], at: Int): Boolean = {
    var i = 0
    while (i < Key.length && bytes(at + i) == Key(i)) i += 1
    i == Key.length
  }
}

/** Retains the last buffer that was read whole: after Parquet has read a footer through it, the footer. */
private[base] final class FooterInput(in: SeekableInputStream) extends SeekableInputStream {
  private[this] var last: Array[Byte] = Array.emptyByteArray

  def lastBuffer: Array[Byte] = last

  override def readFully(buffer: ByteBuffer): Unit = {
    val start = buffer.position()
    in.readFully(buffer)
    val copy = buffer.duplicate()
    copy.flip()
    copy.position(start)
    last = new Array[Byte](copy.remaining())
    copy.get(last)
    ()
  }

  override def getPos: Long                                            = in.getPos
  override def seek(position: Long): Unit                              = in.seek(position)
  override def read(): Int                                             = in.read()
  override def read(bytes: Array[Byte], start: Int, length: Int): Int  = in.read(bytes, start, length)
  override def read(buffer: ByteBuffer): Int                           = in.read(buffer)
  override def readFully(bytes: Array[Byte]): Unit                     = in.readFully(bytes)
  override def readFully(bytes: Array[Byte], start: Int, n: Int): Unit = in.readFully(bytes, start, n)
  override def close(): Unit                                           = in.close()
}
