package io.merganser.table.avro

import org.apache.spark.sql.types.{CharType, DataType, StringType, VarcharType}

object TextType {

  /** Whether rows have this type's values as `UTF8String`. */
  def isText(dataType: DataType): Boolean = dataType match {
    case StringType | _: CharType | _: VarcharType => true
    case _                                         => false
  }
}
