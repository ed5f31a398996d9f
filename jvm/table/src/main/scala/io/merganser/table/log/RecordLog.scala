package io.merganser.table.log

import io.merganser.merge.MerganserException
import io.merganser.table.avro.{AvroCheck, AvroInput, AvroSchemas}
import io.merganser.table.file.FileNames
import io.merganser.table.storage.Storage
import org.apache.avro.Schema
import org.apache.avro.generic.{GenericDatumReader, GenericDatumWriter, GenericRecord}
import org.apache.avro.io.{DecoderFactory, EncoderFactory}
import org.apache.hadoop.fs.FileStatus

import java.io.{ByteArrayOutputStream, DataOutputStream}

import scala.util.control.NonFatal

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

  /** One Avro block with these records, which all have the schema. */
  def block(schema: Schema, records: Seq[GenericRecord]): Array[Byte] = {
    val content = new ByteArrayOutputStream()
    val out     = new DataOutputStream(content)
    val writer  = new GenericDatumWriter[GenericRecord](schema)
    out.writeInt(LogFormat.ContentVersion)
    out.writeInt(records.size)
    records.foreach { record =>
      val bytes   = new ByteArrayOutputStream()
      val encoder = EncoderFactory.get.binaryEncoder(bytes, null)
      writer.write(record, encoder)
      encoder.flush()
      out.writeInt(bytes.size)
      bytes.writeTo(out)
    }
    val frame =
      LogFormat.frame(LogFormat.BlockType.Avro, Seq(LogFormat.Header.Schema -> schema.toString), content.size.toLong)
    frame.head ++ content.toByteArray ++ frame.tail
  }

  private def content(file: LogFileReader, block: LogBlock): Seq[GenericRecord] = {
    def broken(reason: String) = block.unreadable(reason, "Restore the file from a copy.")
    val json                   = block.header.getOrElse(LogFormat.Header.Schema, throw broken("it has no schema"))
    try {
      val schema  = AvroSchemas.parse(json)
      val records = Seq.newBuilder[GenericRecord]
      val reader  = new GenericDatumReader[GenericRecord](schema)
      val content = new AvroBlock(file, block)
      var in      = content.next()
      while (in != null) {
        // Avro's decoder allocates before it looks for the bytes.
        val bytes = in.readFixed(in.remaining)
        AvroCheck.skip(schema, new AvroInput().reset(bytes, 0, bytes.length))
        records += reader.read(null, DecoderFactory.get.binaryDecoder(bytes, null))
        in = content.next()
      }
      records.result()
    } catch {
      case e: MerganserException => throw e
      case NonFatal(e)           => throw broken(s"a record is not of its schema ($e)").causedBy(e)
    }
  }
}
