package io.merganser.spark.source

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogUtils}
import org.apache.spark.sql.connector.catalog.{Identifier, TableCatalog}
import org.apache.spark.sql.merganser.CatalogBridge

/** The tables of catalogs, and those that are named by their paths. */
object CatalogTables {

  /** Whether a provider, as a catalog has it, is this format. */
  def isOurs(provider: Option[String]): Boolean =
    provider.exists(p => p.equalsIgnoreCase("merganser") || p == classOf[MerganserSource].getName)

  /** The location of an entry of Spark's session catalog as a path, in which nothing is encoded. */
  def path(entry: CatalogTable): String = CatalogUtils.URIToString(entry.location)

  /** A table of Spark's session catalog. */
  def ofCatalog(session: SparkSession, table: CatalogTable): MerganserTable =
    NamedTable(TableSpec(
        session,
        path(table),
        table.identifier.unquotedString,
        Map.empty,
        () => OpenTable.load(session, path(table)),
        Some(CatalogBridge.columns(table)).filter(_.nonEmpty),
        Some(table),
        Some(CatalogBridge.v2Properties(table) + (TableCatalog.PROP_PROVIDER -> "merganser"))
      ))

  /**
   * A table of a catalog of folders, or one that is named by its path.
   *
   * @throws io.merganser.merge.MerganserException PATH_IS_NO_TABLE
   */
  def ofFolder(session: SparkSession, path: String, label: String): MerganserTable = {
    val opened = OpenTable.load(session, path)
    val folder = FolderEntry.of(opened.config)
    NamedTable(TableSpec(session, path, label, Map.empty, () => opened, folder.columns,
        entry = Some(
          folder.properties + (TableCatalog.PROP_PROVIDER -> "merganser") + (TableCatalog.PROP_LOCATION -> path))))
  }

  /** Whether it names a table by its path: `` merganser.`/lake/trips` ``. */
  def isPath(name: Identifier): Boolean =
    name.namespace.length == 1 && isOurs(Some(name.namespace.head)) && name.name.contains("/")

  /** @throws io.merganser.merge.MerganserException DROP_BY_PATH for a table that is named by its path */
  def refuseDropOfPath(name: Identifier): Unit =
    if (isPath(name)) throw MerganserException("DROP_BY_PATH", "path" -> name.name)

  /** The table at the path in an identifier. */
  def ofPath(session: SparkSession, name: Identifier): MerganserTable =
    ofFolder(session, name.name, s"merganser.`${name.name}`")
}
