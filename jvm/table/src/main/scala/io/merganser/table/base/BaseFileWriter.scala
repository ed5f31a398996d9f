package io.merganser.table.base

import io.merganser.merge.MerganserException
import io.merganser.table.schema.MetaColumns
import io.merganser.table.storage.StoredOutput
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.column.ParquetProperties
import org.apache.parquet.crypto.EncryptionPropertiesFactory
import org.apache.parquet.hadoop.ParquetWriter
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.io.OutputFile
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import java.io.IOException
import java.util.Locale
import scala.collection.mutable
import scala.util.control.NonFatal

/**
 * Settings of base files.
 *
 * @param codec         Parquet's name of the compression codec, case-insensitive
 * @param rowGroupBytes encoded size of a row group, buffered in memory, in bytes
 * @param bloomFilter   expected number of keys and false positive rate of the bloom filter; None: no bloom filter
 * @param pageBytes     encoded size of a page, in bytes
 * @param dictionary    false: no column has a dictionary
 * @param maxFileBytes  encoded size up to which the file of a new group is filled, in bytes
 * @param recentRows    largest share of the rows that a file has a second time, by itself: see [[RecentRows]]
 * @param copiesFromBytes smallest size, in bytes, of a file of which unchanged row groups and columns are copied to
 *                     the one that replaces it: see [[ReplacedFile]]
 */
final case class BaseFileOptions(
    codec: String = "snappy",
    rowGroupBytes: Long = ParquetWriter.DEFAULT_BLOCK_SIZE.toLong,
    bloomFilter: Option[(Long, Double)] = None,
    pageBytes: Int = ParquetWriter.DEFAULT_PAGE_SIZE,
    dictionary: Boolean = true,
    maxFileBytes: Long = Long.MaxValue,
    recentRows: Double = 0.0,
    copiesFromBytes: Long = 1L << 20
)

/**
 * One written base file.
 *
 * @param isSorted true if the rows were sorted by the unsigned UTF-8 bytes of the record key, as then recorded in the
 *                 footer
 */
final case class BaseFileWritten(
    sizeBytes: Long,
    rowCount: Long,
    minKey: Option[String],
    maxKey: Option[String],
    isSorted: Boolean
)

/**
 * Writes one base file. Its footer has the smallest and largest record key and, if the rows are sorted by key, an entry
 * with the file's own name.
 *
 * @param schema     the columns of the rows, meta columns first
 * @param storesKeys false if the key column is null and [[track]] is called for every row
 * @param recent     collects the rows that the file has a second time
 * @param replaced   the files that this one replaces, if their bytes may be copied: then each row of them is passed
 *                   once, to [[keep]], [[keepKey]], [[replace]] or [[drop]]
 * @throws org.apache.hadoop.fs.FileAlreadyExistsException if the file exists
 */
final class BaseFileWriter(
    conf: Configuration,
    path: Path,
    schema: StructType,
    options: BaseFileOptions = BaseFileOptions(),
    storesKeys: Boolean = true,
    recent: Option[RecentRowBuffer] = None,
    replaced: Seq[ReplacedFile] = Nil
) {
  private[this] val file = new BaseFileOutput(new StoredOutput(path, conf))
  private[this] val writer: RowOutput =
    if (replaced.nonEmpty)
      new PatchedParquetWriter(conf, file, path.getName, schema, options, storesKeys, replaced, () => beginFooter())
    else new RowParquetWriter(conf, file, Some(path.getName), schema, options, storesKeys, () => beginFooter())
  private[this] var rows     = 0L
  private[this] val sections = mutable.LinkedHashMap.empty[String, Array[Byte]]
  private[this] val buffer   = if (isEncrypted) null else recent.orNull

  /** @param row not retained, so it may be reused */
  def write(row: InternalRow): Unit = {
    writer.write(row)
    if (buffer ne null) buffer.add(row)
    rows += 1
  }

  /** True if rows of replaced files are passed. */
  def isPatched: Boolean = replaced.nonEmpty

  /** True if the next row of a replaced file may be passed to [[keepKey]], unless it is collected. */
  def keepsByKey: Boolean = writer.keepsByKey

  /** Whether a row with this commit time may become one that the file has a second time. */
  def collects(time: UTF8String): Boolean = (buffer ne null) && time != null && buffer.takes(time)

  /** @param row of the replaced file, as this file has it */
  def keep(row: InternalRow): Unit = {
    writer.keep(row)
    if (buffer ne null) buffer.add(row)
    rows += 1
  }

  /** @param key of the next row of the replaced file, which this file has too */
  def keepKey(key: UTF8String): Unit = {
    writer.keepKey(key)
    rows += 1
  }

  /** The next row that is written replaces this one. @param row as [[keep]] would have it */
  def replace(row: InternalRow): Unit = writer.replace(row)

  /** This file does not have the next row of the replaced file. */
  def drop(): Unit = writer.drop()

  /** Records the key of the last row. @param key not retained */
  def track(key: UTF8String): Unit = writer.keys.add(key.getBytes)

  /**
   * Puts bytes of ours between the last row group and the footer, where no reader of Parquet looks; see
   * [[BaseFileSection]]. To be called after the last row, once for each entry.
   *
   * @param entry name of the footer's entry that locates them
   * @param keys  record keys in them, which the footer's key range and Bloom filter then cover
   */
  def append(entry: String, bytes: Array[Byte], keys: Iterator[UTF8String]): Unit = {
    if (isEncrypted)
      throw MerganserException("TOMBSTONES_NOT_ENCRYPTED", "file" -> path)
    keys.foreach(key => writer.keys.cover(key.getBytes))
    sections += entry -> bytes
  }

  /** Bytes so far: written ones, and buffered ones before compression. */
  def estimatedBytes: Long = writer.estimatedBytes

  /** A signed footer must not be changed, so that files that are encrypted have no checksum of ours. */
  private def beginFooter(): Map[String, String] =
    if (isEncrypted) Map.empty
    else {
      val found = sections.map { case (entry, bytes) =>
        entry -> BaseFileSection(path.getName, file.append(bytes), bytes).toString
      }.toMap
      file.beginFooter()
      found ++ recentAfter.map(BaseFileFooter.RecentRowsAfter -> _) + (FooterChecksum.Entry -> FooterChecksum.Unset)
    }

  private[this] var recentAfter = Option.empty[String]

  private def isEncrypted: Boolean = conf.get(EncryptionPropertiesFactory.CRYPTO_FACTORY_CLASS_PROPERTY_NAME) != null

  /** Closes the file. */
  def close(): BaseFileWritten = {
    if (buffer ne null) buffer.encoded(conf, path.getName, schema, options).foreach { bytes =>
      append(BaseFileFooter.RecentRows, bytes, Iterator.empty)
      recentAfter = Some(buffer.after)
    }
    writer.close()
    BaseFileWritten(file.sizeBytes, rows, writer.keys.minKey, writer.keys.maxKey, writer.keys.isSorted)
  }

  /** Closes and removes the file. Never throws, because it is called after a failure. */
  def abort(): Unit = {
    try writer.abort()
    catch { case NonFatal(_) => () }
    try { path.getFileSystem(conf).delete(path, false); () }
    catch { case _: IOException => () }
  }
}

/**
 * Writes rows to any Parquet output: a base file, or the content of a log block.
 *
 * @param fileName footer entry for sorted rows; None: no entry
 * @param entries  called once after the last row, when the footer begins: more entries of it
 */
private[table] final class RowParquetWriter(
    conf: Configuration,
    file: OutputFile,
    fileName: Option[String],
    schema: StructType,
    options: BaseFileOptions,
    storesKeys: Boolean = true,
    entries: () => Map[String, String] = () => Map.empty
) extends RowOutput {
  override val keys: KeyTracker = KeyTracker.of(
    if (storesKeys) schema.fieldNames.indexOf(MetaColumns.RecordKey) else KeyTracker.Apart, fileName, options)

  private[this] val support = new RowWriteSupport(schema, keys, entries)
  private[this] val writer = new RowGroupWriter(conf, file, support,
    CompressionCodecName.valueOf(options.codec.toUpperCase(Locale.ROOT)), options.rowGroupBytes,
    ParquetProperties.builder()
      .withPageSize(options.pageBytes)
      .withDictionaryEncoding(options.dictionary)
      // All values are distinct: Parquet would build dictionaries only to discard them.
      .withDictionaryEncoding(MetaColumns.RecordKey, false)
      .withDictionaryEncoding(MetaColumns.CommitSeqno, false)
      .withValuesWriterFactory(new ColumnEncodings)
      .build(),
    RowWriteSupport.Repeated)

  override def write(row: InternalRow): Unit = writer.write(row)

  /** @param ordinals positions of the columns in the row */
  def write(row: InternalRow, ordinals: Array[Int]): Unit = {
    support.ordinals = ordinals
    writer.write(row)
  }

  override def keepsByKey: Boolean = false

  override def keep(row: InternalRow): Unit = write(row)

  override def keepKey(key: UTF8String): Unit = throw new IllegalStateException("a row is written by its key alone")

  override def replace(row: InternalRow): Unit = ()

  override def drop(): Unit = ()

  override def estimatedBytes: Long = writer.estimatedBytes

  override def close(): Unit = writer.close()

  override def abort(): Unit = writer.close()
}
