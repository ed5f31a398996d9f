package io.merganser.table.avro

import org.apache.spark.sql.types.{CharType, DataType, StringType, VarcharType}

object StringTypes {

  /** Whether values of the type are `UTF8String` in rows. */
  def isString(dataType: DataType): Boolean = dataType match {
    case StringType | _: CharType | _: VarcharType => true
    case _                                         => false
  }
}
