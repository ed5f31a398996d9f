package io.merganser.table.rule

import io.merganser.table.avro.{AvroInput, AvroOutput, AvroRowReader, AvroRowWriter, AvroSchemas}
import org.apache.avro.Schema
import org.apache.avro.generic.{GenericDatumReader, GenericDatumWriter, GenericRecord, IndexedRecord}
import org.apache.avro.io.{DecoderFactory, EncoderFactory}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import java.io.ByteArrayOutputStream

/** Converts rows to Avro records and back, through the encoding that logs use. */
private[rule] final class PayloadRecords(val columns: StructType, table: String) {

  /** Every column is nullable, so that the schema is the same on every path. */
  val schema: Schema = AvroSchemas.toAvro(StructType(columns.map(_.copy(nullable = true))), table)

  private[this] val writer  = new AvroRowWriter(columns, schema)
  private[this] val decoder = new GenericDatumReader[GenericRecord](schema)
  private[this] val output  = new AvroOutput()
  private[this] val own     = new AvroRowReader(schema, columns, "a record of the user's class")

  def toAvro(row: InternalRow): GenericRecord = {
    output.clear()
    writer.write(row, output)
    decoder.read(null, DecoderFactory.get.binaryDecoder(output.toByteArray, null))
  }

  /** @throws IllegalArgumentException if the record lacks a column */
  def toRow(record: IndexedRecord): InternalRow = {
    val reader =
      if (record.getSchema == schema) own
      else new AvroRowReader(record.getSchema, columns, "a record of the user's class")
    val missing = columns.fieldNames.zip(reader.provided).collect { case (name, false) => name }
    if (missing.nonEmpty)
      throw new IllegalArgumentException(s"the record lacks the column(s) ${missing.mkString(", ")}")
    val bytes   = new ByteArrayOutputStream
    val encoder = EncoderFactory.get.directBinaryEncoder(bytes, null)
    new GenericDatumWriter[IndexedRecord](record.getSchema).write(record, encoder)
    encoder.flush()
    val array = bytes.toByteArray
    reader.read(new AvroInput().reset(array, 0, array.length)).copy()
  }
}
