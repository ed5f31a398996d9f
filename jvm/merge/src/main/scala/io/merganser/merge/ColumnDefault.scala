package io.merganser.merge

import org.apache.spark.sql.types._

/** A column's default in the table's Avro schema, if it is not null. It is kept in the column's metadata. */
object ColumnDefault {
  private val Key = "merganser.default"

  def of(column: StructField): Option[Any] =
    if (!column.metadata.contains(Key)) None
    else column.dataType match {
      case BooleanType => Some(column.metadata.getBoolean(Key))
      case IntegerType => Some(column.metadata.getLong(Key).toInt)
      case LongType    => Some(column.metadata.getLong(Key))
      case FloatType   => Some(column.metadata.getDouble(Key).toFloat)
      case DoubleType  => Some(column.metadata.getDouble(Key))
      case StringType  => Some(column.metadata.getString(Key))
      case _           => None
    }

  /** The column with a default, if it is a value of the column's type. */
  def put(column: StructField, default: Any): StructField = {
    val metadata = new MetadataBuilder().withMetadata(column.metadata)
    val known = (column.dataType, default) match {
      case (BooleanType, value: Boolean) => Some(metadata.putBoolean(Key, value))
      case (IntegerType, value: Int)     => Some(metadata.putLong(Key, value.toLong))
      case (LongType, value: Long)       => Some(metadata.putLong(Key, value))
      case (FloatType, value: Float)     => Some(metadata.putDouble(Key, value.toDouble))
      case (DoubleType, value: Double)   => Some(metadata.putDouble(Key, value))
      case (StringType, value: String)   => Some(metadata.putString(Key, value))
      case _                             => None
    }
    known.fold(column)(found => column.copy(metadata = found.build()))
  }

  /** The column without its default: a column that becomes nullable has the default null. */
  def remove(column: StructField): StructField =
    if (!column.metadata.contains(Key)) column
    else column.copy(metadata = new MetadataBuilder().withMetadata(column.metadata).remove(Key).build())

  /**
   * Defaults that count as missing values, by position, null elsewhere: booleans, and integers from -128 to 127. Hudi
   * recognises these alone, since it compares references.
   */
  def recognised(schema: StructType): Array[Any] = schema.map { column =>
    of(column) match {
      case Some(value: Boolean)                               => value
      case Some(value: Int) if value >= -128 && value <= 127  => value
      case Some(value: Long) if value >= -128 && value <= 127 => value
      case _                                                  => null
    }
  }.toArray[Any]
}
