package io.merganser.spark.write.key

import io.merganser.table.properties.{PartitionField, PartitionKind, TableConfig}
import org.apache.spark.sql.Column
import org.apache.spark.sql.functions.lit
import org.apache.spark.sql.types._

/**
 * Rows whose key or path other values of the columns have too. Without them different values have different keys and
 * paths, but for null and the empty string, which are one partition, and for strings as slashed dates.
 */
private[spark] object AmbiguousKeys {

  /** True for such a row; None if no value can have the key of another. */
  def inKey(config: TableConfig, schema: StructType): Option[Column] = {
    val fields = config.recordKeyFields
    if (fields.size < 2) None
    else
      anyOf(fields.zip(fields.drop(1).map(Option(_)) :+ None).filter(f => isString(schema, f._1)).map {
        case (field, next) =>
          val value = KeyColumns.stringOf(schema, field)
          val isMarker =
            value === lit(KeyStrings.NullPart.toString) || value === lit(KeyStrings.EmptyPart.toString)
          next.fold(isMarker)(name => isMarker || value.contains(s",$name:"))
      })
  }

  /** True for such a row; None if no value can have the path of another. */
  def inPath(config: TableConfig, schema: StructType): Option[Column] = {
    val strings = config.partitionSpec.collect {
      case PartitionField(field, PartitionKind.Simple) if isString(schema, field) => field
    }
    anyOf(strings.map { field =>
      val value     = KeyColumns.stringOf(schema, field)
      val isDefault = value === lit(KeyStrings.DefaultPartition.toString)
      // The levels of all other columns are of a fixed number, so that those of one string may be any.
      val splits = !config.urlEncode && field != strings.last
      if (splits) isDefault || value.contains("/") else isDefault
    })
  }

  private def anyOf(conditions: Seq[Column]): Option[Column] =
    conditions.map(_ <=> lit(true)).reduceOption(_ || _)

  private def isString(schema: StructType, field: String): Boolean =
    KeyColumns.typeOf(schema, field) match {
      case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType => false
      case _                                                                          => true
    }
}
