package io.merganser.table.log

import io.merganser.table.avro.{AvroOutput, AvroRowWriter, AvroSchemas}
import io.merganser.table.base.{BaseFileOptions, RowParquetWriter}
import io.merganser.table.file.FileNames
import io.merganser.table.storage.{MemoryFile, Storage}
import io.merganser.table.log.LogFormat.{BlockType, Header}
import org.apache.avro.Schema
import org.apache.hadoop.fs.{FSDataOutputStream, Path}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import java.io.{IOException, OutputStream}
import java.util.zip.{CRC32, CheckedOutputStream}
import scala.collection.mutable.ArrayBuffer
import scala.util.control.NonFatal

/**
 * Settings of log blocks.
 *
 * @param parquetAboveRows a data block with more rows is Parquet, which readers can project; smaller ones are Avro
 * @param maxBlockBytes    content size after which a new block is started, in bytes
 * @param codec            Parquet's name of the compression codec
 * @param maxFileBytes     size after which a new file is started, in bytes
 */
final case class LogOptions(
    parquetAboveRows: Int = 1000,
    maxBlockBytes: Int = 128 * 1024 * 1024,
    codec: String = "snappy",
    maxFileBytes: Long = 1L << 30
)

/**
 * Names of the files of one log.
 *
 * @param instant from version 8 on the delta commit's, in version 6 the slice's
 * @param version the first file's number, greater than those of existing files of that name
 * @param suffix  of change files
 */
final case class LogNames(
    partitionPath: String,
    fileId: String,
    instant: String,
    version: Int,
    writeToken: String,
    suffix: String = ""
) {
  def apply(file: Int): String = FileNames.log(fileId, instant, version + file, writeToken) + suffix
}

/**
 * One written log file.
 *
 * @param name      file name without folders
 * @param sizeBytes 0 if no block was written; then there is no file
 * @param records   rows in data blocks
 * @param deletes   entries of delete blocks
 * @param checksums of its blocks, see [[BlockChecksum]]
 */
final case class LogWritten(
    name: String,
    sizeBytes: Long,
    blocks: Int,
    records: Long,
    deletes: Long,
    checksums: String = ""
)

/**
 * Writes the log of one delta commit, block by block, to one file, or as files fill up to several with consecutive
 * numbers. A file is created with its first block.
 *
 * @param tableName   names the record in the blocks' schemas
 * @param instant     requested time of the delta commit, in the header of every block
 * @param schema      the table's columns, meta columns first; also in the header of delete blocks
 * @param announce    called with the name of each file before it is created
 * @param compacted   for a log compaction, the instants whose blocks these replace
 */
final class LogWriter(
    storage: Storage,
    tableName: String,
    names: LogNames,
    instant: String,
    schema: StructType,
    options: LogOptions = LogOptions(),
    announce: String => Unit = _ => (),
    compacted: Seq[String] = Nil
) {
  private[this] val closed                  = ArrayBuffer.empty[LogWritten]
  private[this] var out: FSDataOutputStream = _
  private[this] var size                    = 0L
  private[this] var blocks                  = 0
  private[this] var records                 = 0L
  private[this] var deletes                 = 0L
  private[this] val checksums               = new StringBuilder

  /** Name of the last file, without folders. */
  def name: String = names(closed.size)

  /** Files before the last one. */
  def earlier: Seq[LogWritten] = closed.toList

  /** Size of the last file so far: offset of the next block, unless the file is full. */
  def sizeBytes: Long = size

  /** Writes rows with all columns, no block if there are none. Their `_hoodie_file_name` is the file id. */
  def dataBlock(rows: Iterator[InternalRow]): Unit =
    dataBlock(schema, AvroSchemas.toAvro(schema, tableName), rows, isPartial = false)

  /**
   * Writes partial rows: the merge does not change their other columns.
   *
   * @param columns the rows' columns, meta columns first. Ordering fields may be absent, but other engines cannot merge
   *                such a block under event-time ordering
   * @param inserts whether a row is inserted, with nulls in the other columns, if its key is not stored; otherwise such
   *                a row is ignored, as by other engines in any case
   */
  def partialBlock(columns: StructType, rows: Iterator[InternalRow], inserts: Boolean = false): Unit = {
    val avroSchema = AvroSchemas.toAvro(columns, tableName)
    if (inserts) PartialRecords.markInserting(avroSchema)
    dataBlock(columns, avroSchema, rows, isPartial = true)
  }

  /**
   * Writes deletes in order. Deletes with and without an ordering value go to separate blocks.
   *
   * @param orderingFields the table's ordering fields with their types, in property order
   */
  def deleteBlock(entries: Iterator[LogDelete], orderingFields: StructType): Unit = {
    val types     = orderingFields.fields.map(_.dataType)
    val isMillis  = DeleteRecords.areMillis(Some(AvroSchemas.toAvro(schema, tableName)), orderingFields)
    val items     = new AvroOutput()
    var count     = 0
    var isOrdered = false
    def finish(): Unit = if (count > 0) {
      deleteBlock(items, count, isOrdered)
      items.clear()
      count = 0
    }
    entries.foreach { entry =>
      val hasOrdering = entry.ordering != null && types.nonEmpty
      if (hasOrdering != isOrdered) finish()
      isOrdered = hasOrdering
      DeleteRecords.encode(entry, types, isMillis, items)
      count += 1
      if (items.size >= options.maxBlockBytes - LogWriter.SlackBytes) finish()
    }
    finish()
  }

  /** Writes a block that revokes those of another write in earlier files of the slice. */
  private[table] def rollbackBlock(target: String): Unit = {
    val header = Seq(Header.InstantTime -> instant, Header.TargetInstantTime -> target,
      Header.CommandType -> LogFormat.Rollback)
    block(BlockType.Command, header, 0L)(_ => ())
  }

  /**
   * Writes a block of changes.
   *
   * @param content version, count and records, as in an Avro data block
   */
  private[log] def changeBlock(avroSchema: Schema, content: AvroOutput, count: Int): Unit = {
    block(BlockType.Cdc, headerOf(avroSchema), content.size.toLong)(content.writeTo)
    records += count
  }

  /** Closes the last file. */
  def close(): LogWritten = {
    if (out != null) out.close()
    LogWritten(name, size, blocks, records, deletes, checksums.toString)
  }

  /** Closes and removes all files. Never throws, because it is called after a failure. */
  def abort(): Unit = {
    if (out != null) {
      try out.close()
      catch { case NonFatal(_) => () }
      remove(name)
    }
    closed.foreach(file => remove(file.name))
  }

  private def path(file: String): Path = storage.path(FileNames.path(names.partitionPath, file))

  private def remove(file: String): Unit =
    try { storage.fs.delete(path(file), false); () }
    catch { case _: IOException => () }

  private def closeFull(): Unit = {
    closed += close()
    out = null
    size = 0
    blocks = 0
    records = 0
    deletes = 0
    checksums.clear()
  }

  private def dataBlock(
      columns: StructType,
      avroSchema: Schema,
      rows: Iterator[InternalRow],
      isPartial: Boolean
  ): Unit = {
    val header = headerOf(avroSchema) ++ (if (isPartial) Seq(Header.IsPartial -> "true") else Nil)
    val first  = ArrayBuffer.empty[InternalRow]
    while (first.size <= options.parquetAboveRows && rows.hasNext) first += rows.next().copy()
    if (first.size <= options.parquetAboveRows) avroBlocks(columns, first, header)
    else parquetBlocks(columns, first.iterator ++ rows, header)
  }

  private def avroBlocks(columns: StructType, rows: ArrayBuffer[InternalRow], header: Seq[(Int, String)]): Unit = {
    val writer  = new AvroRowWriter(columns, AvroSchemas.toAvro(columns, tableName))
    val content = new AvroOutput()
    var next    = 0
    while (next < rows.size) {
      content.clear()
      content.writeBigEndian(LogFormat.ContentVersion)
      content.writeBigEndian(0)
      var count = 0
      var fits  = true
      while (fits && next < rows.size) {
        val start = content.size
        content.writeBigEndian(0)
        writer.write(rows(next), content)
        content.putBigEndian(start, content.size - start - 4)
        fits = count == 0 || content.size <= options.maxBlockBytes
        if (fits) {
          count += 1
          next += 1
        } else content.truncate(start)
      }
      content.putBigEndian(4, count)
      block(BlockType.Avro, header, content.size.toLong)(content.writeTo)
      records += count
    }
  }

  private def parquetBlocks(columns: StructType, rows: Iterator[InternalRow], header: Seq[(Int, String)]): Unit = {
    val rowGroupBytes = Math.min(LogWriter.RowGroupBytes, options.maxBlockBytes)
    val full          = options.maxBlockBytes.toLong - options.maxBlockBytes / 16
    while (rows.hasNext) {
      val content = new MemoryFile(name)
      val writer =
        new RowParquetWriter(storage.conf, content, None, columns, BaseFileOptions(options.codec, rowGroupBytes.toLong))
      var count  = 0L
      var check  = LogWriter.FirstCheck
      var isFull = false
      while (!isFull && rows.hasNext) {
        writer.write(rows.next())
        count += 1
        if (count >= check) {
          val bytes = writer.estimatedBytes
          isFull = bytes >= full
          // Half of the rows that would fit, so that growing rows do not exceed the limit.
          check = count + Math.max(1L, Math.min(10000L, (full - bytes) / Math.max(1L, bytes / count) / 2))
        }
      }
      writer.close()
      block(BlockType.Parquet, header, content.sizeBytes)(content.writeTo)
      records += count
    }
  }

  private def deleteBlock(items: AvroOutput, count: Int, isOrdered: Boolean): Unit = {
    val list = new AvroOutput(32)
    list.writeInt(count)
    val length     = list.size + items.size + 1
    val avroSchema = AvroSchemas.toAvro(schema, tableName)
    if (isOrdered) DeleteRecords.markOrdered(avroSchema)
    val header = headerOf(avroSchema)
    block(BlockType.Delete, header, 8L + length) { out =>
      val head = new AvroOutput(8)
      head.writeBigEndian(LogFormat.ContentVersion)
      head.writeBigEndian(length)
      head.writeTo(out)
      list.writeTo(out)
      items.writeTo(out)
      out.write(0)
    }
    deletes += count
  }

  private def headerOf(avroSchema: Schema): Seq[(Int, String)] =
    Seq(Header.InstantTime -> instant, Header.Schema -> avroSchema.toString) ++
      (if (compacted.isEmpty) Nil else Seq(Header.CompactedBlockTimes -> compacted.mkString(",")))

  private def block(
      blockType: Int,
      header: Seq[(Int, String)],
      contentLength: Long
  )(content: OutputStream => Unit): Unit = {
    val frame = LogFormat.frame(blockType, header, contentLength)
    if (size >= options.maxFileBytes) closeFull()
    if (out == null) {
      announce(name)
      out = storage.fs.create(path(name), false)
    }
    out.write(frame.head)
    val checked = new CheckedOutputStream(out, new CRC32)
    content(checked)
    checksums ++= BlockChecksum(frame.head, checked.getChecksum)
    out.write(frame.tail)
    size += frame.head.length + contentLength + frame.tail.length
    blocks += 1
  }
}

private object LogWriter {

  /** Size of a block's row groups, small because a block's content is buffered in memory. */
  private val RowGroupBytes = 32 * 1024 * 1024
  private val FirstCheck    = 100L

  /** Reserve for the next delete entry, more than any key's length. */
  private val SlackBytes = 1024 * 1024
}
