package io.merganser.table.base

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData, ColumnPath}
import org.apache.parquet.hadoop.{ParquetFileReader, ParquetFileWriter}
import org.apache.parquet.io.InputFile

import java.io.Closeable
import scala.collection.JavaConverters._

/** A Parquet file out of which column chunks are copied as bytes, with their statistics and indexes. */
private[base] final class ChunkSource(conf: Configuration, file: InputFile) extends Closeable {
  private[this] val reader = ParquetFileReader.open(file, HadoopReadOptions.builder(conf).build())
  private[this] val bytes =
    try file.newStream()
    catch {
      case e: Throwable =>
        reader.close()
        throw e
    }

  val rowGroups: IndexedSeq[BlockMetaData] = reader.getFooter.getBlocks.asScala.toIndexedSeq
  private[this] val chunks: IndexedSeq[Map[ColumnPath, ColumnChunkMetaData]] =
    rowGroups.map(_.getColumns.asScala.map(chunk => chunk.getPath -> chunk).toMap)

  /** Copies the chunk of a column in a row group to the current row group of a writer. */
  def copy(group: Int, column: ColumnDescriptor, to: ParquetFileWriter): Unit = {
    val chunk = chunks(group)(ColumnPath.get(column.getPath: _*))
    to.appendColumnChunk(column, bytes, chunk, null, reader.readColumnIndex(chunk), reader.readOffsetIndex(chunk))
  }

  override def close(): Unit =
    try reader.close()
    finally bytes.close()
}
