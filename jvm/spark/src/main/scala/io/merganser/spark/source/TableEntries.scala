package io.merganser.spark.source

import io.merganser.table.properties.TableConfig
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, CatalogTableType}
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.merganser.CatalogBridge

import java.net.URI

/** Where a catalog keeps its tables, and how it remembers them. */
trait TableEntries {

  /** Where a table lies that the catalog knows. */
  def known(name: Identifier): Option[URI]

  /** Where a new table goes that is given no place. */
  def place(name: Identifier): URI

  /** What the table's own properties are to keep for the catalog. */
  def kept(table: NewCatalogTable): Map[String, String]

  /** Remembers a table that is in its place. */
  def add(name: Identifier, table: NewCatalogTable): MerganserTable

  /** Remembers what has become of a table that it knows. */
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
        properties = table.said,
        comment = table.comment
      ),
      ignoreIfExists = false,
      validateLocation = false
    )
    MerganserTable.ofCatalog(session, catalog.getTableMetadata(identifier(name)))
  }

  override def change(name: Identifier, table: NewCatalogTable): Unit = {
    val entry = catalog.getTableMetadata(identifier(name))
    val told  = entry.copy(properties = entry.properties ++ table.said, comment = table.comment.orElse(entry.comment))
    if (told != entry) catalog.alterTable(told)
    // Of an entry without columns the table's folder tells them.
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
    MerganserTable.ofFolder(session, table.place.toString, label(name))
  }

  override def change(name: Identifier, table: NewCatalogTable): Unit =
    FolderEntries.update(session, table.place.toString)(before =>
      entry(table).copy(told = before.told ++ entry(table).told))

  private def entry(table: NewCatalogTable): FolderEntry =
    FolderEntry(Some(table.declaredColumns).filter(_.nonEmpty), table.said ++ table.comment.map("comment" -> _))
}

object FolderEntries {

  /** Changes what a table keeps for its catalog. */
  def update(session: SparkSession, path: String)(change: FolderEntry => FolderEntry): Unit =
    TableAlteration.update(session, path)(old =>
      FolderEntry.without(old) ++ change(FolderEntry.of(TableConfig(old))).stored)
}
