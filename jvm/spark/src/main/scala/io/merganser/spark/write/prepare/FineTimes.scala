package io.merganser.spark.write.prepare

import io.merganser.table.avro.Milliseconds
import io.merganser.table.options.Names
import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.Column
import org.apache.spark.sql.functions.{coalesce, col, exists, lit, map_values}
import org.apache.spark.sql.types._

/** Times with more digits than their column, which the table stores in milliseconds. */
private[prepare] object FineTimes {

  /**
   * They are refused: cut to milliseconds, a row would be older than the same row in its batch.
   *
   * @param key what identifies a row in the error
   */
  def refused(config: TableConfig, schema: StructType, key: Column): Seq[Requirement] =
    schema.filter(mayBeFine).map { column =>
      val fails = coalesce(isFine(col(Names.quoted(column.name)), column), lit(false))
      Requirement("TIME_BEYOND_MILLISECONDS", config.name, column.name, fails, key)
    }

  private def mayBeFine(field: StructField): Boolean = mayBeFine(field.dataType, Milliseconds.areIn(field))

  private def mayBeFine(dataType: DataType, isMillis: Boolean): Boolean = dataType match {
    case TimestampType | TimestampNTZType => isMillis
    case s: StructType                    => s.exists(mayBeFine)
    case a: ArrayType                     => mayBeFine(a.elementType, isMillis)
    case m: MapType                       => mayBeFine(m.valueType, isMillis)
    case _                                => false
  }

  private def isFine(value: Column, field: StructField): Column =
    isFine(value, field.dataType, Milliseconds.areIn(field))

  /** As a string, a time ends with its last digit that is not zero. */
  private def isFine(value: Column, dataType: DataType, isMillis: Boolean): Column = dataType match {
    case s: StructType =>
      s.filter(mayBeFine).map(field => isFine(value.getField(field.name), field)).reduce(_ || _)
    case a: ArrayType => exists(value, (element: Column) => isFine(element, a.elementType, isMillis))
    case m: MapType   => exists(map_values(value), (each: Column) => isFine(each, m.valueType, isMillis))
    case _            => value.cast(StringType).rlike("[.][0-9]{4}")
  }
}
