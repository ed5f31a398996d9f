package io.merganser.spark.sync

import io.merganser.table.options.Names
import org.apache.spark.sql.types._

/** Names of types in Hive, where all names are in lower case. */
private[sync] object HiveTypes {

  /** @param timestamps whether a timestamp is TIMESTAMP; else it is the number that the files have, BIGINT */
  def of(sparkType: DataType, timestamps: Boolean): String = sparkType match {
    case TimestampType | TimestampNTZType => if (timestamps) "timestamp" else "bigint"
    case ByteType | ShortType             => "int"
    case _: StringType                    => "string"
    case ArrayType(element, _)            => s"array<${of(element, timestamps)}>"
    case MapType(key, value, _)           => s"map<${of(key, timestamps)},${of(value, timestamps)}>"
    case StructType(fields) =>
      fields.map(f => s"${Names.lower(f.name)}:${of(f.dataType, timestamps)}").mkString("struct<", ",", ">")
    case other => other.catalogString
  }
}
