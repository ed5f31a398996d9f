package org.apache.spark.sql.merganser

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, CatalogTableType}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.connector.catalog.{CatalogV2Util, Column, Identifier, V1Table}
import org.apache.spark.sql.types.{StructField, StructType}

/** Entries of tables in Spark's session catalog. */
object CatalogBridge {

  def schema(columns: Array[Column]): StructType = CatalogV2Util.v2ColumnsToStructType(columns)

  def columns(schema: StructType): Array[Column] = CatalogV2Util.structTypeToV2Columns(schema)

  /** A column, or a field inside of one, of structs, arrays and maps. */
  def field(schema: StructType, path: Seq[String]): Option[StructField] =
    schema.findNestedField(path, includeCollections = true).map(_._2)

  /** None if there is no such table, or the name does not have the form of the session catalog's. */
  def catalogTable(session: SparkSession, name: Identifier): Option[CatalogTable] =
    if (name.namespace.length != 1) None
    else {
      val catalog    = session.sessionState.catalog
      val identifier = TableIdentifier(name.name, Some(name.namespace.head))
      if (!catalog.isTempView(identifier) && catalog.tableExists(identifier)) Some(catalog.getTableMetadata(identifier))
      else None
    }

  /** Replaces the columns of a table's entry; none of the existing ones may be missing. */
  def alterColumns(session: SparkSession, table: TableIdentifier, columns: StructType): Unit =
    session.sessionState.catalog.alterTableDataSchema(table,
      CharVarcharUtils.replaceCharVarcharWithStringInSchema(columns))

  /** The same, where columns may be missing. */
  def replaceColumns(session: SparkSession, table: TableIdentifier, columns: StructType): Unit = {
    val database = table.database.getOrElse(session.sessionState.catalog.getCurrentDatabase)
    session.sharedState.externalCatalog.alterTableDataSchema(database, table.table,
      CharVarcharUtils.replaceCharVarcharWithStringInSchema(columns))
  }

  /** The columns of a table, with the lengths of char and varchar columns. */
  def columns(table: CatalogTable): StructType = CharVarcharUtils.getRawSchema(table.schema)

  /** An entry for a table of ours that Spark's catalog does not have. Spark refreshes what is cached by its name. */
  def ofPath(path: String, columns: StructType): CatalogTable =
    CatalogTable(TableIdentifier(path, Some("merganser")), CatalogTableType.EXTERNAL,
      CatalogStorageFormat.empty.copy(locationUri = Some(new Path(path).toUri)), columns, Some("merganser"))

  /** A table's properties for Spark's own commands, with the reserved ones for location, type, owner and comment. */
  def v2Properties(table: CatalogTable): Map[String, String] = V1Table.addV2TableProperties(table)
}
