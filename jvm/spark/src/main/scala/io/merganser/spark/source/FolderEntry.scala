package io.merganser.spark.source

import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * What a catalog without a metastore stores of a table, in the table's own `hoodie.properties`: columns as they were
 * declared, and properties that are not settings of the table.
 *
 * @param columns with lengths of char and varchar, and comments; None for a table that was not created in a catalog
 * @param properties    the statement's properties
 */
final case class FolderEntry(columns: Option[StructType], properties: Map[String, String]) {

  /** The entry as properties of the table. */
  def stored: Map[String, String] =
    columns.map(c => FolderEntry.Columns -> c.json).toMap ++ properties.map { case (key, value) =>
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

  /** The table's properties without those of the entry. */
  def without(properties: Map[String, String]): Map[String, String] =
    properties.filterNot { case (key, _) => key == Columns || key.startsWith(Property) }
}
