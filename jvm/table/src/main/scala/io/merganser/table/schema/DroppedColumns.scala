package io.merganser.table.schema

import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.types.{StringType, StructField, StructType}

/**
 * Partition columns that a table's base files do not have (`drop.partition.columns`). Their values are parsed from
 * partition paths. Commits may have them or not: without them they are strings, and the table's last columns.
 */
object DroppedColumns {

  /** In the order of the path's levels; empty for other tables. */
  def of(config: TableConfig): Seq[String] = if (config.dropsPartitionColumns) config.partitionFields else Nil

  /** The table's columns. @param stored those of its newest commit; empty where there are none yet */
  def added(config: TableConfig, stored: StructType): StructType = {
    val missing = of(config).filterNot(name => stored.fieldNames.exists(_.equalsIgnoreCase(name)))
    if (stored.isEmpty) stored else StructType(stored ++ missing.map(StructField(_, StringType)))
  }

  /** The columns of base files, and of the commits of a new table. */
  def removed(config: TableConfig, columns: StructType): StructType = removed(config, columns, new StructType)

  /** The columns for the next commit of a table. @param stored those of its newest commit */
  def removed(config: TableConfig, columns: StructType, stored: StructType): StructType = {
    def has(schema: StructType, name: String) = schema.fieldNames.exists(_.equalsIgnoreCase(name))
    val dropped                               = of(config).filterNot(has(stored, _))
    StructType(columns.filterNot(field => dropped.exists(_.equalsIgnoreCase(field.name))))
  }
}
