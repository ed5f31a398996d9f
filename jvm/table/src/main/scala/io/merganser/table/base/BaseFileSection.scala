package io.merganser.table.base

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.hadoop.util.HadoopInputFile

import java.io.IOException
import java.util.zip.CRC32

/**
 * Bytes of ours between the last row group of a base file and its footer, which has an entry that locates them. Readers
 * of Parquet find row groups and indexes by their positions, and never read what is between them.
 *
 * @param file     name of the file, so that an entry of a copied footer is ignored
 * @param checksum CRC32 of the bytes
 */
final case class BaseFileSection private (file: String, start: Long, length: Int, checksum: Long) {
  override def toString: String = f"$file:$start%d:$length%d:$checksum%08x"

  /** @throws io.merganser.merge.MerganserException BASE_FILE_UNREADABLE if they are not the bytes that were written */
  def read(conf: Configuration, path: Path, sizeBytes: Long): Array[Byte] = BaseFileFooter.named(path, sizeBytes) {
    if (start < 0 || length < 0 || start > sizeBytes - length)
      throw new IOException(s"its section of retained deletes or recent rows has $length bytes at $start")
    val bytes = new Array[Byte](length)
    val in    = HadoopInputFile.fromStatus(BaseFileFooter.status(path, sizeBytes), conf).newStream()
    try {
      in.seek(start)
      in.readFully(bytes)
    } finally in.close()
    val found = BaseFileSection.crc(bytes)
    if (found != checksum)
      throw new IOException(f"the checksum of its retained deletes or recent rows is $found%08x, not $checksum%08x")
    bytes
  }
}

object BaseFileSection {
  private val Entry = "(.+):([0-9]{1,18}):([0-9]{1,9}):([0-9a-f]{8})".r

  def apply(file: String, start: Long, bytes: Array[Byte]): BaseFileSection =
    new BaseFileSection(file, start, bytes.length, crc(bytes))

  /** The section that a footer locates; None if it has none, or one of another file. */
  def of(footer: BaseFileFooter, entry: String): Option[BaseFileSection] = footer.keyValues.get(entry).flatMap {
    case Entry(file, start, length, checksum) if file == footer.fileName =>
      Some(new BaseFileSection(file, start.toLong, length.toInt, java.lang.Long.parseLong(checksum, 16)))
    case _ => None
  }

  private def crc(bytes: Array[Byte]): Long = {
    val crc = new CRC32
    crc.update(bytes, 0, bytes.length)
    crc.getValue
  }
}
