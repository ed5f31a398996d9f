package io.merganser.table.log

import io.merganser.merge.MerganserException
import io.merganser.table.file.LogFile
import io.merganser.table.storage.Storage
import org.apache.hadoop.fs.FSDataInputStream

import java.io.Closeable
import java.nio.charset.StandardCharsets.UTF_8
import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

/**
 * Finds the blocks of a log file and reads their content.
 *
 * @param isWhole true if a single completed commit wrote the file: a truncated or overwritten block is then an error,
 *                up to the size in the commit. Otherwise, and beyond that size, it is skipped: reading continues at the
 *                next magic
 * @param schemas cache of schema strings, so that equal ones are stored once
 */
private[log] final class LogFileReader(
    storage: Storage,
    val log: LogFile,
    isWhole: Boolean = false,
    schemas: mutable.Map[String, String] = mutable.Map.empty
) extends Closeable {
  import LogFileReader._
  import LogFormat._

  private[this] var stream: FSDataInputStream = _
  private[this] var window                    = Array.emptyByteArray
  private[this] var windowStart               = 0L
  private[this] var windowLength              = 0

  /**
   * The intact blocks in file order, and the number of corrupt ones.
   *
   * @throws MerganserException LOG_BLOCK_UNREADABLE if the file is not a log file, an intact block violates the format,
   *                            or committed blocks are missing or corrupt
   */
  def blocks(): (Seq[LogBlock], Int) = {
    val found     = ArrayBuffer.empty[LogBlock]
    val checksums = if (isWhole) log.checksums.map(BlockChecksum.parse) else None
    var corrupt   = 0
    var position  = 0L
    if (log.sizeBytes >= Magic.length && !isMagic(0L)) throw unreadable(0L, "the file does not begin with a block")
    // A whole block that follows those of the commit is not of it.
    while (log.sizeBytes - position >= Magic.length && !(isWhole && log.committedBytes.contains(position))) {
      val end = endOfBlock(position)
      if (end >= 0) {
        val block = parse(position, end)
        found += checksums.fold(block)(known => checked(block, known.lift(found.size)))
        position = end
      } else {
        if (isWhole && log.committedBytes.forall(position < _)) throw corruptBlock(position)
        corrupt += 1
        position = nextMagic(position + Magic.length)
      }
    }
    if (isWhole && log.committedBytes.exists(position < _)) throw corruptBlock(position)
    (found.toSeq, corrupt)
  }

  private def checked(block: LogBlock, checksum: Option[BlockChecksum]): LogBlock = {
    val known  = checksum.getOrElse(throw unreadable(block.offset, s"commit ${log.instant} has no such block"))
    val length = Math.toIntExact(block.contentOffset - block.offset)
    val start  = at(block.offset, length) // may replace the window
    if (BlockChecksum.of(window, start, length) != known.head)
      throw unreadable(block.offset, s"its header differs from the checksum in commit ${log.instant}", block.blockType)
    block.copy(contentChecksum = Some(known.content))
  }

  /** Memory that the reader retains, in bytes. */
  def retainedBytes: Int = window.length

  private def corruptBlock(start: Long): MerganserException = {
    val commit = s"that commit ${log.instant} wrote"
    val reason = log.committedBytes match {
      case Some(committed) if log.sizeBytes < committed =>
        s"the file has ${log.sizeBytes} of the $committed bytes $commit"
      case _ => s"it is cut short or overwritten in the file $commit"
    }
    unreadable(start, reason, if (log.sizeBytes - start >= PrefixBytes + 8) int(start + PrefixBytes + 4) else NoType)
  }

  /** Copies bytes of the file. */
  def read(position: Long, target: Array[Byte], offset: Int, length: Int): Unit =
    if (position >= windowStart && position + length <= windowStart + windowLength)
      System.arraycopy(window, (position - windowStart).toInt, target, offset, length)
    else fetch(position, target, offset, length)

  /** Closes the stream; further reads open the file again, unless their bytes are still in memory. */
  override def close(): Unit = if (stream != null) {
    stream.close()
    stream = null
  }

  /** End of the block that begins at `start`; -1 if it is corrupt. */
  private def endOfBlock(start: Long): Long =
    if (log.sizeBytes - start < PrefixBytes + SmallestLength) -1L
    else {
      val length = long(start + Magic.length)
      val end    = start + PrefixBytes + length
      if (length < SmallestLength || length > log.sizeBytes - start - PrefixBytes) -1L
      else if (long(end - 8) != length + Magic.length) -1L
      else if (log.sizeBytes - end >= Magic.length && !isMagic(end)) -1L
      else end
    }

  private def parse(start: Long, end: Long): LogBlock = {
    at(start, PrefixBytes + SmallestLength) // the window then has the whole header, which is checked below
    val version = int(start + PrefixBytes)
    if (version != Version) throw unreadable(start, s"it is of log format version $version")
    val blockType = int(start + PrefixBytes + 4)
    var position  = start + PrefixBytes + 8
    val entries   = int(position)
    if (entries < 0) throw unreadable(start, s"its header has $entries entries")
    position += 4
    val header = Map.newBuilder[Int, String]
    var i      = 0
    while (i < entries) {
      val key  = int(position)
      val size = int(position + 4)
      if (size < 0 || position + 8 + size > end) throw unreadable(start, s"a header entry of $size bytes does not fit")
      if (Header.Read(key)) {
        val value = new String(window, at(position + 8, size), size, UTF_8)
        header += key -> (if (key == Header.Schema) schemas.getOrElseUpdate(value, value) else value)
      }
      position += 8 + size
      i += 1
    }
    val contentLength = long(position)
    if (contentLength < 0 || contentLength > end - position - 8 - 4 - 8)
      throw unreadable(start, s"a content of $contentLength bytes does not fit")
    if (int(position + 8 + contentLength) == 0 && position + 8 + contentLength + 4 + 8 != end)
      throw unreadable(start, s"its length leaves ${end - position - 8 - 4 - 8} bytes for a content of $contentLength")
    LogBlock(log, start, blockType, header.result(), position + 8, contentLength)
  }

  private def nextMagic(from: Long): Long = {
    var position = from
    while (log.sizeBytes - position >= Magic.length) {
      val length = Math.min(WindowBytes.toLong, log.sizeBytes - position).toInt
      val start  = at(position, length)
      var i      = start
      val last   = start + length - Magic.length
      while (i <= last) {
        if (isMagicAt(i)) return position + (i - start)
        i += 1
      }
      position += length - Magic.length + 1
    }
    log.sizeBytes
  }

  private def isMagic(position: Long): Boolean = isMagicAt(at(position, Magic.length))

  private def isMagicAt(index: Int): Boolean = {
    var i = 0
    while (i < Magic.length && window(index + i) == Magic(i)) i += 1
    i == Magic.length
  }

  private def int(position: Long): Int = {
    val i = at(position, 4)
    window(i) << 24 | (window(i + 1) & 0xff) << 16 | (window(i + 2) & 0xff) << 8 | window(i + 3) & 0xff
  }

  private def long(position: Long): Long = int(position).toLong << 32 | int(position + 4) & 0xffffffffL

  /** Index in the window of a position of the file, after fetching at least `length` bytes from there. */
  private def at(position: Long, length: Int): Int = {
    if (position < windowStart || position + length > windowStart + windowLength) {
      val available = log.sizeBytes - position
      if (position < 0 || length > available) throw unreadable(position, s"$length bytes are missing at its end")
      val wanted = Math.min(available, Math.max(length, WindowBytes).toLong).toInt
      if (window.length < wanted) window = new Array[Byte](wanted)
      windowLength = 0
      fetch(position, window, 0, wanted)
      windowStart = position
      windowLength = wanted
    }
    (position - windowStart).toInt
  }

  private def fetch(position: Long, target: Array[Byte], offset: Int, length: Int): Unit = {
    if (stream == null) stream = storage.fs.open(storage.path(log.path))
    stream.readFully(position, target, offset, length)
  }

  private def unreadable(offset: Long, reason: String, blockType: Int = NoType): MerganserException =
    LogBlock(log, offset, blockType, Map.empty, 0L, 0L).unreadable(reason, "Restore the file from a copy.")
}

private object LogFileReader {

  /** Bytes fetched by one read of the storage, so that a small file takes one read. */
  private val WindowBytes = 64 * 1024
  private val NoType      = -1
}
