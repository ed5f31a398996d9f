package io.merganser.spark

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.source._
import io.merganser.table.commit.TableFolder
import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.NamespaceChange.{RemoveProperty, SetProperty}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import java.util
import scala.collection.JavaConverters._

/**
 * A catalog of our tables only, without a metastore: `spark.sql.catalog.lake=io.merganser.spark.MerganserLakeCatalog`
 * and `spark.sql.catalog.lake.warehouse=/path`. Namespaces are folders below the warehouse, tables are folders below
 * these.
 */
class MerganserLakeCatalog extends OwnCatalog with SupportsNamespaces {
  private type Described = util.Map[String, String]

  private var catalog: String       = _
  private var place: Option[String] = None

  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = {
    catalog = name
    place = Option(options.get("warehouse"))
    if (place.isEmpty) throw MerganserException("CATALOG_WAREHOUSE_MISSING", "catalog" -> name)
  }

  override def name(): String = catalog

  private def session: SparkSession = SparkSession.active

  private def folders: LakeFolders =
    new LakeFolders(session, catalog,
      place.getOrElse(throw new IllegalStateException("a catalog that was not initialized")))

  private def entries: FolderEntries = new FolderEntries(session, folders, label)

  private def label(name: Identifier): String = (catalog +: name.namespace :+ name.name).mkString(".")

  // --- tables -------------------------------------------------------------------------------------------------------

  override def listTables(namespace: Array[String]): Array[Identifier] = {
    requireNamespace(namespace)
    folders.tables(namespace.toSeq).map(Identifier.of(namespace, _)).toArray
  }

  override def tableExists(name: Identifier): Boolean =
    if (CatalogTables.isPath(name)) TableConfig.exists(OpenTable.storage(session, name.name))
    else folders.table(name).isDefined

  override def loadTable(name: Identifier): Table = load(name)

  override def loadTable(name: Identifier, version: String): Table = load(name).asOf(version)

  override def loadTable(name: Identifier, timestamp: Long): Table = load(name).asOfTime(timestamp)

  private def load(name: Identifier): MerganserTable =
    if (CatalogTables.isPath(name)) CatalogTables.ofPath(session, name)
    else CatalogTables.ofFolder(session, placeOf(name), label(name))

  private def placeOf(name: Identifier): String =
    folders.table(name).getOrElse(throw new NoSuchTableException(name)).toString

  override protected def create(table: DeclaredTable): Table = {
    requireNew(table)
    described(table).create()
  }

  override protected def stage(table: DeclaredTable, replaces: Boolean): StagedTable = {
    if (!replaces || !tableExists(table.name)) requireNew(table)
    new StagedCatalogTable(session, described(table), replaces)
  }

  private def described(table: DeclaredTable) = new NewCatalogTable(session, entries, table)

  private def requireNew(table: DeclaredTable): Unit = {
    val (name, properties) = (table.name, table.properties)
    requireNamespace(name.namespace)
    Option(properties.get(TableCatalog.PROP_PROVIDER)).filterNot(p => CatalogTables.isOurs(Some(p))).foreach {
      other =>
        throw MerganserException("CATALOG_OF_ONE_FORMAT", "table" -> label(name), "format" -> other,
          "catalog" -> catalog)
    }
    if (tableExists(name)) throw new TableAlreadyExistsException(name)
    val folder = name.namespace.toSeq :+ name.name
    if (folders.isNamespace(folder)) {
      // The error names files that belong to no table; other folders are namespaces.
      if (!properties.containsKey(TableCatalog.PROP_LOCATION))
        TableFolder.requireEmpty(OpenTable.storage(session, folders.folder(folder).toString))
      throw new TableAlreadyExistsException(name)
    }
  }

  override def alterTable(name: Identifier, changes: TableChange*): Table = {
    val path = if (CatalogTables.isPath(name)) name.name else placeOf(name)
    TableAlteration.ofFolder(session, path, label(name), changes)
    load(name)
  }

  /** A table that is located elsewhere keeps its files. */
  override def dropTable(name: Identifier): Boolean = {
    CatalogTables.refuseDropOfPath(name)
    folders.remove(name)
  }

  override def purgeTable(name: Identifier): Boolean = dropTable(name)

  override def renameTable(from: Identifier, to: Identifier): Unit = {
    val path = placeOf(from)
    if (tableExists(to)) throw new TableAlreadyExistsException(to)
    requireNamespace(to.namespace)
    TableAlteration.rename(session, path, to)(folders.rename(from, to))
  }

  // --- namespaces ---------------------------------------------------------------------------------------------------

  override def defaultNamespace(): Array[String] = Array.empty

  override def listNamespaces(): Array[Array[String]] = listNamespaces(Array.empty)

  override def listNamespaces(namespace: Array[String]): Array[Array[String]] = {
    requireNamespace(namespace)
    folders.namespaces(namespace.toSeq).map(namespace :+ _).toArray
  }

  override def namespaceExists(namespace: Array[String]): Boolean = folders.isNamespace(namespace.toSeq)

  override def loadNamespaceMetadata(namespace: Array[String]): Described = {
    requireNamespace(namespace)
    (folders.properties(namespace.toSeq) + (SupportsNamespaces.PROP_LOCATION -> folders.folder(namespace.toSeq)
      .toString)).asJava
  }

  override def createNamespace(namespace: Array[String], metadata: Described): Unit = {
    if (namespaceExists(namespace) || folders.table(Identifier.of(namespace.dropRight(1), namespace.last)).isDefined)
      throw new NamespaceAlreadyExistsException(namespace)
    Option(metadata.get(SupportsNamespaces.PROP_LOCATION)).foreach { location =>
      throw MerganserException("NAMESPACE_ELSEWHERE", "namespace" -> namespace.mkString("."), "catalog" -> catalog,
        "location" -> location)
    }
    folders.makeNamespace(namespace.toSeq, metadata.asScala.toMap)
  }

  override def alterNamespace(namespace: Array[String], changes: NamespaceChange*): Unit = {
    requireNamespace(namespace)
    folders.keep(namespace.toSeq,
      changes.foldLeft(folders.properties(namespace.toSeq)) {
        case (_, set: SetProperty) if set.property == SupportsNamespaces.PROP_LOCATION =>
          throw MerganserException("NAMESPACE_ELSEWHERE", "namespace" -> namespace.mkString("."), "catalog" -> catalog,
            "location" -> set.value)
        case (now, set: SetProperty)        => now + (set.property -> set.value)
        case (now, removed: RemoveProperty) => now - removed.property
        case (now, _)                       => now
      })
  }

  override def dropNamespace(namespace: Array[String], cascade: Boolean): Boolean = {
    requireNamespace(namespace)
    if (!cascade && !folders.isEmpty(namespace.toSeq)) throw new NonEmptyNamespaceException(namespace)
    folders.removeNamespace(namespace.toSeq) || (throw new NonEmptyNamespaceException(namespace))
  }

  private def requireNamespace(namespace: Array[String]): Unit =
    if (!namespaceExists(namespace)) throw new NoSuchNamespaceException(namespace)
}
