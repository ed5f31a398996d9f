package io.merganser.spark.source

import io.merganser.merge.MerganserException
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.commit.Creation
import io.merganser.table.options.{Options, OwnProperties, Settings}
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.{ColumnOrder, FrameCheck, MetaColumns, SchemaEvolution}
import io.merganser.table.settings.{NewTable, TableConflicts, WriteConfig}
import io.merganser.table.storage.Storage
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogUtils
import org.apache.spark.sql.connector.catalog.{Identifier, TableCatalog}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.types.StructType

import java.net.URI
import scala.collection.JavaConverters._

/**
 * A table that a statement creates: first its folder, then its entry in the catalog.
 *
 * @param entries of the catalog
 */
final class NewCatalogTable(session: SparkSession, entries: TableEntries, table: DeclaredTable) {
  private val sessionConf   = if (table.isLike) Map.empty[String, String] else FrameWrite.sessionConf(session)
  private val allProperties = table.properties.asScala.toMap
  private val location      = allProperties.get(TableCatalog.PROP_LOCATION)
  private val known         = entries.known(name)
  private val by            = table.partitions.map(column).toSeq

  def name: Identifier = table.name

  val columns: StructType = table.schema

  val place: URI = known.orElse(location.map(locationOf)).getOrElse(entries.place(name))

  val path: String = CatalogUtils.URIToString(place)

  val storage: Storage = OpenTable.storage(session, path)

  /** The statement's properties without Spark's own. */
  val statementProperties: Map[String, String] = NewCatalogTable.withoutReserved(allProperties)

  /** The statement's settings of the table: its properties without those that only mean something to the user. */
  val options: Map[String, String] = statementProperties.filterNot { case (key, _) =>
    !allProperties.contains(TableCatalog.OPTION_PREFIX + key) && OwnProperties.isOwn(key)
  }

  def comment: Option[String] = allProperties.get(TableCatalog.PROP_COMMENT)

  /** DROP TABLE leaves its files. */
  def isExternal: Boolean = location.isDefined || allProperties.contains(TableCatalog.PROP_EXTERNAL)

  /** Whether the catalog has it already. */
  def isKnown: Boolean = entries.known(name).isDefined

  private val hadFolder = storage.exists("")

  def exists: Boolean = TableConfig.exists(storage)

  /**
   * A folder with a table that the catalog does not know is only used where LOCATION names it.
   *
   * @throws MerganserException TABLE_FOLDER_TAKEN
   */
  def requireFreeFolder(): Unit =
    if (known.isEmpty && location.isEmpty && exists)
      throw MerganserException("TABLE_FOLDER_TAKEN", "table" -> name, "path" -> storage.basePath)

  /**
   * @param written options of the write that fills the table
   * @throws MerganserException DRY_RUN_UNSUPPORTED
   */
  def requireNoDryRun(written: Map[String, String]): Unit =
    if (WriteConfig.isDryRun(written, FrameWrite.sessionConf(session)))
      throw MerganserException("DRY_RUN_UNSUPPORTED", "what" -> "a statement that creates a table",
        "key" -> Options.DryRun.key)

  /** The statement's options with its partitioning, as options of a write to an existing table. */
  def asWriteOptions: Map[String, String] =
    if (by.isEmpty) options else options + (Options.PartitionFields.key -> by.mkString(","))

  /**
   * Creates the folder and the files that make it a table.
   *
   * @param written options of the write that fills it; only a data frame has any
   * @throws MerganserException DRY_RUN_UNSUPPORTED, NO_TABLE_AND_NO_COLUMNS, and what [[NewTable.properties]] throws
   */
  def make(written: Map[String, String] = Map.empty): Unit = {
    requireNoDryRun(written)
    if (columns.isEmpty)
      throw MerganserException("NO_TABLE_AND_NO_COLUMNS", "table" -> name, "path" -> storage.basePath)
    val data = AvroSchemas.stored(FrameCheck.ofNewTable(MetaColumns.ofUser(columns)))
    val properties = NewTable.properties(
      options ++ written,
      data,
      name.name,
      partitionBy = by,
      sessionConf = sessionConf,
      bySql = written.isEmpty,
      database = name.namespace.lastOption
    )
    val ordered = ColumnOrder.ofNew(data, TableConfig(properties).partitionFields)
    Creation.create(storage,
      properties ++ entries.kept(this) +
        (TableConfig.CreateSchema -> AvroSchemas.toAvro(ordered, name.name).toString))
    ()
  }

  /**
   * CREATE TABLE … USING merganser. Where LOCATION names a folder that already holds a table, that table is used as it
   * is, if the statement agrees with it.
   */
  def create(): MerganserTable = {
    val exists = this.exists
    requireFreeFolder()
    if (exists) requireSame() else make()
    try register()
    catch {
      case e: Throwable =>
        if (!exists) unmake()
        throw e
    }
  }

  /** Undoes [[make]] and all writes since. */
  def unmake(): Unit = {
    storage.deleteFolder(if (hadFolder) ".hoodie" else "")
    ()
  }

  /**
   * @throws MerganserException CONFIG_CONFLICT, COLUMNS_CONFLICT where the table in the folder differs from the
   *                            statement
   */
  def requireSame(): Unit = {
    val stored = OpenTable.load(storage)
    TableConflicts.settled(Settings.ofWrite(asWriteOptions, sessionConf), stored.config)
    if (columns.nonEmpty) {
      def conflict(reason: String) =
        MerganserException("COLUMNS_CONFLICT", "table" -> stored.config.name, "reason" -> reason)
      try FrameCheck.requireSchema(columns, stored.schema, stored.config.name, nullForMissing = false)
      catch {
        case e: MerganserException if e.condition == "COLUMN_MISSING" || e.condition == "SCHEMA_CONFLICT" =>
          val reason = e.parameters.getOrElse("reason",
            s"column '${e.parameters("column")}' (${e.parameters("type")}) of the table is not declared, and CREATE " +
              "TABLE of a table that exists declares all of its columns, or none")
          throw conflict(reason).causedBy(e)
      }
      // Rows of these columns could be written, and yet other columns than the table's may have been declared.
      val other = SchemaEvolution.contradiction(stored.config.name, stored.schema, columns)
      other.foreach(reason => throw conflict(reason))
    }
  }

  /** The entry in the catalog. */
  def register(): MerganserTable = entries.add(name, this)

  /** Updates the existing entry with the statement's columns, properties and comment. */
  def updateEntry(): Unit = entries.change(name, this)

  /** The statement's columns in the table's order; where the table stores a wider type, with that type. */
  def declared: StructType = {
    val stored = OpenTable.load(storage).schema
    StructType(stored.map { column =>
      FrameCheck.find(columns, column.name).fold(column) { field =>
        if (column.dataType == AvroSchemas.stored(StructType(Seq(field))).head.dataType) field
        else field.copy(dataType = column.dataType)
      }
    })
  }

  private def column(transform: Transform): String = transform match {
    case identity if identity.name == "identity" && identity.references.length == 1 =>
      identity.references.head.fieldNames.mkString(".")
    case other => throw MerganserException("PARTITION_TRANSFORM_UNSUPPORTED", "table" -> name, "transform" -> other)
  }

  private def locationOf(text: String): URI = OpenTable.storage(session, text).basePath.toUri
}

object NewCatalogTable {

  /** Properties that Spark itself adds to those of a table. */
  private val Reserved = Set(
    TableCatalog.PROP_PROVIDER, TableCatalog.PROP_LOCATION, TableCatalog.PROP_COMMENT, TableCatalog.PROP_OWNER,
    TableCatalog.PROP_EXTERNAL,
    TableCatalog.PROP_IS_MANAGED_LOCATION, "path", "table_type"
  )

  /** A data-frame writer's options come with a prefix, and on some lines without it as well. */
  private[source] def withoutReserved(props: Map[String, String]): Map[String, String] =
    props.map { case (k, v) => k.stripPrefix(TableCatalog.OPTION_PREFIX) -> v }.filterNot { case (k, _) => Reserved(k) }
}
