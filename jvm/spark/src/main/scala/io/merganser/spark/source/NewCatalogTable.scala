package io.merganser.spark.source

import io.merganser.merge.MerganserException
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.commit.Creation
import io.merganser.table.options.{Options, OwnProperties, Settings}
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.{FrameCheck, MetaColumns}
import io.merganser.table.settings.{NewTable, TableConflicts}
import io.merganser.table.storage.Storage
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{Column, Identifier, TableCatalog}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.merganser.CatalogBridge
import org.apache.spark.sql.types.StructType

import java.net.URI
import java.util
import scala.collection.JavaConverters._

/**
 * A table that a statement describes: its folder is made, then its entry in the catalog.
 *
 * @param entries    of the catalog
 * @param columns    of the statement or its query; may be empty where the folder holds a table
 * @param properties of the statement, Spark's own among them
 */
final class NewCatalogTable(
    session: SparkSession,
    entries: TableEntries,
    name: Identifier,
    columns: StructType,
    partitions: Array[Transform],
    properties: util.Map[String, String]
) {
  private val given    = properties.asScala.toMap
  private val location = given.get(TableCatalog.PROP_LOCATION)
  private val known    = entries.known(name)
  private val by       = partitions.map(column).toSeq

  val place: URI = known.orElse(location.map(locationOf)).getOrElse(entries.place(name))

  val storage: Storage = OpenTable.storage(session, place.toString)

  /** The statement's properties, Spark's own left out. */
  val said: Map[String, String] = NewCatalogTable.saidOf(given)

  /** What the statement says about the table: its properties without those that are the user's own words. */
  val options: Map[String, String] = said.filterNot { case (key, _) =>
    !given.contains(TableCatalog.OPTION_PREFIX + key) && OwnProperties.isOwn(key)
  }

  def comment: Option[String] = given.get(TableCatalog.PROP_COMMENT)

  /** DROP TABLE leaves its files. */
  def isExternal: Boolean = location.isDefined || given.contains(TableCatalog.PROP_EXTERNAL)

  /** Whether the catalog has it already. */
  def isKnown: Boolean = entries.known(name).isDefined

  def declaredColumns: StructType = columns

  private val hadFolder = storage.exists("")

  def exists: Boolean = TableConfig.exists(storage)

  /**
   * A folder that holds a table which the catalog does not know is taken where LOCATION names it, and nowhere else.
   *
   * @throws MerganserException TABLE_FOLDER_TAKEN
   */
  def requireFreeFolder(): Unit =
    if (known.isEmpty && location.isEmpty && exists)
      throw MerganserException("TABLE_FOLDER_TAKEN", "table" -> name, "path" -> storage.basePath)

  /** The statement's options with its partitioning, as a write to a table that exists would give them. */
  def asWriteOptions: Map[String, String] =
    if (by.isEmpty) options else options + (Options.PartitionFields.key -> by.mkString(","))

  /**
   * Makes the folder and what tells that it is a table.
   *
   * @param written options of the write that fills it; only a data frame has any
   */
  def make(written: Map[String, String] = Map.empty): Unit = {
    if (columns.isEmpty)
      throw MerganserException("NO_TABLE_AND_NO_COLUMNS", "table" -> name, "path" -> storage.basePath)
    val data = AvroSchemas.stored(MetaColumns.ofUser(columns))
    Creation.create(storage,
      NewTable.properties(
        options ++ written,
        data,
        name.name,
        partitionBy = by,
        sessionConf = FrameWrite.sessionConf(session),
        bySql = written.isEmpty,
        database = name.namespace.lastOption,
        createSchema = Some(AvroSchemas.toAvro(data, name.name).toString)
      ) ++ entries.kept(this))
    ()
  }

  /** Takes back what [[make]] did, and what was written since. */
  def unmake(): Unit = {
    storage.deleteFolder(if (hadFolder) ".hoodie" else "")
    ()
  }

  /** @throws MerganserException CONFIG_CONFLICT, COLUMN_MISSING, SCHEMA_CONFLICT where the table in the folder is another than described */
  def requireSame(): Unit = {
    val there = OpenTable.load(storage)
    TableConflicts.settled(Settings.ofWrite(asWriteOptions, FrameWrite.sessionConf(session)), there.config)
    if (columns.nonEmpty) FrameCheck.requireSchema(columns, there.schema, there.config.name, nullForMissing = false)
  }

  /** The entry in the catalog. */
  def register(): MerganserTable = entries.add(name, this)

  /** Gives the entry that is there the statement's columns, properties and comment. */
  def registerAnew(): Unit = entries.change(name, this)

  /** Columns as the statement has them; where the table stores a wider type, with that. */
  def declared: StructType = {
    val stored = OpenTable.load(storage).schema
    if (columns.isEmpty) stored
    else StructType(columns.map { field =>
      val kept = FrameCheck.find(stored, field.name).map(_.dataType)
      if (kept.forall(_ == AvroSchemas.stored(StructType(Seq(field))).head.dataType)) field
      else field.copy(dataType = kept.get)
    })
  }

  private def column(transform: Transform): String = transform match {
    case identity
        if identity.name == "identity" && identity.references.length == 1 && identity.references.head.fieldNames
          .length == 1 =>
      identity.references.head.fieldNames.head
    case other => throw MerganserException("PARTITION_TRANSFORM_UNSUPPORTED", "table" -> name, "transform" -> other)
  }

  private def locationOf(text: String): URI = {
    val path = new Path(text)
    path.getFileSystem(session.sessionState.newHadoopConf()).makeQualified(path).toUri
  }
}

object NewCatalogTable {

  /** Properties that Spark itself puts among those of a table. */
  private val Reserved = Set(
    TableCatalog.PROP_PROVIDER, TableCatalog.PROP_LOCATION, TableCatalog.PROP_COMMENT, TableCatalog.PROP_OWNER,
    TableCatalog.PROP_EXTERNAL,
    TableCatalog.PROP_IS_MANAGED_LOCATION, "path", "table_type"
  )

  def isOurs(provider: Option[String]): Boolean =
    provider.exists(p => p.equalsIgnoreCase("merganser") || p == classOf[MerganserSource].getName)

  /**
   * CREATE TABLE … USING merganser. Where LOCATION names a folder that holds a table already, that is taken as it is, if the
   * statement agrees with it.
   */
  def create(
      session: SparkSession,
      entries: TableEntries,
      name: Identifier,
      columns: StructType,
      partitions: Array[Transform],
      properties: util.Map[String, String]
  ): MerganserTable = {
    val table  = new NewCatalogTable(session, entries, name, columns, partitions, properties)
    val exists = table.exists
    table.requireFreeFolder()
    if (exists) table.requireSame() else table.make()
    try table.register()
    catch {
      case e: Throwable =>
        if (!exists) table.unmake()
        throw e
    }
  }

  /** @throws MerganserException COLUMN_DEFAULT_UNSUPPORTED */
  def plain(name: Identifier, columns: Array[Column]): StructType = {
    columns.find(c => c.defaultValue != null || c.generationExpression != null).foreach { c =>
      throw MerganserException("COLUMN_DEFAULT_UNSUPPORTED", "table" -> name, "column" -> c.name)
    }
    CatalogBridge.schema(columns)
  }

  /** A data-frame writer's options come with a prefix, and on some lines without it as well. */
  private[source] def saidOf(given: Map[String, String]): Map[String, String] =
    given.map { case (k, v) => k.stripPrefix(TableCatalog.OPTION_PREFIX) -> v }.filterNot { case (k, _) => Reserved(k) }
}
