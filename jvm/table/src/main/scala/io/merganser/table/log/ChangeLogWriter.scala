// Hot path: one call per changed row.
package io.merganser.table.log

import io.merganser.table.avro.{AvroOutput, AvroRowWriter, AvroSchemas}
import io.merganser.table.file.FileNames
import io.merganser.table.options.ChangeLogging
import io.merganser.table.storage.Storage
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Writes the changes of one file group to its change file, block by block: Hudi's `.cdc` files. A row that is the same
 * before and after, apart from the commit metadata columns, is no change. The file exists also without changes, since
 * readers expect one for every base file that replaces another.
 *
 * @param columns  the table's data columns
 * @param rows     the columns of the rows that are put, the data columns among them
 * @param announce called with the name of each file before it is created
 */
final class ChangeLogWriter(
    storage: Storage,
    tableName: String,
    names: LogNames,
    mode: ChangeLogging,
    columns: StructType,
    rows: StructType,
    options: LogOptions,
    announce: String => Unit
) {
  private[this] val schema  = ChangeRecords.schema(mode, columns, tableName)
  private[this] val files   = new LogWriter(storage, tableName, names, names.instant, columns, options, announce)
  private[this] val row     = new AvroRowWriter(rows, AvroSchemas.toAvro(columns, tableName))
  private[this] val time    = UTF8String.fromString(names.instant)
  private[this] val content = new AvroOutput()
  private[this] val older   = new AvroOutput()
  private[this] val newer   = new AvroOutput()
  private[this] var count   = 0
  private[this] var blocks  = 0
  begin()

  /**
   * @param before the row before the write, or null
   * @param after  the row after it, or null
   */
  def put(key: UTF8String, before: InternalRow, after: InternalRow): Unit = {
    encode(before, older)
    encode(after, newer)
    if (before == null || after == null || !older.isEqualTo(newer)) {
      val operation =
        if (before == null) ChangeRecords.Insert else if (after == null) ChangeRecords.Delete else ChangeRecords.Update
      val start = content.size
      content.writeBigEndian(0)
      if (mode == ChangeLogging.KeyOnly) {
        string(operation, branch = 0)
        string(key, branch = 0)
      } else {
        string(operation, branch = 1)
        string(if (mode.after) time else key, branch = 1)
        image(before, older)
        if (mode.after) image(after, newer)
      }
      content.putBigEndian(start, content.size - start - 4)
      count += 1
      if (content.size >= options.maxBlockBytes - ChangeLogWriter.SlackBytes) flush()
    }
  }

  /** @return path and size in bytes of each file */
  def close(): Map[String, Long] = {
    if (count > 0 || blocks == 0) flush()
    val last = files.close()
    (files.earlier :+ last).map(file => FileNames.path(names.partitionPath, file.name) -> file.sizeBytes).toMap
  }

  /** Closes and removes all files; never throws. */
  def abort(): Unit = files.abort()

  private def encode(from: InternalRow, to: AvroOutput): Unit = {
    to.clear()
    if (from != null) row.write(from, to)
  }

  private def string(value: UTF8String, branch: Int): Unit = {
    content.writeInt(branch)
    content.writeString(value)
  }

  private def image(from: InternalRow, encoded: AvroOutput): Unit =
    if (from == null) content.writeInt(0)
    else {
      content.writeInt(1)
      content.append(encoded)
    }

  private def begin(): Unit = {
    content.clear()
    content.writeBigEndian(LogFormat.ContentVersion)
    content.writeBigEndian(0)
    count = 0
  }

  private def flush(): Unit = {
    content.putBigEndian(4, count)
    files.changeBlock(schema, content, count)
    blocks += 1
    begin()
  }
}

private object ChangeLogWriter {

  /** Reserve for the next record: a block is closed before it is full. */
  private val SlackBytes = 1024 * 1024
}
