package io.merganser.table.avro

import org.apache.avro.{LogicalTypes, Schema}
import org.apache.spark.sql.types._

/**
 * Columns whose timestamps a table stores in milliseconds: `timestamp-millis` and `local-timestamp-millis` in its Avro
 * schema. Spark has one type for both units, so that the unit is in the field's metadata. It applies to the field's
 * values, or to those in its arrays and maps; fields of structs have their own.
 */
object Milliseconds {
  private val Key = "merganser.timestamp.millis"

  def areIn(field: StructField): Boolean = field.metadata.contains(Key)

  def mark(field: StructField): StructField =
    field.copy(metadata = new MetadataBuilder().withMetadata(field.metadata).putBoolean(Key, value = true).build())

  /** Whether values of a schema, or those in its arrays and maps, are timestamps in milliseconds. */
  private[table] def areIn(schema: Schema): Boolean = {
    val plain = AvroSchemas.withoutNull(schema)
    plain.getType match {
      case Schema.Type.ARRAY => areIn(plain.getElementType)
      case Schema.Type.MAP   => areIn(plain.getValueType)
      case _ =>
        plain.getLogicalType match {
          case _: LogicalTypes.TimestampMillis | _: LogicalTypes.LocalTimestampMillis => true
          case _                                                                      => false
        }
    }
  }

  /** The columns with the units of a table's columns of the same names. */
  def like(columns: StructType, table: StructType): StructType = StructType(columns.map { column =>
    table.find(_.name == column.name).fold(column) { own =>
      val inner = column.copy(dataType = like(column.dataType, own.dataType))
      if (areIn(own)) mark(inner) else inner
    }
  })

  private def like(column: DataType, table: DataType): DataType = (column, table) match {
    case (c: StructType, t: StructType) => like(c, t)
    case (c: ArrayType, t: ArrayType)   => c.copy(elementType = like(c.elementType, t.elementType))
    case (c: MapType, t: MapType)       => c.copy(valueType = like(c.valueType, t.valueType))
    case _                              => column
  }

  /** The columns of a new table, which stores microseconds, whatever table its rows come from. */
  def without(columns: StructType): StructType = StructType(columns.map { column =>
    val metadata = new MetadataBuilder().withMetadata(column.metadata).remove(Key).build()
    column.copy(dataType = without(column.dataType), metadata = metadata)
  })

  private def without(dataType: DataType): DataType = dataType match {
    case s: StructType => without(s)
    case a: ArrayType  => a.copy(elementType = without(a.elementType))
    case m: MapType    => m.copy(valueType = without(m.valueType))
    case other         => other
  }
}
