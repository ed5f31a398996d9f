package io.merganser.spark

import io.merganser.merge.MerganserException
import io.merganser.spark.source.{AlterColumns, MerganserTable, NewCatalogTable, StagedCatalogTable, StagedForeignTable}
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
class MerganserCatalog extends DelegatingCatalogExtension with StagingTableCatalog {
  private type Properties = util.Map[String, String]

  /** Ours by name or, in the namespace `merganser`, by path; else the session's. */
  override def loadTable(name: Identifier): Table =
    if (MerganserTable.isPath(name)) MerganserTable.ofPath(SparkSession.active, name)
    else CatalogBridge.catalogTable(SparkSession.active, name) match {
      case Some(table) if NewCatalogTable.isOurs(table.provider) => MerganserTable.ofCatalog(SparkSession.active, table)
      case _                                                     => super.loadTable(name)
    }

  override def loadTable(name: Identifier, version: String): Table = loadTable(name) match {
    case ours: MerganserTable => ours.asOf(version)
    case _                    => super.loadTable(name, version)
  }

  override def createTable(name: Identifier, schema: StructType, partitions: Array[Transform], properties: Properties): Table =
    if (isOurs(properties)) NewCatalogTable.create(SparkSession.active, name, schema, partitions, properties)
    else super.createTable(name, schema, partitions, properties)

  override def createTable(name: Identifier, columns: Array[Column], partitions: Array[Transform], properties: Properties): Table =
    if (isOurs(properties)) createTable(name, plain(name, columns), partitions, properties)
    else super.createTable(name, columns, partitions, properties)

  override def alterTable(name: Identifier, changes: TableChange*): Table = CatalogBridge.catalogTable(SparkSession.active, name) match {
    case Some(table) if NewCatalogTable.isOurs(table.provider) && changes.exists(_.isInstanceOf[TableChange.ColumnChange]) =>
      AlterColumns.ofCatalog(SparkSession.active, table, changes)
      loadTable(name)
    case _ => super.alterTable(name, changes: _*)
  }

  override def stageCreate(name: Identifier, schema: StructType, partitions: Array[Transform], properties: Properties): StagedTable =
    stage(name, schema, partitions, properties, replaces = false)

  override def stageCreate(name: Identifier, columns: Array[Column], partitions: Array[Transform], properties: Properties): StagedTable =
    if (isOurs(properties)) stageCreate(name, plain(name, columns), partitions, properties)
    else new StagedForeignTable(this, name, createTable(name, columns, partitions, properties))

  override def stageReplace(name: Identifier, schema: StructType, partitions: Array[Transform], properties: Properties): StagedTable =
    stage(name, schema, partitions, properties, replaces = true)

  override def stageReplace(name: Identifier, columns: Array[Column], partitions: Array[Transform], properties: Properties): StagedTable =
    if (isOurs(properties)) stageReplace(name, plain(name, columns), partitions, properties)
    else {
      dropTable(name)
      new StagedForeignTable(this, name, createTable(name, columns, partitions, properties))
    }

  override def stageCreateOrReplace(
      name: Identifier, schema: StructType, partitions: Array[Transform], properties: Properties
  ): StagedTable =
    stageReplace(name, schema, partitions, properties)

  override def stageCreateOrReplace(
      name: Identifier, columns: Array[Column], partitions: Array[Transform], properties: Properties
  ): StagedTable =
    stageReplace(name, columns, partitions, properties)

  private def stage(
      name: Identifier, schema: StructType, partitions: Array[Transform], properties: Properties, replaces: Boolean
  ): StagedTable =
    if (isOurs(properties)) {
      val session = SparkSession.active
      val there   = CatalogBridge.catalogTable(session, name)
      there.filterNot(t => NewCatalogTable.isOurs(t.provider)).foreach { other =>
        throw MerganserException("REPLACE_OF_OTHER_FORMAT", "table" -> name, "format" -> other.provider.getOrElse("none"))
      }
      val described = new NewCatalogTable(session, name, schema, partitions, properties, there.map(_.location))
      new StagedCatalogTable(session, name, schema, described, replaces)
    } else {
      if (replaces) dropTable(name)
      new StagedForeignTable(this, name, createTable(name, schema, partitions, properties))
    }

  private def isOurs(properties: Properties): Boolean = NewCatalogTable.isOurs(Option(properties.get(TableCatalog.PROP_PROVIDER)))

  private def plain(name: Identifier, columns: Array[Column]): StructType = {
    columns.find(c => c.defaultValue != null || c.generationExpression != null).foreach { c =>
      throw MerganserException("COLUMN_DEFAULT_UNSUPPORTED", "table" -> name, "column" -> c.name)
    }
    CatalogBridge.schema(columns)
  }
}
