package io.merganser.table.avro

import org.apache.spark.sql.types._

/** Type changes of columns that are allowed after files were written with the old type. */
object Widening {

  /**
   * True if values of the stored type are read as the requested one: without loss, except that FLOAT rounds integers
   * and DOUBLE rounds LONGs beyond 2^53, as Hudi's widening does; or as their unique string or binary form.
   */
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
   * True if incoming rows of the second type may widen a column of the first: as [[isAllowed]], except that string and
   * binary are not converted into each other.
   */
  def isPromotion(stored: DataType, requested: DataType): Boolean = (stored, requested) match {
    case (BinaryType, _) | (_, BinaryType) => false
    case _                                 => isAllowed(stored, requested)
  }
}
