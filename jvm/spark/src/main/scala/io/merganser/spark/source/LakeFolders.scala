package io.merganser.spark.source

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{Storage, StorageFailure}
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.Identifier

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Properties
import scala.collection.JavaConverters._

/**
 * A catalog's folders: namespaces below the warehouse, tables below namespaces. A folder with `.hoodie` in it is a
 * table; so is one with a file that points to another location; every other folder is a namespace.
 *
 * @param catalog name of the catalog, for errors
 */
final class LakeFolders(session: SparkSession, catalog: String, warehouse: String) {
  private val storage: Storage = OpenTable.storage(session, warehouse)

  /** The folder of a namespace or table. */
  def folder(names: Seq[String]): Path = storage.path(relative(names))

  /** Location of a table; None if there is no such table. */
  def table(name: Identifier): Option[Path] =
    if (!isUsable(name.name)) None else table(relative(name.namespace.toSeq :+ name.name))

  private def table(folder: String): Option[Path] =
    if (isTable(folder)) Some(storage.path(folder))
    else if (storage.exists(pointer(folder))) Some(new Path(storage.readText(pointer(folder)).trim))
    else None

  private def isTable(folder: String): Boolean =
    TableConfig.exists(OpenTable.storage(session, storage.path(folder).toString))

  /** Registers a table; one in its own folder needs no entry. */
  def add(name: Identifier, place: Path): Unit = {
    val folder = relative(name.namespace.toSeq :+ name.name)
    if (storage.fs.makeQualified(place) != storage.fs.makeQualified(storage.path(folder)))
      storage.createNew(pointer(folder), place.toString.getBytes(UTF_8))
  }

  /** Deletes a table with its folder; of one that is located elsewhere, only its entry. */
  def remove(name: Identifier): Boolean = {
    val folder = relative(name.namespace.toSeq :+ name.name)
    table(folder).isDefined && storage.deleteFolder(folder)
  }

  /** @throws MerganserException RENAME_NOT_ATOMIC where the table's files would be copied */
  def rename(from: Identifier, to: Identifier): Unit = {
    val (source, target) = (relative(from.namespace.toSeq :+ from.name), relative(to.namespace.toSeq :+ to.name))
    if (isTable(source) && !LakeFolders.RenamesAtOnce(storage.fs.getUri.getScheme))
      throw MerganserException("RENAME_NOT_ATOMIC", "table" -> from, "path" -> storage.path(source))
    if (storage.exists(target) || !storage.fs.rename(storage.path(source), storage.path(target)))
      throw new java.io.IOException(s"cannot rename ${storage.path(source)} to ${storage.path(target)}")
  }

  /** Names of the tables directly in a namespace. */
  def tables(namespace: Seq[String]): Seq[String] =
    below(namespace).filter(name => table(relative(namespace :+ name)).isDefined)

  /** Names of the namespaces directly in another. */
  def namespaces(namespace: Seq[String]): Seq[String] =
    below(namespace).filter(name => table(relative(namespace :+ name)).isEmpty)

  /** The warehouse itself is a namespace, whether it exists or not. */
  def isNamespace(namespace: Seq[String]): Boolean = namespace.isEmpty || {
    val folder = relative(namespace)
    storage.status(folder).exists(_.isDirectory) && table(folder).isEmpty
  }

  def makeNamespace(namespace: Seq[String], properties: Map[String, String]): Unit = {
    StorageFailure.explained(storage.path(relative(namespace)))(storage.makeFolder(relative(namespace)))
    if (properties.nonEmpty) keep(namespace, properties)
  }

  /** Whether it contains nothing, not even foreign files. */
  def isEmpty(namespace: Seq[String]): Boolean =
    storage.list(relative(namespace)).forall(_.getPath.getName == propertiesFile("")) && namespace.nonEmpty

  /** Deletes the tables in a namespace and in those below it, then itself, unless there are foreign files. */
  def removeNamespace(namespace: Seq[String]): Boolean = {
    tables(namespace).foreach(name => remove(Identifier.of(namespace.toArray, name)))
    val areGone = namespaces(namespace).map(name => removeNamespace(namespace :+ name)).forall(identity)
    areGone && isEmpty(namespace) && storage.deleteFolder(relative(namespace))
  }

  /** The properties of a namespace. */
  def properties(namespace: Seq[String]): Map[String, String] = {
    val file = propertiesFile(relative(namespace))
    if (!storage.exists(file)) Map.empty
    else {
      val read = new Properties
      read.load(new ByteArrayInputStream(storage.read(file)))
      read.asScala.toMap
    }
  }

  def keep(namespace: Seq[String], properties: Map[String, String]): Unit = {
    val all = new Properties
    properties.foreach { case (key, value) => all.setProperty(key, value) }
    val out = new ByteArrayOutputStream
    all.store(out, null)
    storage.replace(propertiesFile(relative(namespace)), out.toByteArray)
  }

  private def below(namespace: Seq[String]): Seq[String] =
    storage.list(relative(namespace)).filter(_.isDirectory).map(_.getPath.getName).filter(isUsable).sorted

  private def relative(names: Seq[String]): String = {
    names.find(!isUsable(_)).foreach { name =>
      throw MerganserException("CATALOG_NAME_INVALID", "catalog" -> catalog, "name" -> name)
    }
    names.mkString("/")
  }

  /** Whether a name can be that of a folder, and not of a hidden one. */
  private def isUsable(name: String): Boolean =
    name.nonEmpty && !name.startsWith(".") && !name.exists(c => c == '/' || c == '\\' || c == ':')

  private def pointer(folder: String)        = inside(folder, ".merganser-table")
  private def propertiesFile(folder: String) = inside(folder, ".merganser-namespace")

  private def inside(folder: String, file: String): String = if (folder.isEmpty) file else s"$folder/$file"
}

private object LakeFolders {

  /** File systems where renaming a folder is one step. */
  private val RenamesAtOnce = Set("file", "hdfs", "viewfs", "abfs", "abfss", "ofs")
}
