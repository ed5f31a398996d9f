// Hot path: one call per row.
package io.merganser.table.base

import io.merganser.table.storage.MemoryInput
import org.apache.hadoop.conf.Configuration
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.api.{InitContext, ReadSupport}
import org.apache.parquet.io.{ColumnIOFactory, RecordReader}
import org.apache.spark.sql.catalyst.InternalRow

import java.io.Closeable
import java.util.{Collections, HashMap}

/**
 * The rows of a Parquet file in memory, with the columns that the support selects. The row object is reused.
 *
 * Parquet's own reader of rows parses Hadoop's default configuration for a file that has no path.
 */
private[base] final class MemoryRows(content: Array[Byte], support: ReadSupport[InternalRow], conf: Configuration)
    extends Iterator[InternalRow] with Closeable {
  private[this] val file    = new ParquetFileReader(new MemoryInput(content), HadoopReadOptions.builder(conf).build())
  private[this] val stored  = file.getFileMetaData
  private[this] val entries = stored.getKeyValueMetaData
  private[this] val context = {
    val values = new HashMap[String, java.util.Set[String]]
    entries.forEach((key, value) => { values.put(key, Collections.singleton(value)); () })
    support.init(new InitContext(conf, values, stored.getSchema))
  }
  private[this] val materializer = support.prepareForRead(conf, entries, stored.getSchema, context)
  private[this] val columns =
    new ColumnIOFactory(stored.getCreatedBy).getColumnIO(context.getRequestedSchema, stored.getSchema, true)
  file.setRequestedSchema(context.getRequestedSchema)

  private[this] var rows: RecordReader[InternalRow] = _ // of a row group
  private[this] var left                            = 0L

  advance()

  private def advance(): Unit = {
    rows = null
    val group = file.readNextRowGroup()
    if (group != null) {
      left = group.getRowCount
      if (left > 0) rows = columns.getRecordReader(group, materializer) else advance()
    }
  }

  override def hasNext: Boolean = rows != null

  override def next(): InternalRow = {
    if (rows == null) throw new NoSuchElementException("no more rows")
    val row = rows.read()
    left -= 1
    if (left == 0) advance()
    row
  }

  override def close(): Unit = file.close()
}
