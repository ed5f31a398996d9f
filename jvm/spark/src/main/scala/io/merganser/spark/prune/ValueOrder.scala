package io.merganser.spark.prune

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import java.math.BigInteger
import java.nio.ByteBuffer

/** Values of a column as bytes whose unsigned order is that of the values. */
private[spark] object ValueOrder {

  /** Whether files have statistics in the order of the type's values. */
  def isKnown(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType      => true
    case DateType | TimestampType | TimestampNTZType | StringType | (_: DecimalType) => true
    case _                                                                           => false
  }

  /** @param row its value at `at` is not null */
  def of(row: InternalRow, at: Int, dataType: DataType): UTF8String = dataType match {
    case StringType                                  => row.getUTF8String(at)
    case LongType | TimestampType | TimestampNTZType => ofInteger(row.getLong(at))
    case IntegerType | DateType                      => ofInteger(row.getInt(at).toLong)
    case ShortType                                   => ofInteger(row.getShort(at).toLong)
    case ByteType                                    => ofInteger(row.getByte(at).toLong)
    case FloatType                                   => ofDouble(row.getFloat(at).toDouble)
    case DoubleType                                  => ofDouble(row.getDouble(at))
    case d: DecimalType =>
      ofUnscaled(row.getDecimal(at, d.precision, d.scale).toJavaBigDecimal.setScale(d.scale).unscaledValue)
    case other => throw new IllegalStateException(s"no order for type $other")
  }

  /** None if the value does not have the column's type. */
  def ofExternal(value: Any, dataType: DataType): Option[UTF8String] = (value, dataType) match {
    case (s: String, StringType)            => Some(UTF8String.fromString(s))
    case (d: java.sql.Date, DateType)       => Some(ofInteger(d.toLocalDate.toEpochDay))
    case (d: java.time.LocalDate, DateType) => Some(ofInteger(d.toEpochDay))
    case (n: java.lang.Number, ByteType | ShortType | IntegerType | LongType) => Some(ofInteger(n.longValue))
    case _                                                                    => None
  }

  def ofInteger(value: Long): UTF8String = bytes(value ^ Long.MinValue)

  /** As in SQL, -0.0 is 0.0 and NaN is the largest. */
  def ofDouble(value: Double): UTF8String = {
    val bits = java.lang.Double.doubleToLongBits(if (value == 0.0) 0.0 else value)
    bytes(if (bits < 0) ~bits else bits ^ Long.MinValue)
  }

  /** @param value of at most 38 digits */
  def ofUnscaled(value: BigInteger): UTF8String = {
    val digits = value.toByteArray
    val out    = Array.fill[Byte](DecimalBytes)(if (value.signum < 0) -1 else 0)
    System.arraycopy(digits, 0, out, DecimalBytes - digits.length, digits.length)
    out(0) = (out(0) ^ 0x80).toByte
    UTF8String.fromBytes(out)
  }

  private final val DecimalBytes = 17

  private def bytes(value: Long): UTF8String = UTF8String.fromBytes(ByteBuffer.allocate(8).putLong(value).array)
}
