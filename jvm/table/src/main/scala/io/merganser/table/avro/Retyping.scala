// Hot path: one call per value.
package io.merganser.table.avro

import io.merganser.table.avro.AvroValues.ValueReader
import org.apache.avro.Schema
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.types._

import java.math.{BigDecimal => JavaDecimal}

/**
 * Type changes that [[Widening]] does not allow, but that a table with versions of its columns may have had: numbers
 * and strings to decimals, which are rounded half up, strings to dates. What does not fit is null. A float becomes the
 * double with the same decimal digits.
 */
object Retyping {

  def isAllowed(stored: DataType, requested: DataType): Boolean = (stored, requested) match {
    case (ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType | StringType, _: DecimalType) => true
    case (StringType, DateType)                                                                                => true
    case _                                                                                                     => false
  }

  /** None if [[AvroScalars]] reads the value alike, or if the change is not allowed. */
  private[avro] def reader(from: Schema, to: DataType): Option[ValueReader] = (from.getType, to) match {
    case (Schema.Type.FLOAT, DoubleType) => Some(FloatAsDouble)
    case (Schema.Type.INT | Schema.Type.LONG, d: DecimalType) if from.getLogicalType == null =>
      Some(decimal(d)(in => JavaDecimal.valueOf(in.readLong())))
    case (Schema.Type.FLOAT, d: DecimalType) => Some(decimal(d)(in => digits(java.lang.Float.toString(in.readFloat()))))
    case (Schema.Type.DOUBLE, d: DecimalType) =>
      Some(decimal(d)(in => digits(java.lang.Double.toString(in.readDouble()))))
    case (Schema.Type.STRING, d: DecimalType) => Some(decimal(d)(in => digits(in.readString().toString.trim)))
    case (Schema.Type.STRING, DateType) => Some(new ValueReader {
        override def value(in: AvroInput): Any = DateTimeUtils.stringToDate(in.readString()).orNull
      })
    case _ => None
  }

  private def digits(value: String): JavaDecimal =
    try new JavaDecimal(value)
    catch { case _: NumberFormatException => null }

  private def decimal(to: DecimalType)(read: AvroInput => JavaDecimal): ValueReader = new ValueReader {
    override def value(in: AvroInput): Any = {
      val found = read(in)
      if (found == null) null
      else {
        val rounded = Decimal(found)
        if (rounded.changePrecision(to.precision, to.scale)) rounded else null
      }
    }
  }

  private object FloatAsDouble extends ValueReader {
    override def value(in: AvroInput): Any                               = double(in)
    override def readInto(in: AvroInput, row: InternalRow, i: Int): Unit = row.setDouble(i, double(in))

    private def double(in: AvroInput): Double = java.lang.Double.parseDouble(java.lang.Float.toString(in.readFloat()))
  }
}
