package io.merganser.table.base

import java.io.{EOFException, IOException}
import java.util.Collections

import io.merganser.merge.MerganserException
import io.merganser.table.storage.Parallel
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.io.SeekableInputStream
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

  /** The footer of a file that has only one of the row groups. */
  private[base] def only(group: Int): BaseFileFooter = {
    val groups = Collections.singletonList(metadata.getBlocks.get(group))
    new BaseFileFooter(fileName, new ParquetMetadata(metadata.getFileMetaData, groups))
  }

  /** Smallest record key, if the writer recorded it. A footer copied from another file is not detected. */
  def minKey: Option[String] = keyValues.get(BaseFileFooter.MinKey)

  def maxKey: Option[String] = keyValues.get(BaseFileFooter.MaxKey)

  /** Whether the file may retain deletes of keys that have no row in it. */
  def retainsDeletes: Boolean = keyValues.contains(BaseFileFooter.Tombstones)

  /** The Bloom filter of the record keys, as stored. */
  def bloomFilter: Option[String] = keyValues.get(BaseFileFooter.BloomFilterText)

  /**
   * True if the rows are sorted by the unsigned UTF-8 bytes of the record key. The entry is the file name, so that a
   * copied footer is ignored.
   */
  def isSorted: Boolean = keyValues.get(BaseFileFooter.SortedByKey).contains(fileName)

  /** True if no two rows have the same record key; false also where that is not known. */
  def hasDistinctKeys: Boolean = keyValues.get(BaseFileFooter.DistinctKeys).contains(fileName)
}

object BaseFileFooter {
  val MinKey          = "hoodie_min_record_key"
  val MaxKey          = "hoodie_max_record_key"
  val SortedByKey     = "merganser.sorted.by.key"
  val DistinctKeys    = "merganser.distinct.keys"
  val Tombstones      = "merganser.tombstones"
  val RecentRows      = "merganser.recent.rows"
  val RecentRowsAfter = "merganser.recent.rows.after"
  val BloomFilterText = "org.apache.hudi.bloomfilter"

  /**
   * @throws java.io.FileNotFoundException if the file is gone
   * @throws io.merganser.merge.MerganserException BASE_FILE_UNREADABLE if it is not a Parquet file, a truncated one, or
   * one whose footer has another checksum than its own entry
   */
  def read(conf: Configuration, path: Path): BaseFileFooter = read(conf, HadoopInputFile.fromPath(path, conf), path)

  /** The same, without a storage call for the file's size. */
  def read(conf: Configuration, path: Path, sizeBytes: Long): BaseFileFooter =
    read(conf, HadoopInputFile.fromStatus(status(path, sizeBytes), conf), path)

  /** Those of files with their sizes in bytes, read in parallel. */
  def readAll(conf: Configuration, files: Seq[(Path, Long)]): Seq[BaseFileFooter] =
    Parallel.map(files) { case (path, sizeBytes) => read(conf, path, sizeBytes) }

  /** What the footer has of a column's values in a row group; None if it has nothing, or they are all null. */
  private[table] def statistics(rows: BlockMetaData, column: String): Option[Statistics[_]] =
    rows.getColumns.asScala.find(_.getPath.toDotString == column).map(_.getStatistics: Statistics[_])
      .filter(found => found != null && found.hasNonNullValue)

  /** The position in the file by which a row group belongs to a range of bytes. */
  private[table] def middle(rows: BlockMetaData): Long = rows.getStartingPos + rows.getCompressedSize / 2

  private[base] def status(path: Path, sizeBytes: Long): FileStatus =
    new FileStatus(sizeBytes, false, 1, sizeBytes, 0L, path)

  /** The same, and the file, which stays open. */
  def open(conf: Configuration, path: Path, sizeBytes: Long): (BaseFileFooter, SeekableInputStream) =
    open(conf, HadoopInputFile.fromStatus(status(path, sizeBytes), conf), path)

  private def read(conf: Configuration, file: HadoopInputFile, path: Path): BaseFileFooter = {
    val (footer, input) = open(conf, file, path)
    input.close()
    footer
  }

  private def open(conf: Configuration, file: HadoopInputFile, path: Path): (BaseFileFooter, SeekableInputStream) = {
    val options = HadoopReadOptions.builder(conf, path).build()
    named(path, file.getLength) {
      val stream = file.newStream()
      try {
        val input    = new FooterInput(stream)
        val metadata = ParquetFileReader.readFooter(file, options, input)
        if (!FooterChecksum.isCopied(metadata.getFileMetaData.getKeyValueMetaData))
          FooterChecksum.check(input.lastBuffer)
        (checked(new BaseFileFooter(path.getName, metadata), file.getLength), stream)
      } catch { case e: Throwable => stream.close(); throw e }
    }
  }

  /** The footer, if its column chunks and their pages are in the file. */
  private def checked(footer: BaseFileFooter, sizeBytes: Long): BaseFileFooter = {
    footer.metadata.getBlocks.asScala.foreach { rows =>
      if (rows.getRowCount < 0) throw new IllegalArgumentException(s"a row group has ${rows.getRowCount} rows")
      rows.getColumns.asScala.foreach { chunk =>
        val (start, length) = (chunk.getStartingPos, chunk.getTotalSize)
        if (start < 0 || length < 0 || start > sizeBytes || length > sizeBytes - start)
          throw new IllegalArgumentException(
            s"its column ${chunk.getPath.toDotString} has $length bytes at $start")
      }
    }
    footer
  }

  /**
   * Errors of damaged content with the file's name. Failures of the storage have classes of their own, and stay as they
   * are.
   *
   * @throws io.merganser.merge.MerganserException BASE_FILE_UNREADABLE
   */
  private[table] def named[T](path: Path, sizeBytes: Long)(read: => T): T =
    try read
    catch {
      case e @ (_: MerganserException | _: InterruptedException)                                 => throw e
      case e: IOException if e.getClass != classOf[IOException] && !e.isInstanceOf[EOFException] => throw e
      case e: Exception => throw unreadable(path, sizeBytes, e)
    }

  private def unreadable(path: Path, sizeBytes: Long, cause: Throwable): MerganserException =
    MerganserException("BASE_FILE_UNREADABLE", "file" -> path, "bytes" -> sizeBytes,
      "reason" -> Option(cause.getMessage).getOrElse(cause.toString))
      .causedBy(cause)
}
