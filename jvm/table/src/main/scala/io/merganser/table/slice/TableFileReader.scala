package io.merganser.table.slice

import io.merganser.table.base.{BaseFileFooter, BaseFileReader, BaseFileSection}
import io.merganser.table.file.BaseFile
import io.merganser.table.schema.FileColumns
import io.merganser.table.storage.Storage
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.merganser.RowsToBatches
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.vectorized.ColumnarBatch

import java.io.{Closeable, FileNotFoundException}

/**
 * Reads a table's base file with all columns of its rows, those included that the file does not store. Allows one pass,
 * by row or by batch, and owns open files: close it.
 *
 * @param filters see [[BaseFileReader]]
 * @param start   start of the range whose row groups are read, in bytes
 * @param length  of the range, in bytes
 * @param known    the file's footer, if it was read before
 * @param versions how the columns are stored in the file, if the table has versions of them
 * @param section  see [[BaseFileReader]]
 * @param missing  see [[BaseFileReader]]
 */
final class TableFileReader(
    storage: Storage,
    partitionPath: String,
    base: BaseFile,
    columns: DerivedColumns,
    filters: Seq[Filter] = Nil,
    start: Long = 0L,
    length: Long = Long.MaxValue,
    known: Option[BaseFileFooter] = None,
    versions: Option[FileColumns] = None,
    section: Option[BaseFileSection] = None,
    missing: FileNotFoundException => Exception = identity
) extends Closeable {
  private[this] val file = new BaseFileReader(storage.conf, storage.path(base.path), base.sizeBytes, columns.stored,
    columns.usable(filters), start, length, known, versions, section, missing)

  def footer: BaseFileFooter = file.footer

  def readsSection: Boolean = section.isDefined

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
