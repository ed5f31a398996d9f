package io.merganser.table.base

import io.merganser.table.schema.MetaColumns
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto.EncryptionPropertiesFactory
import org.apache.parquet.hadoop.ParquetWriter
import org.apache.parquet.hadoop.metadata.BlockMetaData
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import java.util.Locale
import scala.collection.JavaConverters._

/** A base file whose bytes may be part of the file that replaces it. */
final class ReplacedFile private (conf: Configuration, path: Path, sizeBytes: Long, footer: BaseFileFooter) {

  private[table] def groupCount: Int = footer.metadata.getBlocks.size

  private[table] def rowCount(group: Int): Long = footer.metadata.getBlocks.get(group).getRowCount

  /** The smallest record key; None if the footer does not have it. */
  private[table] def minKey: Option[String] = footer.minKey

  /** Whether its row groups are not small ones in a file that is larger. */
  private[table] def fills(rowGroupBytes: Long): Boolean = sizeBytes / groupCount >= rowGroupBytes / 4

  /** Bounds of the record keys in a row group; None if the file does not have them. */
  private[table] def keyRange(group: Int): Option[(UTF8String, UTF8String)] = range(group, MetaColumns.RecordKey)

  /** Not earlier than any commit time in a row group; None if that is not known. */
  private[table] def lastCommit(group: Int): Option[UTF8String] = range(group, MetaColumns.CommitTime).map(_._2)

  private def range(group: Int, column: String): Option[(UTF8String, UTF8String)] =
    BaseFileFooter.statistics(footer.metadata.getBlocks.get(group), column).filter(_.getNumNulls == 0).map { found =>
      (UTF8String.fromBytes(found.getMinBytes), UTF8String.fromBytes(found.getMaxBytes))
    }

  /** The options to read one row group alone. */
  def readOptions(group: Int): BaseReadOptions = BaseReadOptions(known = Some(footer.only(group)))

  private[base] def bytesOf(group: Int): Long = footer.metadata.getBlocks.get(group).getCompressedSize

  private[base] def chunks(): ChunkSource =
    new ChunkSource(conf, HadoopInputFile.fromStatus(BaseFileFooter.status(path, sizeBytes), conf))

  /** Reads some columns of one row group. */
  private[table] def reader(group: Int, columns: StructType): BaseFileReader =
    new BaseFileReader(conf, path, sizeBytes, columns, readOptions(group))
}

object ReplacedFile {

  /** Row groups that lose rows shrink. Where they have fewer bytes than this, they are written again as fewer. */
  private val SmallestGroup = 4L << 20

  /**
   * @param footer  of the file
   * @param schema  the columns of the new file
   * @param options of the new file
   * @return None if it is a small file, or if other bytes would be written for the same rows: the file is not one of
   *         ours in key order, it has other columns or types, another codec, row groups that are much larger or
   *         smaller, or is encrypted
   */
  def of(
      conf: Configuration,
      path: Path,
      sizeBytes: Long,
      footer: BaseFileFooter,
      schema: StructType,
      options: BaseFileOptions
  ): Option[ReplacedFile] =
    if (sizeBytes < options.copiesFromBytes || !isOurs(conf, footer)) None
    else if (footer.schema != BaseFileSchema.toParquet(schema)) None
    else {
      val groups = footer.metadata.getBlocks.asScala
      val isFull = groups.size <= 1 || sizeBytes / groups.size >= math.min(options.rowGroupBytes / 8, SmallestGroup)
      if (groups.isEmpty || !isFull || !groups.forall(isPlain(_, options))) None
      else Some(new ReplacedFile(conf, path, sizeBytes, footer))
    }

  /** Whether we wrote the file, of rows in key order and not encrypted, and write such a file now. */
  private def isOurs(conf: Configuration, footer: BaseFileFooter): Boolean =
    footer.isSorted && footer.keyValues.get(ParquetWriter.OBJECT_MODEL_NAME_PROP).contains(RowWriteSupport.Name) &&
      !FooterChecksum.isCopied(footer.keyValues.asJava) && footer.metadata.getFileMetaData.getFileDecryptor == null &&
      conf.get(EncryptionPropertiesFactory.CRYPTO_FACTORY_CLASS_PROPERTY_NAME) == null

  private def isPlain(group: BlockMetaData, options: BaseFileOptions): Boolean =
    group.getRowCount > 0 && group.getCompressedSize / 2 <= options.rowGroupBytes + SmallestGroup &&
      group.getColumns.asScala.forall { chunk =>
        chunk.getCodec.name == options.codec.toUpperCase(Locale.ROOT) && chunk.getBloomFilterOffset < 0
      }
}
