package io.merganser.spark.source

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, CatalogTableType}
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.merganser.CatalogBridge

import java.net.URI

/** A catalog's entries of tables, and where it stores new ones. */
trait TableEntries {

  /** Location of a table that the catalog knows. */
  def known(name: Identifier): Option[URI]

  /** Location of a new table without an explicit one. */
  def place(name: Identifier): URI

  /** Properties to store with the table's own, for the catalog. */
  def kept(table: NewCatalogTable): Map[String, String]

  /** Adds an entry for a table that exists at its location. */
  def add(name: Identifier, table: NewCatalogTable): MerganserTable

  /** Updates the entry of a known table. */
  def change(name: Identifier, table: NewCatalogTable): Unit
}

/** Spark's session catalog: in memory, or a Hive metastore. */
final class SessionEntries(session: SparkSession) extends TableEntries {
  private val catalog = session.sessionState.catalog

  private def identifier(name: Identifier) = TableIdentifier(name.name, name.namespace.lastOption)

  override def known(name: Identifier): Option[URI] = CatalogBridge.catalogTable(session, name).map(_.location)

  override def place(name: Identifier): URI = catalog.defaultTablePath(identifier(name))

  override def kept(table: NewCatalogTable): Map[String, String] = Map.empty

  override def add(name: Identifier, table: NewCatalogTable): MerganserTable = {
    catalog.createTable(
      CatalogTable(
        identifier(name),
        if (table.isExternal) CatalogTableType.EXTERNAL else CatalogTableType.MANAGED,
        CatalogStorageFormat.empty.copy(locationUri = Some(table.place)),
        table.declared,
        provider = Some("merganser"),
        partitionColumnNames = Nil,
        properties = table.statementProperties,
        comment = table.comment
      ),
      ignoreIfExists = false,
      validateLocation = false
    )
    CatalogTables.ofCatalog(session, catalog.getTableMetadata(identifier(name)))
  }

  override def change(name: Identifier, table: NewCatalogTable): Unit = {
    val entry = catalog.getTableMetadata(identifier(name))
    val edited = entry.copy(properties = entry.properties ++ table.statementProperties,
      comment = table.comment.orElse(entry.comment))
    if (edited != entry) catalog.alterTable(edited)
    // An entry without columns takes them from the table's folder.
    if (entry.schema.nonEmpty) CatalogBridge.replaceColumns(session, entry.identifier, table.declared)
  }
}

/** A catalog that is a tree of folders. */
final class FolderEntries(session: SparkSession, folders: LakeFolders, label: Identifier => String)
    extends TableEntries {

  override def known(name: Identifier): Option[URI] = folders.table(name).map(_.toUri)

  override def place(name: Identifier): URI = folders.folder(name.namespace.toSeq :+ name.name).toUri

  override def kept(table: NewCatalogTable): Map[String, String] = entry(table).stored

  override def add(name: Identifier, table: NewCatalogTable): MerganserTable = {
    folders.add(name, new Path(table.place))
    CatalogTables.ofFolder(session, table.path, label(name))
  }

  override def change(name: Identifier, table: NewCatalogTable): Unit =
    TableAlteration.updateEntry(session, table.path)(before =>
      entry(table).copy(properties = before.properties ++ entry(table).properties))

  private def entry(table: NewCatalogTable): FolderEntry =
    FolderEntry(Some(table.columns).filter(_.nonEmpty),
      table.statementProperties ++ table.comment.map("comment" -> _))
}
