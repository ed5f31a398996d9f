// Hot path: one call per row.
package io.merganser.table.base

import io.merganser.table.storage.{MemoryFile, MemoryInput}
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Encodes some columns of rows in memory, as a file of theirs would have them; the chunks are then copied to the file.
 *
 * @param schema   the columns of the rows
 * @param ordinals those to encode, in ascending order
 * @param fileName ordinal of the column with the file's name, and the name; the rows of the replaced file have another
 * @param splits   whether row groups end at their size; otherwise there is one
 */
private[base] final class ColumnEncoder(
    conf: Configuration,
    name: String,
    schema: StructType,
    ordinals: IndexedSeq[Int],
    fileName: Option[(Int, UTF8String)],
    options: BaseFileOptions,
    splits: Boolean
) {
  private[this] val file    = new MemoryFile(name)
  private[this] val columns = StructType(ordinals.map(schema(_)))
  private[this] val writer = new RowParquetWriter(conf, file, None, columns,
    options.copy(bloomFilter = None, rowGroupBytes = if (splits) options.rowGroupBytes else ColumnEncoder.OneRowGroup),
    storesKeys = false)
  private[this] val inRow    = ordinals.toArray
  private[this] val read     = ordinals.filterNot(i => fileName.exists(_._1 == i))
  private[this] val inStored = ordinals.map(i => if (read.contains(i)) read.indexOf(i) else read.length).toArray
  private[this] val constant = new GenericInternalRow(fileName.map(_._2: Any).toArray)
  private[this] val both     = new JoinedRow

  /** The columns to read of the replaced file. */
  val storedColumns: StructType = StructType(read.map(schema(_)))

  def has(ordinal: Int): Boolean = ordinals.contains(ordinal)

  /** @param row with all columns */
  def write(row: InternalRow): Unit = writer.write(row, inRow)

  /** @param row of the replaced file, with [[storedColumns]] */
  def writeStored(row: InternalRow): Unit = writer.write(both(row, constant), inStored)

  def estimatedBytes: Long = writer.estimatedBytes

  /** The encoded columns; to be called after the last row. */
  def chunks(): ChunkSource = {
    writer.close()
    new ChunkSource(conf, new MemoryInput(file.bytes))
  }

  def abort(): Unit = writer.abort()
}

private object ColumnEncoder {
  private val OneRowGroup = 1L << 40
}
