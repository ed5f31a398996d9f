package io.merganser.spark

import io.merganser.merge.MerganserException
import io.merganser.spark.source.{MerganserTable, NewCatalogTable}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.merganser.CatalogBridge
import org.apache.spark.sql.types.StructType

import java.util

/**
 * The session catalog with our tables in it: `spark.sql.catalog.spark_catalog`. Tables of other formats are as before.
 *
 * A table is kept in Spark's own catalog, with its columns and place; what it is otherwise stands in its folder.
 */
class MerganserCatalog extends DelegatingCatalogExtension {

  override def loadTable(name: Identifier): Table = CatalogBridge.catalogTable(SparkSession.active, name) match {
    case Some(table) if NewCatalogTable.isOurs(table.provider) => MerganserTable.ofCatalog(SparkSession.active, table)
    case _                                                     => super.loadTable(name)
  }

  override def loadTable(name: Identifier, version: String): Table = loadTable(name) match {
    case ours: MerganserTable => ours.asOf(version)
    case _                    => super.loadTable(name, version)
  }

  override def createTable(name: Identifier, schema: StructType, partitions: Array[Transform], properties: util.Map[String, String]): Table =
    if (NewCatalogTable.isOurs(Option(properties.get(TableCatalog.PROP_PROVIDER))))
      NewCatalogTable.create(SparkSession.active, name, schema, partitions, properties)
    else super.createTable(name, schema, partitions, properties)

  override def createTable(name: Identifier, columns: Array[Column], partitions: Array[Transform], properties: util.Map[String, String]): Table =
    if (NewCatalogTable.isOurs(Option(properties.get(TableCatalog.PROP_PROVIDER)))) {
      columns.find(c => c.defaultValue != null || c.generationExpression != null).foreach { c =>
        throw MerganserException("COLUMN_DEFAULT_UNSUPPORTED", "table" -> name, "column" -> c.name)
      }
      createTable(name, CatalogBridge.schema(columns), partitions, properties)
    } else super.createTable(name, columns, partitions, properties)
}
