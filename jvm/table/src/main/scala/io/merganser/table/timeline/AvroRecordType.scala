package io.merganser.table.timeline

import org.apache.avro.Schema
import org.apache.avro.generic.{GenericData, GenericRecord}

/** A field of a record: its description in Avro, and its value in an `A`. */
private[timeline] final case class RecordField[A](description: Schema.Field, value: A => Any) {
  def name: String = description.name
}

/**
 * A type of records that are made of an `A`: the one list of its fields, from which its schema and its records follow.
 *
 * @param fields in the format's order
 */
private[timeline] final class AvroRecordType[A](name: String, fields: RecordField[A]*) {

  val schema: Schema = AvroRecords.record(name, fields.map(_.description): _*)

  def apply(value: A): GenericRecord = {
    val record = new GenericData.Record(schema)
    fields.foreach(field => record.put(field.description.pos, AvroRecords.toAvro(field.value(value))))
    record
  }

  def encode(value: A): Array[Byte] = AvroRecords.encode(apply(value))
}

private[timeline] object AvroRecordType {

  /** What makes a field of its description. */
  implicit final class Described(private val description: Schema.Field) extends AnyVal {

    def from[A](value: A => Any): RecordField[A] = RecordField(description, value)

    /** For a field that only other engines write. */
    def unset[A]: RecordField[A] = RecordField(description, _ => null)
  }
}
