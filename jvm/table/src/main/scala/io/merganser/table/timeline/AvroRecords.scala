package io.merganser.table.timeline

import io.merganser.table.avro.AvroContainer
import org.apache.avro.{JsonProperties, Schema}
import org.apache.avro.generic.{GenericData, GenericRecord}

import scala.collection.JavaConverters._

/** The timeline's Avro files: containers of one record; fields are accessed by name, absent ones are null. */
private[table] object AvroRecords {

  val Str: Schema  = Schema.create(Schema.Type.STRING)
  val Lng: Schema  = Schema.create(Schema.Type.LONG)
  val Int: Schema  = Schema.create(Schema.Type.INT)
  val Bool: Schema = Schema.create(Schema.Type.BOOLEAN)

  val Dbl: Schema = Schema.create(Schema.Type.DOUBLE)

  val Bytes: Schema = Schema.create(Schema.Type.BYTES)

  private val Null = Schema.create(Schema.Type.NULL)

  def array(of: Schema): Schema = Schema.createArray(of)

  def map(of: Schema): Schema = Schema.createMap(of)

  def nullOr(of: Schema): Schema = Schema.createUnion(Null, of)

  def orNull(of: Schema): Schema = Schema.createUnion(of, Null)

  /** A nullable field, null by default. */
  def optional(name: String, of: Schema): Schema.Field =
    new Schema.Field(name, nullOr(of), null, JsonProperties.NULL_VALUE)

  def required(name: String, of: Schema): Schema.Field = new Schema.Field(name, of, null, null: Object)

  def withDefault(name: String, of: Schema, default: Object): Schema.Field = new Schema.Field(name, of, null, default)

  /** A list, empty by default. */
  def emptyByDefault(name: String, of: Schema): Schema.Field =
    withDefault(name, array(of), java.util.Collections.emptyList[AnyRef]())

  def version(default: Int): Schema.Field =
    new Schema.Field("version", orNull(Int), null, Integer.valueOf(default))

  def record(name: String, fields: Schema.Field*): Schema =
    Schema.createRecord(name, null, "org.apache.hudi.avro.model", false, fields.asJava)

  /** A record from Scala values: Option, Seq, Map, String, numbers, records. */
  def build(schema: Schema, values: (String, Any)*): GenericRecord = {
    val record = new GenericData.Record(schema)
    values.foreach { case (name, value) => record.put(name, toAvro(value)) }
    record
  }

  def isContainer(bytes: Array[Byte]): Boolean = AvroContainer.is(bytes)

  def encode(record: GenericRecord): Array[Byte] = AvroContainer.encode(record)

  /** The container's record, with the schema that it was written with. */
  def decode(bytes: Array[Byte]): GenericRecord = AvroContainer.decode(bytes)

  /** Fails for a record type without these fields, whose names have a changed letter. */
  def requireFields(record: GenericRecord, names: String*): Unit =
    names.find(name => record.getSchema.getField(name) == null).foreach(name =>
      throw new IllegalArgumentException(s"its ${record.getSchema.getName} has no $name"))

  private[timeline] def toAvro(value: Any): Any = value match {
    case None              => null
    case Some(inner)       => toAvro(inner)
    case values: Seq[_]    => values.map(toAvro).asJava
    case values: Map[_, _] => values.map { case (k, v) => k -> toAvro(v) }.asJava
    case other             => other
  }

  /** Lenient access by name: other writers may have fewer fields. */
  implicit final class Fields(private val record: GenericRecord) extends AnyVal with NamedFields {

    def value(name: String): Option[Any] =
      if (record.getSchema.getField(name) == null) None else Option(record.get(name): Any)

    def string(name: String): Option[String] = value(name).map(_.toString)

    def long(name: String): Long = optionalLong(name).getOrElse(0L)

    def optionalLong(name: String): Option[Long] = value(name).collect { case n: Number => n.longValue }

    def boolean(name: String): Boolean = value(name).contains(true)

    def record(name: String): Option[GenericRecord] = value(name).collect { case r: GenericRecord => r }

    def strings(name: String): Seq[String] = elements(value(name)).map(_.toString)

    def records(name: String): Seq[GenericRecord] = elements(value(name)).collect { case r: GenericRecord => r }

    def stringMap(name: String): Map[String, String] =
      entries(value(name)).collect { case (k, v) if v != null => k -> v.toString }

    def recordMap(name: String): Map[String, GenericRecord] =
      entries(value(name)).collect { case (k, r: GenericRecord) => k -> r }

    def recordsMap(name: String): Map[String, Seq[GenericRecord]] =
      entries(value(name)).map { case (k, v) => k -> elements(Option(v)).collect { case r: GenericRecord => r } }

    def stringsMap(name: String): Map[String, Seq[String]] =
      entries(value(name)).map { case (k, v) => k -> elements(Option(v)).map(_.toString) }

    def longMap(name: String): Map[String, Long] = entries(value(name)).collect { case (k, v: Number) =>
      k -> v.longValue
    }

    def doubleMap(name: String): Map[String, Double] =
      entries(value(name)).collect { case (k, v: Number) => k -> v.doubleValue }
  }

  private def elements(value: Option[Any]): Seq[Any] = value match {
    case Some(list: java.util.Collection[_]) => list.asScala.toSeq
    case _                                   => Nil
  }

  private def entries(value: Option[Any]): Map[String, Any] = value match {
    case Some(map: java.util.Map[_, _]) => map.asScala.map { case (k, v) => k.toString -> (v: Any) }.toMap
    case _                              => Map.empty
  }
}
