package io.merganser.table.base

import io.merganser.table.index.BloomFilter
import io.merganser.table.schema.MetaColumns
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.hadoop.ParquetWriter
import org.apache.parquet.hadoop.api.WriteSupport
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.hadoop.util.HadoopOutputFile
import org.apache.parquet.io.{OutputFile, PositionOutputStream}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import java.io.IOException
import java.util.Locale
import scala.util.control.NonFatal

/**
 * How a base file is written.
 *
 * @param codec         Parquet's name of the compression, in any case
 * @param rowGroupBytes encoded bytes that are gathered in memory before they become a row group
 * @param bloomFilter   number of keys and false positive rate to size a bloom filter for; none is written without it
 * @param pageBytes     encoded bytes of a page
 * @param dictionary    false: no column has a dictionary
 * @param maxFileBytes  encoded bytes that the file of a new group is filled to
 */
final case class BaseFileOptions(
    codec: String = "snappy",
    rowGroupBytes: Long = ParquetWriter.DEFAULT_BLOCK_SIZE.toLong,
    bloomFilter: Option[(Long, Double)] = None,
    pageBytes: Int = ParquetWriter.DEFAULT_PAGE_SIZE,
    dictionary: Boolean = true,
    maxFileBytes: Long = Long.MaxValue
)

/**
 * What was written.
 *
 * @param isSorted true if the rows came in unsigned UTF-8 byte order of the record key, which the footer then says
 */
final case class BaseFileWritten(
    sizeBytes: Long,
    rowCount: Long,
    minKey: Option[String],
    maxKey: Option[String],
    isSorted: Boolean
)

/**
 * Writes one base file. Its footer has the smallest and largest record key and, where the rows came in the order of
 * their keys, says so with the file's own name.
 *
 * @param schema the columns of the rows, the meta columns first
 * @throws org.apache.hadoop.fs.FileAlreadyExistsException if the file exists
 */
final class BaseFileWriter(
    conf: Configuration,
    path: Path,
    schema: StructType,
    options: BaseFileOptions = BaseFileOptions()
) {
  private[this] val file   = new CountedFile(HadoopOutputFile.fromPath(path, conf))
  private[this] val writer = new RowParquetWriter(conf, file, Some(path.getName), schema, options)
  private[this] var rows   = 0L

  /** @param row not kept, so it may be reused */
  def write(row: InternalRow): Unit = {
    writer.write(row)
    rows += 1
  }

  /** Bytes so far: those written, and those in memory before compression. */
  def estimatedBytes: Long = writer.estimatedBytes

  /** Ends the file. */
  def close(): BaseFileWritten = {
    writer.close()
    BaseFileWritten(file.sizeBytes, rows, writer.keys.minKey, writer.keys.maxKey, writer.keys.isSorted)
  }

  /** Gives the file up and removes what is there of it. Never throws: it is called where something failed before. */
  def abort(): Unit = {
    try writer.close()
    catch { case NonFatal(_) => () }
    try { path.getFileSystem(conf).delete(path, false); () }
    catch { case _: IOException => () }
  }
}

/**
 * Rows into any Parquet output: a base file, or the content of a log block.
 *
 * @param fileName what the footer says when the rows are sorted; nothing without it
 */
private[table] final class RowParquetWriter(
    conf: Configuration,
    file: OutputFile,
    fileName: Option[String],
    schema: StructType,
    options: BaseFileOptions
) {
  val keys: KeyTracker = new KeyTracker(
    schema.fieldNames.indexOf(MetaColumns.RecordKey),
    fileName,
    options.bloomFilter.map { case (expectedKeys, rate) => BloomFilter.sized(expectedKeys, rate) }
  )

  private[this] val writer: ParquetWriter[InternalRow] = new RowParquetWriter.Builder(file,
    new RowWriteSupport(schema, keys))
    .withConf(conf)
    .withCompressionCodec(CompressionCodecName.valueOf(options.codec.toUpperCase(Locale.ROOT)))
    .withRowGroupSize(options.rowGroupBytes)
    .withPageSize(options.pageBytes)
    .withDictionaryEncoding(options.dictionary)
    // No two values are the same: Parquet would find that out page by page and throw the dictionary away.
    .withDictionaryEncoding(MetaColumns.RecordKey, false)
    .withDictionaryEncoding(MetaColumns.CommitSeqno, false)
    .build()

  def write(row: InternalRow): Unit = writer.write(row)

  def estimatedBytes: Long = writer.getDataSize

  def close(): Unit = writer.close()
}

private object RowParquetWriter {

  final class Builder(file: OutputFile, support: WriteSupport[InternalRow])
      extends ParquetWriter.Builder[InternalRow, Builder](file) {
    override protected def self(): Builder                                                 = this
    override protected def getWriteSupport(conf: Configuration): WriteSupport[InternalRow] = support
  }
}

/** Remembers how long the file became, so that nobody has to ask the store. */
private final class CountedFile(file: OutputFile) extends OutputFile {
  private[this] var size = 0L

  def sizeBytes: Long = size

  override def create(blockSizeHint: Long): PositionOutputStream = counted(file.create(blockSizeHint))
  override def createOrOverwrite(blockSizeHint: Long): PositionOutputStream =
    counted(file.createOrOverwrite(blockSizeHint))
  override def supportsBlockSize: Boolean = file.supportsBlockSize
  override def defaultBlockSize: Long     = file.defaultBlockSize
  override def getPath: String            = file.getPath

  private def counted(out: PositionOutputStream): PositionOutputStream = new PositionOutputStream {
    override def getPos: Long                                          = out.getPos
    override def write(b: Int): Unit                                   = out.write(b)
    override def write(b: Array[Byte], offset: Int, length: Int): Unit = out.write(b, offset, length)
    override def flush(): Unit                                         = out.flush()
    override def close(): Unit = {
      size = out.getPos
      out.close()
    }
  }
}
