package io.merganser.table.base

import io.merganser.table.avro.{AvroSchemas, Milliseconds}
import org.apache.parquet.schema.LogicalTypeAnnotation.{
  TimeUnit,
  dateType,
  decimalType,
  listType,
  mapType,
  stringType,
  timestampType
}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._
import org.apache.parquet.schema.Type.Repetition
import org.apache.parquet.schema.Type.Repetition.{OPTIONAL, REQUIRED}
import org.apache.parquet.schema.{MessageType, Type, Types}
import org.apache.spark.sql.types._

/** The Parquet schema that we write: one form per type, independent of session settings and Spark version. */
object BaseFileSchema {

  /**
   * Decimals are fixed-length, timestamps INT64 in the column's unit ([[Milliseconds]]), bytes and shorts plain INT32,
   * lists and maps three-level.
   */
  def toParquet(schema: StructType): MessageType =
    Types.buildMessage().addFields(schema.fields.map(field): _*).named("spark_schema")

  private def field(field: StructField): Type =
    column(field.dataType, field.name, if (field.nullable) OPTIONAL else REQUIRED,
      if (Milliseconds.areIn(field)) TimeUnit.MILLIS else TimeUnit.MICROS)

  private def column(dataType: DataType, name: String, repetition: Repetition, unit: TimeUnit): Type = dataType match {
    case BooleanType                        => Types.primitive(BOOLEAN, repetition).named(name)
    case ByteType | ShortType | IntegerType => Types.primitive(INT32, repetition).named(name)
    case LongType                           => Types.primitive(INT64, repetition).named(name)
    case FloatType                          => Types.primitive(FLOAT, repetition).named(name)
    case DoubleType                         => Types.primitive(DOUBLE, repetition).named(name)
    case BinaryType                         => Types.primitive(BINARY, repetition).named(name)
    case DateType                           => Types.primitive(INT32, repetition).as(dateType()).named(name)
    case TimestampType =>
      Types.primitive(INT64, repetition).as(timestampType(true, unit)).named(name)
    case TimestampNTZType =>
      Types.primitive(INT64, repetition).as(timestampType(false, unit)).named(name)
    case StringType                   => Types.primitive(BINARY, repetition).as(stringType()).named(name)
    case _: CharType | _: VarcharType => Types.primitive(BINARY, repetition).as(stringType()).named(name)
    case d: DecimalType =>
      Types
        .primitive(FIXED_LEN_BYTE_ARRAY, repetition)
        .length(AvroSchemas.bytesForPrecision(d.precision))
        .as(decimalType(d.scale, d.precision))
        .named(name)
    case a: ArrayType =>
      val element = column(a.elementType, "element", if (a.containsNull) OPTIONAL else REQUIRED, unit)
      Types.buildGroup(repetition).as(listType()).addField(Types.repeatedGroup().addField(element).named("list")).named(
        name)
    case m: MapType =>
      val key   = column(m.keyType, "key", REQUIRED, unit)
      val value = column(m.valueType, "value", if (m.valueContainsNull) OPTIONAL else REQUIRED, unit)
      Types.buildGroup(repetition).as(mapType()).addField(Types.repeatedGroup().addFields(key, value).named(
          "key_value")).named(name)
    case s: StructType => Types.buildGroup(repetition).addFields(s.fields.map(field): _*).named(name)
    case other => throw new IllegalStateException(s"column '$name' of type ${other.catalogString} was not refused")
  }
}
