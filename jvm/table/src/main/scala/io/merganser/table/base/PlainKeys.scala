// Hot path: one call per row.
package io.merganser.table.base

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.bytes.BytesInput
import org.apache.parquet.compression.CompressionCodecFactory
import org.apache.parquet.compression.CompressionCodecFactory.BytesInputDecompressor
import org.apache.parquet.column.ParquetProperties
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.format.{Encoding => PageEncoding, PageHeader, PageType, Util}
import org.apache.parquet.hadoop.CodecFactory
import org.apache.parquet.hadoop.metadata.{ColumnChunkMetaData, ColumnPath, ParquetMetadata}
import org.apache.parquet.io.SeekableInputStream
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.spark.sql.types.{Decimal, StringType}
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarArray, ColumnarMap}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

import java.io.{ByteArrayInputStream, Closeable, IOException}
import java.nio.ByteOrder
import java.util.zip.CRC32
import scala.collection.JavaConverters._

/**
 * The record keys of one batch of rows after another, where they are in the pages of a base file: Spark's reader would
 * copy each of them.
 *
 * @param input    of the file; closed with the column
 * @param chunks   those of [[PlainKeys.chunksIn]]
 * @param isOptional whether pages have definition levels
 * @param capacity the largest number of rows of a batch
 */
private[base] final class PlainKeys(
    conf: Configuration,
    input: SeekableInputStream,
    chunks: Iterator[ColumnChunkMetaData],
    isOptional: Boolean,
    capacity: Int
) extends ColumnVector(StringType) with Closeable {
  import PlainKeys._

  private[this] val codecs: CompressionCodecFactory      = new CodecFactory(conf, ParquetProperties.DEFAULT_PAGE_SIZE)
  private[this] var decompressor: BytesInputDecompressor = _
  private[this] var chunk                                = new Bytes(Array.emptyByteArray)
  private[this] var page                                 = Array.emptyByteArray
  private[this] var position                             = 0
  private[this] var left                                 = 0 // values of the page that follow

  // Of the batch's rows.
  private[this] val pages   = new Array[Array[Byte]](capacity)
  private[this] val offsets = new Array[Int](capacity)
  private[this] val lengths = new Array[Int](capacity)

  /** Moves on to the next rows. */
  def next(rows: Int): Unit = {
    var i = 0
    while (i < rows) {
      while (left == 0) nextPage()
      val until = i + Math.min(rows - i, left)
      left -= until - i
      locate(i, until)
      i = until
    }
  }

  private def locate(from: Int, until: Int): Unit = {
    val bytes = page
    val end   = bytes.length
    var at    = position
    var i     = from
    while (i < until) {
      val length = if (at <= end - 4) int(bytes, at) else -1
      at += 4
      if (length < 0 || length > end - at) throw new IOException("a page of record keys is cut short")
      pages(i) = bytes
      offsets(i) = at
      lengths(i) = length
      at += length
      i += 1
    }
    position = at
  }

  private def nextPage(): Unit = {
    if (chunk.available == 0) nextChunk()
    val header = Util.readPageHeader(chunk)
    val start  = chunk.position
    val length = header.getCompressed_page_size
    if (length < 0 || chunk.skip(length.toLong) != length) throw new IOException("a page of record keys is cut short")
    if (header.isSetCrc) {
      val crc = new CRC32
      crc.update(chunk.array, start, length)
      if (crc.getValue.toInt != header.getCrc) throw new IOException("the checksum of a page of record keys differs")
    }
    header.getType match {
      case PageType.DATA_PAGE    => take(header, start, length)
      case PageType.DATA_PAGE_V2 => takeV2(header, start, length)
      case _                     => ()
    }
  }

  private def nextChunk(): Unit = {
    if (!chunks.hasNext) throw new IOException("there are fewer record keys than rows")
    val next  = chunks.next()
    val bytes = new Array[Byte](Math.toIntExact(next.getTotalSize))
    input.seek(next.getStartingPos)
    input.readFully(bytes)
    chunk = new Bytes(bytes)
    decompressor = codecs.getDecompressor(next.getCodec)
  }

  private def take(header: PageHeader, start: Int, length: Int): Unit = {
    val values = header.getData_page_header
    require(values.getEncoding, values.getNum_values)
    if (isOptional && values.getDefinition_level_encoding != PageEncoding.RLE)
      throw new IOException(s"definition levels of record keys are ${values.getDefinition_level_encoding}")
    page = decompressed(start, length, header.getUncompressed_page_size)
    position = if (!isOptional) 0 else if (page.length < 4) -1 else int(page, 0) + 4
    if (position < 0 || position > page.length) throw new IOException("a page of record keys is cut short")
    left = values.getNum_values
  }

  private def takeV2(header: PageHeader, start: Int, length: Int): Unit = {
    val values = header.getData_page_header_v2
    require(values.getEncoding, values.getNum_values)
    val levels = values.getDefinition_levels_byte_length + values.getRepetition_levels_byte_length
    if (levels < 0 || levels > length || values.getNum_nulls != 0)
      throw new IOException("a page of record keys has other levels than its column")
    page =
      if (values.isIs_compressed)
        decompressed(start + levels, length - levels, header.getUncompressed_page_size - levels)
      else java.util.Arrays.copyOfRange(chunk.array, start + levels, start + length)
    position = 0
    left = values.getNum_values
  }

  private def require(encoding: PageEncoding, values: Int): Unit =
    if (encoding != PageEncoding.PLAIN || values < 0)
      throw new IOException(s"a page of record keys has $values values as $encoding")

  private def decompressed(start: Int, length: Int, size: Int): Array[Byte] =
    decompressor.decompress(BytesInput.from(chunk.array, start, length), size).toByteArray

  override def getUTF8String(i: Int): UTF8String = UTF8String.fromBytes(pages(i), offsets(i), lengths(i))
  override def getBinary(i: Int): Array[Byte]    = getUTF8String(i).getBytes
  override def isNullAt(i: Int): Boolean         = false
  override def hasNull: Boolean                  = false
  override def numNulls: Int                     = 0

  override def close(): Unit = {
    codecs.release()
    input.close()
  }

  override def getBoolean(i: Int): Boolean                             = throw noString
  override def getByte(i: Int): Byte                                   = throw noString
  override def getShort(i: Int): Short                                 = throw noString
  override def getInt(i: Int): Int                                     = throw noString
  override def getLong(i: Int): Long                                   = throw noString
  override def getFloat(i: Int): Float                                 = throw noString
  override def getDouble(i: Int): Double                               = throw noString
  override def getArray(i: Int): ColumnarArray                         = throw noString
  override def getMap(i: Int): ColumnarMap                             = throw noString
  override def getDecimal(i: Int, precision: Int, scale: Int): Decimal = throw noString
  override def getChild(ordinal: Int): ColumnVector                    = throw noString

  private def noString = new UnsupportedOperationException("record keys are strings")
}

private[base] object PlainKeys {
  private val Usual          = Set("PLAIN", "RLE", "BIT_PACKED") // of values and levels
  private val isLittleEndian = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN

  /** The column's chunks, if all pages have strings without a dictionary, and none is null; otherwise None. */
  def chunksIn(file: ParquetMetadata, column: String): Option[Seq[ColumnChunkMetaData]] = {
    val path     = ColumnPath.get(column)
    val isHidden = file.getFileMetaData.getFileDecryptor != null
    def isPlain(chunk: ColumnChunkMetaData) = {
      val values: Statistics[_] = chunk.getStatistics
      chunk.getPrimitiveType.getPrimitiveTypeName == PrimitiveTypeName.BINARY &&
      chunk.getTotalSize <= Int.MaxValue - 16 &&
      chunk.getEncodings.asScala.forall(encoding => Usual(encoding.name)) &&
      values != null && values.isNumNullsSet && values.getNumNulls == 0
    }
    val chunks = file.getBlocks.asScala.toSeq.flatMap(_.getColumns.asScala.find(c => !isHidden && c.getPath == path))
    Some(chunks).filter(found => found.size == file.getBlocks.size && found.forall(isPlain))
  }

  private def int(bytes: Array[Byte], at: Int): Int = {
    val value = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + at)
    if (isLittleEndian) value else Integer.reverseBytes(value)
  }

  /** A stream of an array, with its position. */
  private final class Bytes(val array: Array[Byte]) extends ByteArrayInputStream(array) {
    def position: Int = pos
  }
}
