package io.merganser.table.log

import io.merganser.table.avro.{AvroOutput, AvroRowWriter, AvroSchemas}
import io.merganser.table.base.{BaseFileOptions, RowParquetWriter}
import io.merganser.table.file.FileNames
import io.merganser.table.storage.Storage
import io.merganser.table.log.LogFormat.{BlockType, Header}
import org.apache.avro.Schema
import org.apache.hadoop.fs.{FSDataOutputStream, Path}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import java.io.{ByteArrayOutputStream, DataOutputStream, IOException, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import scala.collection.mutable.ArrayBuffer
import scala.util.control.NonFatal

/**
 * How log blocks are written.
 *
 * @param parquetAboveRows rows beyond which a data block is Parquet, which readers project, and not Avro
 * @param maxBlockBytes    content beyond which a block is followed by another
 * @param codec            Parquet's name of the compression
 * @param maxFileBytes     bytes after which a file is followed by another
 */
final case class LogOptions(
    parquetAboveRows: Int = 1000,
    maxBlockBytes: Int = 128 * 1024 * 1024,
    codec: String = "snappy",
    maxFileBytes: Long = 1L << 30
)

/**
 * What was written.
 *
 * @param name      the file's, without its folders
 * @param sizeBytes 0 if no block was written, and then there is no file
 * @param records   rows in data blocks
 * @param deletes   entries of delete blocks
 */
final case class LogWritten(name: String, sizeBytes: Long, blocks: Int, records: Long, deletes: Long)

/**
 * Writes the log of one delta commit, block by block, into one file or, where that is full, into several with numbers that
 * follow each other. A file is created with its first block.
 *
 * @param tableName   names the record in the blocks' schemas
 * @param nameInstant the instant in the file's name: from version 8 on the delta commit's, in version 6 the slice's base
 * @param instant     requested time of the delta commit, which every block carries
 * @param version     the first file's number, larger than those of the files of that name that are there
 * @param schema      the table's columns, the meta columns first; delete blocks carry it
 * @param announce    called with the name of each file before it is created
 */
final class LogWriter(
    storage: Storage,
    tableName: String,
    partitionPath: String,
    fileId: String,
    nameInstant: String,
    instant: String,
    version: Int,
    writeToken: String,
    schema: StructType,
    options: LogOptions = LogOptions(),
    announce: String => Unit = _ => ()
) {
  private[this] val ended                   = ArrayBuffer.empty[LogWritten]
  private[this] var out: FSDataOutputStream = _
  private[this] var size                    = 0L
  private[this] var blocks                  = 0
  private[this] var records                 = 0L
  private[this] var deletes                 = 0L

  /** The last file, without its folders. */
  def name: String = FileNames.log(fileId, nameInstant, version + ended.size, writeToken)

  /** Files before the last one. */
  def earlier: Seq[LogWritten] = ended.toList

  /** Bytes of the last file so far: where the next block begins, unless it is full. */
  def sizeBytes: Long = size

  /** Writes rows of all columns; none, if there are none. Their `_hoodie_file_name` is the file id. */
  def dataBlock(rows: Iterator[InternalRow]): Unit =
    dataBlock(schema, AvroSchemas.toAvro(schema, tableName), rows, isPartial = false)

  /**
   * Writes rows that carry some of the columns: the others are left as they are by the merge.
   *
   * @param columns the rows' columns, the meta columns first; an ordering field that is not among them is left as it is
   *                too, but other engines cannot merge such a block under event-time ordering
   * @param inserts whether a row is inserted, with nulls in the other columns, where its key is not stored; otherwise it
   *                is then nothing, as it is to other engines
   */
  def partialBlock(columns: StructType, rows: Iterator[InternalRow], inserts: Boolean = false): Unit = {
    val avroSchema = AvroSchemas.toAvro(columns, tableName)
    if (inserts) PartialRecords.markInserting(avroSchema)
    dataBlock(columns, avroSchema, rows, isPartial = true)
  }

  /**
   * Writes deletes. Those with an ordering value and those without go to blocks of their own, in the order given.
   *
   * @param orderingFields the table's ordering fields with their types, in property order
   */
  def deleteBlock(entries: Iterator[LogDelete], orderingFields: StructType): Unit = {
    val types     = orderingFields.fields.map(_.dataType)
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
      DeleteRecords.encode(entry, types, items)
      count += 1
      if (items.size >= options.maxBlockBytes - LogWriter.SlackBytes) finish()
    }
    finish()
  }

  /** Ends the last file. */
  def close(): LogWritten = {
    if (out != null) out.close()
    LogWritten(name, size, blocks, records, deletes)
  }

  /** Gives the files up and removes what is there of them. Never throws: it is called where something failed before. */
  def abort(): Unit = {
    if (out != null) {
      try out.close()
      catch { case NonFatal(_) => () }
      remove(name)
    }
    ended.foreach(file => remove(file.name))
  }

  private def path(file: String): Path = storage.path(FileNames.path(partitionPath, file))

  private def remove(file: String): Unit =
    try { storage.fs.delete(path(file), false); () }
    catch { case _: IOException => () }

  private def endFull(): Unit = {
    ended += close()
    out = null
    size = 0
    blocks = 0
    records = 0
    deletes = 0
  }

  private def dataBlock(
      columns: StructType,
      avroSchema: Schema,
      rows: Iterator[InternalRow],
      isPartial: Boolean
  ): Unit = {
    val header =
      Seq(Header.InstantTime -> instant, Header.Schema -> avroSchema.toString) ++ (if (isPartial)
                                                                                     Seq(Header.IsPartial -> "true")
                                                                                   else Nil)
    val first = ArrayBuffer.empty[InternalRow]
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
          // Half of the rows that would fit, so that growing rows do not run past the end.
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
    val header = Seq(Header.InstantTime -> instant, Header.Schema -> avroSchema.toString)
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

  private def block(
      blockType: Int,
      header: Seq[(Int, String)],
      contentLength: Long
  )(content: OutputStream => Unit): Unit = {
    val head = new ByteArrayOutputStream()
    val map  = new DataOutputStream(head)
    map.writeInt(header.size)
    header.foreach { case (key, value) =>
      val bytes = value.getBytes(UTF_8)
      map.writeInt(key)
      map.writeInt(bytes.length)
      map.write(bytes)
    }
    val length = 4L + 4L + head.size + 8L + contentLength + 4L + 8L
    if (size >= options.maxFileBytes) endFull()
    if (out == null) {
      announce(name)
      out = storage.fs.create(path(name), false)
    }
    out.write(LogFormat.Magic)
    out.writeLong(length)
    out.writeInt(LogFormat.Version)
    out.writeInt(blockType)
    head.writeTo(out)
    out.writeLong(contentLength)
    content(out)
    out.writeInt(0)
    out.writeLong(length + LogFormat.Magic.length)
    size += LogFormat.PrefixBytes + length
    blocks += 1
  }
}

private object LogWriter {

  /** Row groups of a block: small, since a block's content is gathered in memory. */
  private val RowGroupBytes = 32 * 1024 * 1024
  private val FirstCheck    = 100L

  /** Room for the largest delete entry to come: keys are not that long. */
  private val SlackBytes = 1024 * 1024
}
