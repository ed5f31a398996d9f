package io.merganser.spark.source

import org.apache.spark.sql.catalyst.analysis.NoSuchTableException
import org.apache.spark.sql.connector.catalog.{Column, Identifier, StagedTable, StagingTableCatalog, Table}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.merganser.CatalogBridge
import org.apache.spark.sql.types.StructType

import java.util

/** A catalog of this project, which is used where it is configured. Spark creates tables in it in eight ways. */
private[spark] trait OwnCatalog extends StagingTableCatalog {

  protected def create(table: DeclaredTable): Table

  /**
   * A table that appears with its first rows.
   *
   * @param replaces true if an existing table is overwritten, false if none may exist
   */
  protected def stage(table: DeclaredTable, replaces: Boolean): StagedTable

  /** CREATE TABLE … LIKE: an empty table with settings of its own alone, whatever the session's defaults are. */
  private[spark] final def createLike(name: Identifier, like: LikeTable): Table =
    create(DeclaredTable(name, CatalogBridge.columns(like.columns), like.partitions, like.properties, isLike = true))

  override def createTable(
      name: Identifier,
      columns: Array[Column],
      partitions: Array[Transform],
      properties: util.Map[String, String]
  ): Table = create(DeclaredTable(name, columns, partitions, properties))

  override def createTable(
      name: Identifier,
      schema: StructType,
      partitions: Array[Transform],
      properties: util.Map[String, String]
  ): Table = createTable(name, CatalogBridge.columns(schema), partitions, properties)

  override def stageCreate(
      name: Identifier,
      columns: Array[Column],
      partitions: Array[Transform],
      properties: util.Map[String, String]
  ): StagedTable = stage(DeclaredTable(name, columns, partitions, properties), replaces = false)

  override def stageCreate(
      name: Identifier,
      schema: StructType,
      partitions: Array[Transform],
      properties: util.Map[String, String]
  ): StagedTable = stageCreate(name, CatalogBridge.columns(schema), partitions, properties)

  override def stageReplace(
      name: Identifier,
      columns: Array[Column],
      partitions: Array[Transform],
      properties: util.Map[String, String]
  ): StagedTable = {
    if (!tableExists(name)) throw new NoSuchTableException(name)
    stageCreateOrReplace(name, columns, partitions, properties)
  }

  override def stageReplace(
      name: Identifier,
      schema: StructType,
      partitions: Array[Transform],
      properties: util.Map[String, String]
  ): StagedTable = stageReplace(name, CatalogBridge.columns(schema), partitions, properties)

  override def stageCreateOrReplace(
      name: Identifier,
      columns: Array[Column],
      partitions: Array[Transform],
      properties: util.Map[String, String]
  ): StagedTable = stage(DeclaredTable(name, columns, partitions, properties), replaces = true)

  override def stageCreateOrReplace(
      name: Identifier,
      schema: StructType,
      partitions: Array[Transform],
      properties: util.Map[String, String]
  ): StagedTable = stageCreateOrReplace(name, CatalogBridge.columns(schema), partitions, properties)
}
