package io.merganser.spark

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.source._
import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.merganser.CatalogBridge
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import java.util

/**
 * The session catalog with our tables in it: `spark.sql.catalog.spark_catalog`. Tables of other formats are unaffected.
 *
 * Spark's own catalog stores a table's columns and location; everything else is in the table's folder.
 */
class MerganserCatalog extends DelegatingCatalogExtension with OwnCatalog {

  /** @throws MerganserException SESSION_CATALOG_NAME, because it only extends the session catalog */
  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = {
    if (name != "spark_catalog") throw MerganserException("SESSION_CATALOG_NAME", "catalog" -> name)
    super.initialize(name, options)
  }

  /** Our table by name or, in the namespace `merganser`, by path; otherwise a table of the session catalog. */
  override def loadTable(name: Identifier): Table =
    if (CatalogTables.isPath(name)) CatalogTables.ofPath(SparkSession.active, name)
    else ours(name) match {
      case Some(entry) => CatalogTables.ofCatalog(SparkSession.active, entry)
      case None        => super.loadTable(name)
    }

  /** The entry of one of our tables in Spark's catalog. */
  private def ours(name: Identifier): Option[CatalogTable] =
    CatalogBridge.catalogTable(SparkSession.active, name).filter(entry => CatalogTables.isOurs(entry.provider))

  override def loadTable(name: Identifier, version: String): Table = loadTable(name) match {
    case ours: MerganserTable => ours.asOf(version)
    case _                    => super.loadTable(name, version)
  }

  override def loadTable(name: Identifier, timestamp: Long): Table = loadTable(name) match {
    case ours: MerganserTable => ours.asOfTime(timestamp)
    case _                    => super.loadTable(name, timestamp)
  }

  override def tableExists(name: Identifier): Boolean =
    if (CatalogTables.isPath(name)) TableConfig.exists(OpenTable.storage(SparkSession.active, name.name))
    else super.tableExists(name)

  override def alterTable(name: Identifier, changes: TableChange*): Table =
    if (CatalogTables.isPath(name)) {
      TableAlteration.ofFolder(SparkSession.active, name.name, s"merganser.`${name.name}`", changes)
      loadTable(name)
    } else ours(name) match {
      case Some(entry) =>
        TableAlteration.ofSession(SparkSession.active, entry, changes)
        loadTable(name)
      case None => super.alterTable(name, changes: _*)
    }

  /** @throws MerganserException DROP_BY_PATH */
  override def dropTable(name: Identifier): Boolean = {
    CatalogTables.refuseDropOfPath(name)
    super.dropTable(name)
  }

  override def purgeTable(name: Identifier): Boolean = {
    CatalogTables.refuseDropOfPath(name)
    super.purgeTable(name)
  }

  override def renameTable(from: Identifier, to: Identifier): Unit = {
    val entry = ours(from)
    entry.fold(super.renameTable(from, to)) { own =>
      TableAlteration.rename(SparkSession.active, CatalogTables.path(own), to)(super.renameTable(from, to))
    }
  }

  override protected def create(table: DeclaredTable): Table =
    if (isOurs(table.properties)) described(table).create()
    else super[DelegatingCatalogExtension].createTable(table.name, table.columns, table.partitions, table.properties)

  override protected def stage(table: DeclaredTable, replaces: Boolean): StagedTable =
    if (isOurs(table.properties)) {
      val existing = CatalogBridge.catalogTable(SparkSession.active, table.name)
      existing.filterNot(t => CatalogTables.isOurs(t.provider)).foreach { other =>
        throw MerganserException("REPLACE_OF_OTHER_FORMAT", "table" -> table.name,
          "format" -> other.provider.getOrElse("none"))
      }
      new StagedCatalogTable(SparkSession.active, described(table), replaces)
    } else {
      if (replaces) dropTable(table.name)
      new StagedForeignTable(this, table.name, create(table))
    }

  private def described(table: DeclaredTable): NewCatalogTable =
    new NewCatalogTable(SparkSession.active, new SessionEntries(SparkSession.active), table)

  private def isOurs(properties: util.Map[String, String]): Boolean =
    CatalogTables.isOurs(Option(properties.get(TableCatalog.PROP_PROVIDER)))
}
