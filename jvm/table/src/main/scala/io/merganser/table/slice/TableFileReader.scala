package io.merganser.table.slice

import io.merganser.table.base.{BaseFileFooter, BaseFileReader, BaseReadOptions}
import io.merganser.table.file.BaseFile
import io.merganser.table.storage.Storage
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.merganser.RowsToBatches
import org.apache.spark.sql.vectorized.ColumnarBatch

import java.io.Closeable

/**
 * Reads a table's base file with all columns of its rows, those included that the file does not store. Allows one pass,
 * by row or by batch, and owns open files: close it.
 *
 * @param options what is read of the file, by filters on any of the columns
 */
final class TableFileReader(
    storage: Storage,
    partitionPath: String,
    base: BaseFile,
    columns: DerivedColumns,
    options: BaseReadOptions = BaseReadOptions()
) extends Closeable {
  private[this] val file = new BaseFileReader(storage.conf, storage.path(base.path), base.sizeBytes, columns.stored,
    options.copy(filters = columns.usable(options.filters)))

  def footer: BaseFileFooter = file.footer

  def readsSection: Boolean = options.section.isDefined

  /** @return the rows; the row object is reused: copy rows that you keep */
  def rows(): Iterator[InternalRow] =
    if (columns.isEmpty) file.rows()
    else {
      val complete = columns.complete(partitionPath)
      file.rows().map(complete)
    }

  /** @return the rows in batches, each valid until the next one is requested */
  def batches(): Iterator[ColumnarBatch] =
    if (columns.isEmpty) file.batches()
    else if (!columns.areConstant) RowsToBatches(rows(), columns.schema, TableFileReader.BatchRows)
    else {
      val complete = columns.completeBatch(partitionPath)
      file.batches().map(complete)
    }

  override def close(): Unit = file.close()
}

private object TableFileReader {
  private val BatchRows = 4096
}
