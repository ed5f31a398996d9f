// Hot path: one call per row.
package io.merganser.table.base

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.column.{ColumnDescriptor, ColumnWriteStore, ColumnWriter, ParquetProperties}
import org.apache.parquet.hadoop.api.WriteSupport
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.hadoop.{
  CodecFactory,
  ColumnChunkPageWriteStore,
  ParquetFileWriter,
  ParquetOutputFormat,
  ParquetWriter
}
import org.apache.parquet.io.api.RecordConsumer
import org.apache.parquet.io.{ColumnIOFactory, OutputFile}
import org.apache.parquet.schema.MessageType
import org.apache.spark.sql.catalyst.InternalRow

import java.util.HashMap
import scala.collection.JavaConverters._

/**
 * Writes rows as a Parquet file, one row group after the other, by the public parts of Parquet's own writer. That one
 * has no way to choose encodings, and tracks levels of nesting for columns that have none.
 *
 * @param rowGroupBytes encoded size of a row group, buffered in memory, in bytes
 * @param properties    sizes and encodings of pages
 * @param repeated      string columns whose rows have the same value again and again; see [[RunColumn]]
 */
private[base] final class RowGroupWriter(
    conf: Configuration,
    file: OutputFile,
    support: WriteSupport[InternalRow],
    codec: CompressionCodecName,
    rowGroupBytes: Long,
    properties: ParquetProperties,
    repeated: Set[String] = Set.empty
) {
  private[this] val context = support.init(conf)
  private[this] val schema  = context.getSchema
  private[this] val isFlat  = schema.getFields.asScala.forall(_.isPrimitive)
  private[this] val byRuns =
    if (!isFlat) Set.empty[ColumnDescriptor]
    else schema.getColumns.asScala.filter(c => repeated(c.getPath.head) && properties.isDictionaryEnabled(c)).toSet
  private[this] val codecs = new CodecFactory(conf, properties.getPageSizeThreshold)

  private[this] val output = {
    val encryption = ParquetOutputFormat.createEncryptionProperties(conf,
      Option(file.getPath).map(new Path(_)).orNull, context)
    new ParquetFileWriter(file, schema, ParquetFileWriter.Mode.CREATE, rowGroupBytes,
      ParquetWriter.MAX_PADDING_SIZE_DEFAULT, properties.getColumnIndexTruncateLength,
      properties.getStatisticsTruncateLength, properties.getPageWriteChecksumEnabled, encryption)
  }
  output.start()

  private[this] var pages: ColumnChunkPageWriteStore = _
  private[this] var columns: ColumnWriteStore        = _
  private[this] var runs                             = Seq.empty[RunColumn]
  private[this] var consumer: RecordConsumer         = _
  private[this] var groupCount                       = 0
  private[this] var rows                             = 0L // of the row group
  private[this] var check                            = properties.getMinRowCountForPageSizeCheck.toLong
  private[this] var bytesLimit                       = rowGroupBytes
  private[this] var written                          = 0L // bytes of complete row groups
  private[this] var isOpen                           = true
  private[this] var isBroken                         = false

  beginGroup()

  /** @param row not retained */
  def write(row: InternalRow): Unit =
    try {
      support.write(row)
      rows += 1
      if (rows >= check) endFullGroup()
    } catch {
      case failure: Throwable =>
        isBroken = true
        throw failure
    }

  /** Bytes so far: written ones, and buffered ones before compression. */
  def estimatedBytes: Long = if (columns == null) written else written + bufferedBytes

  private def bufferedBytes: Long = columns.getBufferedSize + runs.iterator.map(_.getBufferedSizeInMemory).sum

  /** Ends the file, unless a row was written in part. */
  def close(): Unit = if (isOpen) {
    isOpen = false
    try
      if (!isBroken) {
        endGroup()
        val last    = support.finalizeWrite()
        val entries = new HashMap[String, String](context.getExtraMetaData)
        Option(support.getName).foreach(entries.put(ParquetWriter.OBJECT_MODEL_NAME_PROP, _))
        entries.putAll(last.getExtraMetaData)
        output.end(entries)
      }
    finally codecs.release()
  }

  private def beginGroup(): Unit = {
    pages = new ColumnChunkPageWriteStore(codecs.getCompressor(codec), schema, properties.getAllocator,
      properties.getColumnIndexTruncateLength, properties.getPageWriteChecksumEnabled, output.getEncryptor, groupCount)
    if (isFlat) beginColumns()
    else {
      columns = properties.newColumnWriteStore(schema, pages, pages)
      consumer = new ColumnIOFactory(false).getColumnIO(schema).getRecordWriter(columns)
    }
    support.prepareForWrite(consumer)
  }

  private def beginColumns(): Unit = {
    val all    = schema.getColumns.asScala.toArray
    val others = schema.getFields.asScala.filterNot(field => byRuns.exists(_.getPath.head == field.getName))
    columns = properties.newColumnWriteStore(new MessageType(schema.getName, others.asJava), pages, pages)
    val writers: Array[ColumnWriter] = all.map(column =>
      if (byRuns(column)) new RunColumn(column, pages.getPageWriter(column), properties)
      else columns.getColumnWriter(column))
    runs = writers.toSeq.collect { case run: RunColumn => run }
    consumer = new FlatRowConsumer(writers, all.map(_.getMaxDefinitionLevel), columns)
  }

  /** Ends the row group if two more rows might not fit; else sets the row before which that is checked again. */
  private def endFullGroup(): Unit = {
    val bytes    = bufferedBytes
    val rowBytes = bytes / rows
    val (least, most) =
      (properties.getMinRowCountForPageSizeCheck.toLong, properties.getMaxRowCountForPageSizeCheck.toLong)
    if (bytes > bytesLimit - 2 * rowBytes) {
      check = least
      endGroup()
      beginGroup()
    } else {
      check = math.min(math.max(least, (rows + bytesLimit / math.max(1L, rowBytes)) / 2), rows + most)
    }
  }

  private def endGroup(): Unit = {
    consumer.flush()
    if (rows > 0) {
      if (groupCount == Short.MaxValue) throw new IllegalStateException(s"${file.getPath} has $groupCount row groups")
      groupCount += 1
      output.startBlock(rows)
      columns.flush()
      runs.foreach(_.flush())
      pages.flushToFileWriter(output)
      output.endBlock()
      rows = 0L
      written = output.getPos
      bytesLimit = math.min(output.getNextRowGroupSize, rowGroupBytes)
    }
    columns.close()
    runs.foreach(_.close())
    columns = null
  }
}
