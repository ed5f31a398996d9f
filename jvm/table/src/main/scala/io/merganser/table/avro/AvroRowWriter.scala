// Hot path: one call per row and column.
package io.merganser.table.avro

import org.apache.avro.{LogicalTypes, Schema}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.sql.types._

import scala.collection.JavaConverters._

/**
 * Writes rows as Avro records, without container or header.
 *
 * @param from the rows' columns
 * @param to   the record schema; its fields are resolved among the columns by name, those without a column are null
 * @throws IllegalStateException if a field has neither a column nor a null branch, or a type that does not match its
 *                               column's
 */
final class AvroRowWriter(from: StructType, to: Schema) {
  import AvroRowWriter._

  private[this] val root = recordWriter(from, to, path = "")

  /** @throws IllegalStateException if a value is null and its field is not nullable */
  def write(row: InternalRow, out: AvroOutput): Unit = root.writeRow(row, out)
}

private object AvroRowWriter {

  /** Writes the non-null value at an index of a row or array. */
  abstract class ValueWriter {
    def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit
  }

  /** A field or element, with its union branch if it has one. */
  final class Slot(val name: String, schema: Schema, plain: ValueWriter) {
    private[this] val isUnion   = schema.getType == Schema.Type.UNION
    private[this] val nullIndex = if (isUnion) schema.getTypes.asScala.indexWhere(_.getType == Schema.Type.NULL) else -1
    private[this] val index =
      if (isUnion) schema.getTypes.asScala.indexWhere(_.getType != Schema.Type.NULL) else -1

    def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit =
      if (i < 0 || row.isNullAt(i)) {
        if (nullIndex < 0) throw new IllegalStateException(s"null in '$name', which is not nullable")
        out.writeInt(nullIndex)
      } else {
        if (isUnion) out.writeInt(index)
        plain.write(row, i, out)
      }
  }

  final class RecordWriter(slots: Array[Slot], ordinals: Array[Int], width: Int) extends ValueWriter {
    def writeRow(row: InternalRow, out: AvroOutput): Unit = {
      var i = 0
      while (i < slots.length) {
        slots(i).write(row, ordinals(i), out)
        i += 1
      }
    }
    override def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit = writeRow(row.getStruct(i, width), out)
  }

  def recordWriter(from: StructType, to: Schema, path: String): RecordWriter = {
    val fields   = to.getFields.asScala.toArray
    val ordinals = fields.map(field => from.fieldNames.indexOf(field.name))
    val slots = fields.zip(ordinals).map { case (field, i) =>
      val column = if (path.isEmpty) field.name else s"$path.${field.name}"
      if (i >= 0) slot(from(i).dataType, field.schema, column)
      else if (AvroSchemas.isNullable(field.schema)) new Slot(column, field.schema, null)
      else throw new IllegalStateException(s"no column '$column', and the record schema is not nullable there")
    }
    new RecordWriter(slots, ordinals, from.length)
  }

  private def slot(from: DataType, to: Schema, column: String): Slot =
    new Slot(column, to, valueWriter(from, AvroSchemas.withoutNull(to), column))

  private def valueWriter(from: DataType, to: Schema, column: String): ValueWriter = (from, to.getType) match {
    case (BooleanType, Schema.Type.BOOLEAN) => new ValueWriter {
        override def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit = out.writeBoolean(row.getBoolean(i))
      }
    case (ByteType, Schema.Type.INT) => new ValueWriter {
        override def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit = out.writeInt(row.getByte(i).toInt)
      }
    case (ShortType, Schema.Type.INT) => new ValueWriter {
        override def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit = out.writeInt(row.getShort(i).toInt)
      }
    case (IntegerType | DateType, Schema.Type.INT) => new ValueWriter {
        override def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit = out.writeInt(row.getInt(i))
      }
    case (LongType, Schema.Type.LONG)                         => longWriter
    case (TimestampType | TimestampNTZType, Schema.Type.LONG) => if (isMillis(to)) millisWriter else longWriter
    case (FloatType, Schema.Type.FLOAT) => new ValueWriter {
        override def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit = out.writeFloat(row.getFloat(i))
      }
    case (DoubleType, Schema.Type.DOUBLE) => new ValueWriter {
        override def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit = out.writeDouble(row.getDouble(i))
      }
    case (StringType | _: CharType | _: VarcharType, Schema.Type.STRING) => new ValueWriter {
        override def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit =
          out.writeString(row.getUTF8String(i))
      }
    case (BinaryType, Schema.Type.BYTES) => new ValueWriter {
        override def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit = out.writeBytes(row.getBinary(i))
      }
    case (d: DecimalType, Schema.Type.FIXED) if isDecimal(to, d) =>
      new FixedDecimalWriter(d, to.getFixedSize)
    case (d: DecimalType, Schema.Type.BYTES) if isDecimal(to, d) =>
      new ValueWriter {
        override def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit = out.writeBytes(
          row.getDecimal(i, d.precision, d.scale).toJavaBigDecimal.setScale(d.scale).unscaledValue.toByteArray
        )
      }
    case (a: ArrayType, Schema.Type.ARRAY) =>
      new ArrayWriter(slot(a.elementType, to.getElementType, s"$column.element"))
    case (m: MapType, Schema.Type.MAP) if m.keyType == StringType =>
      new MapWriter(slot(m.valueType, to.getValueType, s"$column.value"))
    case (s: StructType, Schema.Type.RECORD) => recordWriter(s, to, column)
    case _ => throw new IllegalStateException(s"column '$column' of type ${from.catalogString} does not fit $to")
  }

  private def longWriter: ValueWriter = new ValueWriter {
    override def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit = out.writeLong(row.getLong(i))
  }

  private def millisWriter: ValueWriter = new ValueWriter {
    override def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit =
      out.writeLong(Math.floorDiv(row.getLong(i), 1000L))
  }

  private def isMillis(schema: Schema): Boolean = schema.getLogicalType match {
    case _: LogicalTypes.TimestampMillis | _: LogicalTypes.LocalTimestampMillis => true
    case _                                                                      => false
  }

  private def isDecimal(schema: Schema, dataType: DecimalType): Boolean = schema.getLogicalType match {
    case d: LogicalTypes.Decimal => d.getPrecision == dataType.precision && d.getScale == dataType.scale
    case _                       => false
  }

  private final class FixedDecimalWriter(dataType: DecimalType, size: Int) extends ValueWriter {
    private[this] val precision = dataType.precision
    private[this] val scale     = dataType.scale
    private[this] val bytes     = new DecimalBytes(dataType, size)
    override def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit =
      out.writeFixed(bytes.encode(row.getDecimal(i, precision, scale)))
  }

  private final class ArrayWriter(element: Slot) extends ValueWriter {
    override def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit = {
      val array = row.getArray(i)
      val n     = array.numElements()
      if (n > 0) {
        out.writeInt(n)
        var j = 0
        while (j < n) {
          element.write(array, j, out)
          j += 1
        }
      }
      out.writeInt(0)
    }
  }

  private final class MapWriter(value: Slot) extends ValueWriter {
    override def write(row: SpecializedGetters, i: Int, out: AvroOutput): Unit = {
      val map    = row.getMap(i)
      val keys   = map.keyArray()
      val values = map.valueArray()
      val n      = map.numElements()
      if (n > 0) {
        out.writeInt(n)
        var j = 0
        while (j < n) {
          out.writeString(keys.getUTF8String(j))
          value.write(values, j, out)
          j += 1
        }
      }
      out.writeInt(0)
    }
  }
}
