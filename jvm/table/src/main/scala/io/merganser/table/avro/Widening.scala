package io.merganser.table.avro

import org.apache.spark.sql.types._

/** Which type a column may have been given after files were written with another. */
object Widening {

  /** True if every value of the stored type is a value of the requested one, or has one text or byte form that is. */
  def isAllowed(stored: DataType, requested: DataType): Boolean = (stored, requested) match {
    case (ByteType | ShortType | IntegerType, LongType | FloatType | DoubleType | StringType) => true
    case (LongType, FloatType | DoubleType | StringType)                                      => true
    case (FloatType, DoubleType | StringType)                                                 => true
    case (DoubleType | DateType | BinaryType, StringType)                                     => true
    case (StringType, BinaryType)                                                             => true
    case (ByteType | ShortType | IntegerType | LongType, d: DecimalType) =>
      d.precision - d.scale >= (if (stored == LongType) 20 else 10)
    case (s: DecimalType, r: DecimalType) => r.scale >= s.scale && r.precision - r.scale >= s.precision - s.scale
    case (_: DecimalType, StringType)     => true
    case _                                => false
  }

  /**
   * True if a column of the first type may become one of the second because rows bring that: what [[isAllowed]] says, but
   * text does not turn into bytes, nor bytes into text.
   */
  def isPromotion(stored: DataType, requested: DataType): Boolean = (stored, requested) match {
    case (BinaryType, _) | (_, BinaryType) => false
    case _                                 => isAllowed(stored, requested)
  }
}
