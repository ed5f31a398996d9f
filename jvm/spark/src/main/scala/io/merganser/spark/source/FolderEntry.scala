package io.merganser.spark.source

import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * What a catalog without a metastore keeps of a table, in the table's own `hoodie.properties`: columns as they were declared,
 * and properties that are no settings of the table.
 *
 * @param columns with lengths of char and varchar, and comments; none for a table that no catalog made
 * @param told    the statement's properties
 */
final case class FolderEntry(columns: Option[StructType], told: Map[String, String]) {

  /** As properties of the table's. */
  def stored: Map[String, String] =
    columns.map(c => FolderEntry.Columns -> c.json).toMap ++ told.map { case (key, value) =>
      FolderEntry.Property + key -> value
    }
}

object FolderEntry {
  private val Columns  = "merganser.catalog.columns"
  private val Property = "merganser.catalog.property."

  def of(config: TableConfig): FolderEntry = FolderEntry(
    config.properties.get(Columns).map(DataType.fromJson).collect { case columns: StructType => columns },
    config.properties.collect { case (key, value) if key.startsWith(Property) => key.drop(Property.length) -> value }
  )

  /** The properties without an entry's. */
  def without(properties: Map[String, String]): Map[String, String] =
    properties.filterNot { case (key, _) => key == Columns || key.startsWith(Property) }
}
