// Hot path: one call per row and column.
package io.merganser.table.base

import io.merganser.table.avro.{DecimalBytes, Milliseconds}
import io.merganser.table.schema.MetaColumns
import org.apache.hadoop.conf.Configuration
import org.apache.parquet.hadoop.api.WriteSupport
import org.apache.parquet.hadoop.api.WriteSupport.{FinalizedWriteContext, WriteContext}
import org.apache.parquet.io.api.{Binary, RecordConsumer}
import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Writes rows as Parquet columns with the schema of [[BaseFileSchema]], passing record keys to `keys`.
 *
 * @param entries called once, when the footer begins: its entries beside those of `keys`
 */
private[base] final class RowWriteSupport(
    schema: StructType,
    keys: KeyTracker,
    entries: () => Map[String, String]
) extends WriteSupport[InternalRow] {
  import RowWriteSupport._

  /** Positions of the columns in the rows that are written. */
  var ordinals: Array[Int] = schema.indices.toArray

  private[this] val names: Array[String]         = schema.fieldNames
  private[this] var consumer: RecordConsumer     = _
  private[this] var columns: Array[ColumnWriter] = _

  override def getName: String = RowWriteSupport.Name

  override def init(conf: Configuration): WriteContext =
    new WriteContext(BaseFileSchema.toParquet(schema), RowWriteSupport.entries)

  override def prepareForWrite(consumer: RecordConsumer): Unit = {
    this.consumer = consumer
    columns = schema.fields.map(field => if (Repeated(field.name)) new RepeatedColumn else column(field))
    if (keys.ordinal >= 0) {
      columns(keys.ordinal) = new ColumnWriter {
        override def write(row: SpecializedGetters, i: Int): Unit = {
          val bytes = row.getUTF8String(i).getBytes
          keys.add(bytes)
          RowWriteSupport.this.consumer.addBinary(Binary.fromConstantByteArray(bytes))
        }
      }
    }
  }

  override def write(row: InternalRow): Unit = {
    consumer.startMessage()
    writeFields(row, names, columns, ordinals)
    consumer.endMessage()
  }

  override def finalizeWrite(): FinalizedWriteContext = {
    val all = keys.footer
    entries().foreach { case (entry, value) => all.put(entry, value) }
    new FinalizedWriteContext(all)
  }

  private[this] def writeFields(
      row: InternalRow,
      names: Array[String],
      columns: Array[ColumnWriter],
      ordinals: Array[Int]
  ): Unit = {
    var i = 0
    while (i < columns.length) {
      val at = ordinals(i)
      if (!row.isNullAt(at)) {
        consumer.startField(names(i), i)
        columns(i).write(row, at)
        consumer.endField(names(i), i)
      }
      i += 1
    }
  }

  private def column(field: StructField): ColumnWriter = column(field.dataType, Milliseconds.areIn(field))

  private def column(dataType: DataType, isMillis: Boolean): ColumnWriter = dataType match {
    case BooleanType => new ColumnWriter {
        override def write(row: SpecializedGetters, i: Int): Unit = consumer.addBoolean(row.getBoolean(i))
      }
    case ByteType => new ColumnWriter {
        override def write(row: SpecializedGetters, i: Int): Unit = consumer.addInteger(row.getByte(i).toInt)
      }
    case ShortType => new ColumnWriter {
        override def write(row: SpecializedGetters, i: Int): Unit = consumer.addInteger(row.getShort(i).toInt)
      }
    case IntegerType | DateType => new ColumnWriter {
        override def write(row: SpecializedGetters, i: Int): Unit = consumer.addInteger(row.getInt(i))
      }
    case TimestampType | TimestampNTZType if isMillis =>
      new ColumnWriter {
        override def write(row: SpecializedGetters, i: Int): Unit =
          consumer.addLong(Math.floorDiv(row.getLong(i), 1000L))
      }
    case LongType | TimestampType | TimestampNTZType => new ColumnWriter {
        override def write(row: SpecializedGetters, i: Int): Unit = consumer.addLong(row.getLong(i))
      }
    case FloatType => new ColumnWriter {
        override def write(row: SpecializedGetters, i: Int): Unit = consumer.addFloat(row.getFloat(i))
      }
    case DoubleType => new ColumnWriter {
        override def write(row: SpecializedGetters, i: Int): Unit = consumer.addDouble(row.getDouble(i))
      }
    // The bytes may belong to a reused row; Parquet copies what its dictionaries and statistics retain.
    case StringType | _: CharType | _: VarcharType => new ColumnWriter {
        override def write(row: SpecializedGetters, i: Int): Unit =
          consumer.addBinary(Binary.fromReusedByteArray(row.getUTF8String(i).getBytes))
      }
    case BinaryType => new ColumnWriter {
        override def write(row: SpecializedGetters, i: Int): Unit =
          consumer.addBinary(Binary.fromReusedByteArray(row.getBinary(i)))
      }
    case d: DecimalType => new DecimalColumn(d)
    case a: ArrayType   => new ArrayColumn(column(a.elementType, isMillis))
    case m: MapType     => new MapColumn(column(m.keyType, isMillis), column(m.valueType, isMillis))
    case s: StructType  => new StructColumn(s)
    case other          => throw new IllegalStateException(s"type ${other.catalogString} cannot be written")
  }

  /** One object for equal values that follow each other. */
  private final class RepeatedColumn extends ColumnWriter {
    private[this] var last: UTF8String = _
    private[this] var value: Binary    = _
    override def write(row: SpecializedGetters, i: Int): Unit = {
      val next = row.getUTF8String(i)
      if (next != last) {
        last = next.copy()
        value = Binary.fromConstantByteArray(last.getBytes)
      }
      consumer.addBinary(value)
    }
  }

  private final class DecimalColumn(dataType: DecimalType) extends ColumnWriter {
    private[this] val precision = dataType.precision
    private[this] val scale     = dataType.scale
    private[this] val encoder   = new DecimalBytes(dataType)
    override def write(row: SpecializedGetters, i: Int): Unit =
      consumer.addBinary(Binary.fromReusedByteArray(encoder.encode(row.getDecimal(i, precision, scale))))
  }

  private final class StructColumn(dataType: StructType) extends ColumnWriter {
    private[this] val names    = dataType.fieldNames
    private[this] val columns  = dataType.fields.map(column)
    private[this] val ordinals = dataType.indices.toArray
    override def write(row: SpecializedGetters, i: Int): Unit = {
      consumer.startGroup()
      writeFields(row.getStruct(i, columns.length), names, columns, ordinals)
      consumer.endGroup()
    }
  }

  private final class ArrayColumn(element: ColumnWriter) extends ColumnWriter {
    override def write(row: SpecializedGetters, i: Int): Unit = {
      val array = row.getArray(i)
      val n     = array.numElements()
      consumer.startGroup()
      if (n > 0) {
        consumer.startField("list", 0)
        var j = 0
        while (j < n) {
          consumer.startGroup()
          if (!array.isNullAt(j)) {
            consumer.startField("element", 0)
            element.write(array, j)
            consumer.endField("element", 0)
          }
          consumer.endGroup()
          j += 1
        }
        consumer.endField("list", 0)
      }
      consumer.endGroup()
    }
  }

  private final class MapColumn(key: ColumnWriter, value: ColumnWriter) extends ColumnWriter {
    override def write(row: SpecializedGetters, i: Int): Unit = {
      val map    = row.getMap(i)
      val keys   = map.keyArray()
      val values = map.valueArray()
      val n      = map.numElements()
      consumer.startGroup()
      if (n > 0) {
        consumer.startField("key_value", 0)
        var j = 0
        while (j < n) {
          consumer.startGroup()
          consumer.startField("key", 0)
          key.write(keys, j)
          consumer.endField("key", 0)
          if (!values.isNullAt(j)) {
            consumer.startField("value", 1)
            value.write(values, j)
            consumer.endField("value", 1)
          }
          consumer.endGroup()
          j += 1
        }
        consumer.endField("key_value", 0)
      }
      consumer.endGroup()
    }
  }
}

private[base] object RowWriteSupport {

  /** Columns whose rows have the same value again and again. */
  val Repeated: Set[String] = Set(MetaColumns.CommitTime, MetaColumns.PartitionPath, MetaColumns.FileName)

  /** What Parquet's writer puts into the footer as the name of the object model. */
  val Name = "merganser"

  /** The footer's entries of every file. Without a version Spark refuses dates, or reads them as it is configured. */
  val entries: java.util.Map[String, String] =
    java.util.Collections.singletonMap("org.apache.spark.version", SPARK_VERSION.takeWhile(_ != '-'))

  /** Writes the non-null value at an index of a row or array. */
  abstract class ColumnWriter {
    def write(row: SpecializedGetters, i: Int): Unit
  }
}
