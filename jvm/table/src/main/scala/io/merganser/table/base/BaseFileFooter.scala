package io.merganser.table.base

import java.io.EOFException

import io.merganser.merge.MerganserException
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.ParquetMetadata
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.MessageType

import scala.collection.JavaConverters._

/**
 * The footer of a base file.
 *
 * @param fileName the file's name without folder
 * @param metadata Parquet's metadata: row groups, column chunks, statistics
 */
final class BaseFileFooter(val fileName: String, val metadata: ParquetMetadata) {

  def schema: MessageType = metadata.getFileMetaData.getSchema

  val keyValues: Map[String, String] = metadata.getFileMetaData.getKeyValueMetaData.asScala.toMap

  lazy val rowCount: Long = metadata.getBlocks.asScala.map(_.getRowCount).sum

  /** Smallest record key, if the writer recorded it. A footer copied from another file is not detected. */
  def minKey: Option[String] = keyValues.get(BaseFileFooter.MinKey)

  def maxKey: Option[String] = keyValues.get(BaseFileFooter.MaxKey)

  /** The Bloom filter of the record keys, as stored. */
  def bloomFilter: Option[String] = keyValues.get(BaseFileFooter.BloomFilterText)

  /**
   * True if the rows are sorted by the unsigned UTF-8 bytes of the record key. The entry is the file name, so that a
   * copied footer is ignored.
   */
  def isSorted: Boolean = keyValues.get(BaseFileFooter.SortedByKey).contains(fileName)
}

object BaseFileFooter {
  val MinKey          = "hoodie_min_record_key"
  val MaxKey          = "hoodie_max_record_key"
  val SortedByKey     = "merganser.sorted.by.key"
  val BloomFilterText = "org.apache.hudi.bloomfilter"

  /**
   * @throws java.io.FileNotFoundException if the file is gone
   * @throws io.merganser.merge.MerganserException BASE_FILE_UNREADABLE if it is not a Parquet file, or a truncated one
   */
  def read(conf: Configuration, path: Path): BaseFileFooter = read(conf, HadoopInputFile.fromPath(path, conf), path)

  /** The same, without a storage call for the file's size. */
  def read(conf: Configuration, path: Path, sizeBytes: Long): BaseFileFooter = {
    val status = new FileStatus(sizeBytes, false, 1, sizeBytes, 0L, path)
    read(conf, HadoopInputFile.fromStatus(status, conf), path)
  }

  private def read(conf: Configuration, file: HadoopInputFile, path: Path): BaseFileFooter = {
    val reader =
      try ParquetFileReader.open(file, HadoopReadOptions.builder(conf, path).build())
      catch {
        case e: RuntimeException => throw unreadable(path, file.getLength, e)
        case e: EOFException     => throw unreadable(path, file.getLength, e)
      }
    try new BaseFileFooter(path.getName, reader.getFooter)
    finally reader.close()
  }

  private def unreadable(path: Path, sizeBytes: Long, cause: Exception): MerganserException =
    MerganserException("BASE_FILE_UNREADABLE", "file" -> path, "bytes" -> sizeBytes,
      "reason" -> String.valueOf(cause.getMessage))
      .causedBy(cause)
}
