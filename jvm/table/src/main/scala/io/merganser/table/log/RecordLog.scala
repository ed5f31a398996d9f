package io.merganser.table.log

import io.merganser.table.avro.AvroSchemas
import io.merganser.table.file.FileNames
import io.merganser.table.storage.Storage
import org.apache.avro.generic.{GenericDatumReader, GenericRecord}
import org.apache.avro.io.DecoderFactory
import org.apache.hadoop.fs.FileStatus

import java.nio.ByteBuffer

/** A log file whose Avro blocks hold other records than a table's rows, as the archive of layout 1 does. */
private[table] object RecordLog {

  /**
   * All records of its intact blocks.
   *
   * @param folder of the file, relative to the table's base path
   * @return none if the file is no log file
   * @throws io.merganser.merge.MerganserException LOG_BLOCK_UNREADABLE
   */
  def records(storage: Storage, folder: String, file: FileStatus): Seq[GenericRecord] =
    FileNames.parseLog(folder, file.getPath.getName, file.getLen).toSeq.flatMap { log =>
      val reader = new LogFileReader(storage, log)
      try reader.blocks()._1.filter(_.blockType == LogFormat.BlockType.Avro).flatMap(content(reader, _))
      finally reader.close()
    }

  private def content(file: LogFileReader, block: LogBlock): Seq[GenericRecord] = {
    def broken(reason: String) = block.unreadable(reason, "Restore the file from a copy.")
    val schema = AvroSchemas.parse(block.header.getOrElse(LogFormat.Header.Schema, throw broken("it has no schema")))
    val bytes  = new Array[Byte](Math.toIntExact(block.contentLength))
    file.read(block.contentOffset, bytes, 0, bytes.length)
    val buffer = ByteBuffer.wrap(bytes)
    buffer.getInt // version of the content
    val reader = new GenericDatumReader[GenericRecord](schema)
    Seq.fill(buffer.getInt) {
      val length = buffer.getInt
      val record =
        reader.read(null, DecoderFactory.get.binaryDecoder(bytes, buffer.position(), length, null))
      buffer.position(buffer.position() + length)
      record
    }
  }
}
