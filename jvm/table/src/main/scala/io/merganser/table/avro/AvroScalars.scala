// Hot path: one call per value.
package io.merganser.table.avro

import io.merganser.table.avro.StringTypes.isString
import io.merganser.table.avro.AvroValues.ValueReader
import org.apache.avro.{LogicalTypes, Schema}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import java.math.{BigInteger, BigDecimal => JavaDecimal}
import java.nio.charset.StandardCharsets.UTF_8
import java.time.LocalDate
import scala.collection.JavaConverters._

/** Reads Avro's scalar values as Catalyst values, widened if the requested type is wider. */
private[avro] object AvroScalars {

  /**
   * None if the stored type does not widen to the requested one.
   *
   * Hudi 0.15 to 1.0 stored milliseconds of a column as `timestamp-micros`, and local timestamps as plain integers.
   *
   * @param isMillis whether the table stores the column's timestamps in milliseconds
   */
  def reader(from: Schema, to: DataType, isMillis: Boolean): Option[ValueReader] = (from.getType, to) match {
    case (Schema.Type.BOOLEAN, BooleanType)         => Some(BooleanReader)
    case (Schema.Type.INT | Schema.Type.LONG, _)    => integer(from, to, isMillis)
    case (Schema.Type.FLOAT, FloatType)             => Some(FloatReader)
    case (Schema.Type.FLOAT, DoubleType)            => Some(FloatAsDouble)
    case (Schema.Type.FLOAT, _) if isString(to)     => Some(string(in => java.lang.Float.toString(in.readFloat())))
    case (Schema.Type.DOUBLE, DoubleType)           => Some(DoubleReader)
    case (Schema.Type.DOUBLE, _) if isString(to)    => Some(string(in => java.lang.Double.toString(in.readDouble())))
    case (Schema.Type.STRING, _) if isString(to)    => Some(StringReader)
    case (Schema.Type.STRING, BinaryType)           => Some(BytesReader)
    case (Schema.Type.ENUM, _) if isString(to)      => Some(new EnumReader(from.getEnumSymbols.asScala.toArray))
    case (Schema.Type.BYTES | Schema.Type.FIXED, _) => bytes(from, to)
    case _                                          => None
  }

  /** int and long have the same encoding. */
  private def integer(from: Schema, to: DataType, isMillis: Boolean): Option[ValueReader] = {
    val isInt    = from.getType == Schema.Type.INT
    val physical = Some(if (isMillis) MillisReader else LongReader)
    (from.getLogicalType, to) match {
      case (_: LogicalTypes.Date, DateType)          => Some(IntReader)
      case (_: LogicalTypes.Date, _) if isString(to) => Some(string(in => LocalDate.ofEpochDay(in.readLong()).toString))
      case (_: LogicalTypes.Date, _)                 => None
      case (_: LogicalTypes.TimestampMicros, TimestampType)                       => physical
      case (null, TimestampNTZType) if !isInt                                     => physical
      case (_: LogicalTypes.LocalTimestampMicros, TimestampNTZType)               => Some(LongReader)
      case (_: LogicalTypes.TimestampMillis, TimestampType)                       => Some(MillisReader)
      case (_: LogicalTypes.LocalTimestampMillis, TimestampNTZType)               => Some(MillisReader)
      case (_: LogicalTypes.TimestampMicros | _: LogicalTypes.TimestampMillis, _) => None
      case (_, ByteType) if isInt                                                 => Some(ByteReader)
      case (_, ShortType) if isInt                                                => Some(ShortReader)
      case (_, IntegerType) if isInt                                              => Some(IntReader)
      case (_, LongType)                                                          => Some(LongReader)
      case (_, FloatType)                                                         => Some(IntegerAsFloat)
      case (_, DoubleType)                                                        => Some(IntegerAsDouble)
      case (_, d: DecimalType) if Widening.isAllowed(if (isInt) IntegerType else LongType, d) =>
        Some(of(in => decimal(JavaDecimal.valueOf(in.readLong()), d)))
      case (_, _) if isString(to) => Some(string(in => java.lang.Long.toString(in.readLong())))
      case _                      => None
    }
  }

  private def bytes(from: Schema, to: DataType): Option[ValueReader] = {
    val size = if (from.getType == Schema.Type.FIXED) from.getFixedSize else -1
    (from.getLogicalType, to) match {
      case (stored: LogicalTypes.Decimal, d: DecimalType)
          if Widening.isAllowed(DecimalType(stored.getPrecision, stored.getScale), d) =>
        Some(new DecimalReader(size, stored.getScale, d))
      case (stored: LogicalTypes.Decimal, _) if isString(to) =>
        val scale = stored.getScale
        Some(string(in => new JavaDecimal(new BigInteger(plain(in, size)), scale).toPlainString))
      case (_: LogicalTypes.Decimal, _) => None
      case (_, BinaryType)              => Some(of(in => plain(in, size)))
      case (_, _) if isString(to) =>
        Some(if (size < 0) StringReader else of(in => UTF8String.fromBytes(in.readFixed(size))))
      case _ => None
    }
  }

  private def plain(in: AvroInput, size: Int): Array[Byte] = if (size < 0) in.readBytes() else in.readFixed(size)

  private def decimal(value: JavaDecimal, to: DecimalType): Decimal = Decimal(value, to.precision, to.scale)

  private def of(read: AvroInput => Any): ValueReader = new ValueReader {
    override def value(in: AvroInput): Any = read(in)
  }

  private def string(read: AvroInput => String): ValueReader = new ValueReader {
    override def value(in: AvroInput): Any = UTF8String.fromString(read(in))
  }

  private object BooleanReader extends ValueReader {
    override def value(in: AvroInput): Any                               = in.readBoolean()
    override def readInto(in: AvroInput, row: InternalRow, i: Int): Unit = row.setBoolean(i, in.readBoolean())
  }

  private object ByteReader extends ValueReader {
    override def value(in: AvroInput): Any                               = in.readInt().toByte
    override def readInto(in: AvroInput, row: InternalRow, i: Int): Unit = row.setByte(i, in.readInt().toByte)
  }

  private object ShortReader extends ValueReader {
    override def value(in: AvroInput): Any                               = in.readInt().toShort
    override def readInto(in: AvroInput, row: InternalRow, i: Int): Unit = row.setShort(i, in.readInt().toShort)
  }

  private object IntReader extends ValueReader {
    override def value(in: AvroInput): Any                               = in.readInt()
    override def readInto(in: AvroInput, row: InternalRow, i: Int): Unit = row.setInt(i, in.readInt())
  }

  private object LongReader extends ValueReader {
    override def value(in: AvroInput): Any                               = in.readLong()
    override def readInto(in: AvroInput, row: InternalRow, i: Int): Unit = row.setLong(i, in.readLong())
  }

  private object MillisReader extends ValueReader {
    override def value(in: AvroInput): Any                               = in.readLong() * 1000L
    override def readInto(in: AvroInput, row: InternalRow, i: Int): Unit = row.setLong(i, in.readLong() * 1000L)
  }

  private object IntegerAsFloat extends ValueReader {
    override def value(in: AvroInput): Any                               = in.readLong().toFloat
    override def readInto(in: AvroInput, row: InternalRow, i: Int): Unit = row.setFloat(i, in.readLong().toFloat)
  }

  private object IntegerAsDouble extends ValueReader {
    override def value(in: AvroInput): Any                               = in.readLong().toDouble
    override def readInto(in: AvroInput, row: InternalRow, i: Int): Unit = row.setDouble(i, in.readLong().toDouble)
  }

  private object FloatReader extends ValueReader {
    override def value(in: AvroInput): Any                               = in.readFloat()
    override def readInto(in: AvroInput, row: InternalRow, i: Int): Unit = row.setFloat(i, in.readFloat())
  }

  private object FloatAsDouble extends ValueReader {
    override def value(in: AvroInput): Any                               = in.readFloat().toDouble
    override def readInto(in: AvroInput, row: InternalRow, i: Int): Unit = row.setDouble(i, in.readFloat().toDouble)
  }

  private object DoubleReader extends ValueReader {
    override def value(in: AvroInput): Any                               = in.readDouble()
    override def readInto(in: AvroInput, row: InternalRow, i: Int): Unit = row.setDouble(i, in.readDouble())
  }

  private object StringReader extends ValueReader {
    override def value(in: AvroInput): Any = in.readString()
  }

  private object BytesReader extends ValueReader {
    override def value(in: AvroInput): Any = in.readBytes()
  }

  private final class EnumReader(symbols: Array[String]) extends ValueReader {
    private[this] val values               = symbols.map(symbol => UTF8String.fromBytes(symbol.getBytes(UTF_8)))
    override def value(in: AvroInput): Any = values(in.readInt())
  }

  /** @param size length of a fixed, in bytes; negative for Avro bytes, which have their own length */
  private final class DecimalReader(size: Int, scale: Int, to: DecimalType) extends ValueReader {
    private[this] val precision = to.precision
    private[this] val isShort   = precision <= Decimal.MAX_LONG_DIGITS && to.scale == scale

    override def value(in: AvroInput): Any = {
      val length = if (size < 0) in.readLength() else size
      if (isShort && length <= 8) Decimal.createUnsafe(in.readSigned(length), precision, scale)
      else decimal(new JavaDecimal(new BigInteger(in.readFixed(length)), scale), to)
    }
  }
}
