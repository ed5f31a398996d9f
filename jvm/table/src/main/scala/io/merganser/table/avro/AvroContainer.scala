package io.merganser.table.avro

import org.apache.avro.Schema
import org.apache.avro.file.{DataFileStream, DataFileWriter}
import org.apache.avro.generic.{GenericDatumReader, GenericDatumWriter, GenericRecord}
import org.apache.avro.io.DecoderFactory

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.nio.charset.StandardCharsets.{US_ASCII, UTF_8}
import java.util.concurrent.ConcurrentHashMap
import java.util.zip.CRC32

/**
 * Avro's container file with one record, as the files of a timeline are. The format has no checksum, so ours have one
 * in the header's metadata, which other engines ignore: CRC32 of the whole file, in which its own digits are zeros.
 */
private[table] object AvroContainer {

  private val Checksum   = "merganser.crc32"
  private val Unset      = "00000000"
  private val Magic      = "Obj\u0001".getBytes(US_ASCII).toSeq
  private val SyncLength = 16

  private val MostSchemas = 100
  private val schemas     = new ConcurrentHashMap[String, Schema]()

  def is(bytes: Array[Byte]): Boolean = bytes.length > 3 && bytes.take(3).toSeq == Magic.take(3)

  def encode(record: GenericRecord): Array[Byte] = {
    val out    = new ByteArrayOutputStream()
    val writer = new DataFileWriter[GenericRecord](new GenericDatumWriter[GenericRecord](record.getSchema))
    try {
      writer.setMeta(Checksum, Unset)
      writer.create(record.getSchema, out)
      writer.append(record)
    } finally writer.close()
    val bytes = out.toByteArray
    val at    = header(bytes).checksumAt
    System.arraycopy(checksum(bytes, at).getBytes(US_ASCII), 0, bytes, at, Unset.length)
    bytes
  }

  /**
   * The record, with the schema that it was written with.
   *
   * @throws java.io.IOException, RuntimeException if it is no container of one record, or differs from its checksum
   */
  def decode(bytes: Array[Byte]): GenericRecord = {
    val head = header(bytes)
    if (head.checksumAt >= 0) {
      val stored = new String(bytes, head.checksumAt, Unset.length, US_ASCII)
      val found  = checksum(bytes, head.checksumAt)
      if (stored != found) throw new IllegalArgumentException(s"its checksum is $stored, its bytes give $found")
    }
    val schema = parsed(new String(head.meta.getOrElse("avro.schema",
          throw new IllegalArgumentException("it has no schema")), UTF_8))
    val codec = head.meta.get("avro.codec").fold("null")(new String(_, UTF_8))
    if (codec == "null") plain(bytes, head, schema) else coded(bytes)
  }

  /** All commits of a writer have one schema; to parse it takes longer than to decode a small commit. */
  private def parsed(json: String): Schema = {
    val known = schemas.get(json)
    if (known != null) known
    else {
      val schema = AvroSchemas.parse(json)
      if (schemas.size >= MostSchemas) schemas.clear()
      schemas.put(json, schema)
      schema
    }
  }

  private def plain(bytes: Array[Byte], head: Header, schema: Schema): GenericRecord = {
    val in    = new AvroInput().reset(bytes, head.length, bytes.length)
    val count = in.readLong()
    if (count != 1) throw new IllegalArgumentException(s"it has $count records instead of one")
    val length = in.readLength()
    val start  = bytes.length - in.remaining
    if (in.remaining != length + SyncLength)
      throw new IllegalArgumentException(s"${in.remaining} bytes instead of ${length + SyncLength} follow its header")
    if (!(0 until SyncLength).forall(i => bytes(start + length + i) == bytes(head.length - SyncLength + i)))
      throw new IllegalArgumentException("it does not end with the marker of its header")
    val record = new AvroInput().reset(bytes, start, start + length)
    AvroCheck.skip(schema, record)
    if (!record.isAtEnd) throw new IllegalArgumentException(s"${record.remaining} bytes follow its record")
    new GenericDatumReader[GenericRecord](schema).read(null,
      DecoderFactory.get.binaryDecoder(bytes, start, length, null))
  }

  private def coded(bytes: Array[Byte]): GenericRecord = {
    val reader =
      new DataFileStream[GenericRecord](new ByteArrayInputStream(bytes), new GenericDatumReader[GenericRecord]())
    try reader.next()
    finally reader.close()
  }

  /**
   * @param length     of the header with its marker, in bytes
   * @param checksumAt position of the checksum's digits; -1 if there is none
   */
  private final case class Header(meta: Map[String, Array[Byte]], length: Int, checksumAt: Int)

  private def header(bytes: Array[Byte]): Header = {
    if (bytes.length < 4 || bytes.take(4).toSeq != Magic) throw new IllegalArgumentException("it is no Avro file")
    val in         = new AvroInput().reset(bytes, 4, bytes.length)
    val meta       = Map.newBuilder[String, Array[Byte]]
    var checksumAt = -1
    AvroCheck.items(in) {
      val key   = in.readString().toString
      val value = in.readBytes()
      if (key == Checksum && value.length == Unset.length) checksumAt = bytes.length - in.remaining - value.length
      meta += key -> value
    }
    in.skip(SyncLength)
    Header(meta.result(), bytes.length - in.remaining, checksumAt)
  }

  private def checksum(bytes: Array[Byte], at: Int): String = {
    val crc = new CRC32
    crc.update(bytes, 0, at)
    crc.update(Unset.getBytes(US_ASCII))
    crc.update(bytes, at + Unset.length, bytes.length - at - Unset.length)
    f"${crc.getValue}%08x"
  }
}
