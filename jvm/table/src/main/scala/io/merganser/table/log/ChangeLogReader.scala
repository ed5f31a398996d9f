package io.merganser.table.log

import io.merganser.merge.MerganserException
import io.merganser.table.avro.{AvroRowReader, AvroSchemas}
import io.merganser.table.file.LogFile
import io.merganser.table.log.LogFormat.{BlockType, Header}
import io.merganser.table.schema.FileColumns
import io.merganser.table.storage.Storage
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import java.io.Closeable
import scala.util.control.NonFatal

/**
 * Reads change files that have the rows before and after a write. Yields operation, row before and row after; the row
 * is reused.
 *
 * @param columns   the data columns to read
 * @param columnsOf how columns are stored in the files of an instant, if the table has versions of them
 */
final class ChangeLogReader(
    storage: Storage,
    files: Seq[LogFile],
    columns: StructType,
    columnsOf: String => Option[FileColumns]
) extends Iterator[InternalRow] with Closeable {
  private[this] var open: LogFileReader = _
  private[this] val blocks = files.iterator.flatMap { file =>
    close()
    open = new LogFileReader(storage, file)
    val (found, corrupt) = open.blocks()
    if (corrupt > 0)
      throw MerganserException("LOG_BLOCK_UNREADABLE", "block" -> BlockType.name(BlockType.Cdc), "offset" -> 0,
        "file" -> file.path, "reason" -> "it is cut short or overwritten", "remedy" -> "Restore the file from a copy.")
    found.filter(_.blockType == BlockType.Cdc)
  }
  private[this] var block: LogBlock       = _
  private[this] var records: AvroBlock    = _
  private[this] var reader: AvroRowReader = _
  private[this] var ready: InternalRow    = _

  override def hasNext: Boolean = {
    while (ready == null && (records != null || blocks.hasNext)) {
      if (records == null) start(blocks.next())
      val in = records.next()
      if (in == null) records = null
      else
        ready =
          try reader.read(in)
          catch {
            case e: MerganserException => throw e
            case NonFatal(e) =>
              throw block.unreadable(s"a record is not of its schema ($e)", "Restore the file from a copy.").causedBy(e)
          }
    }
    ready != null
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("no more changes")
    val row = ready
    ready = null
    row
  }

  override def close(): Unit = if (open != null) {
    open.close()
    open = null
  }

  private def start(next: LogBlock): Unit = {
    block = next
    val json = next.header.getOrElse(Header.Schema,
      throw next.unreadable("its header has no schema", "Restore the file from a copy."))
    val versions = columnsOf(next.instant)
    reader =
      new AvroRowReader(AvroSchemas.parse(json), ChangeRecords.columns(versions.fold(columns)(_.stored(columns))),
        next.log.name, versions.isDefined)
    records = new AvroBlock(open, next)
  }
}
