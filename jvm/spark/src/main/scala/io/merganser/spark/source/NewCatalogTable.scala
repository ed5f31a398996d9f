package io.merganser.spark.source

import io.merganser.merge.MerganserException
import io.merganser.spark.OpenTable
import io.merganser.spark.write.FrameWrite
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.config.{FrameCheck, NewTable, TableConfig, TableConflicts, Settings}
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, CatalogTableType}
import org.apache.spark.sql.connector.catalog.{Identifier, Table, TableCatalog}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.types.StructType

import java.net.URI
import java.util
import scala.collection.JavaConverters._

/** CREATE TABLE … USING merganser. */
object NewCatalogTable {

  def isOurs(provider: Option[String]): Boolean =
    provider.exists(p => p.equalsIgnoreCase("merganser") || p == classOf[MerganserSource].getName)

  /** Properties that Spark itself puts among those of a table. */
  private val Reserved = Set(
    TableCatalog.PROP_PROVIDER, TableCatalog.PROP_LOCATION, TableCatalog.PROP_COMMENT, TableCatalog.PROP_OWNER, TableCatalog.PROP_EXTERNAL,
    TableCatalog.PROP_IS_MANAGED_LOCATION, "path"
  )

  /**
   * Makes the table's folder and its entry in the session catalog. A folder that holds a table already is taken as it is,
   * if what the statement says agrees with it.
   */
  def create(session: SparkSession, name: Identifier, schema: StructType, partitions: Array[Transform], properties: util.Map[String, String]): Table = {
    val given      = properties.asScala.toMap
    val catalog    = session.sessionState.catalog
    val identifier = TableIdentifier(name.name, name.namespace.lastOption)
    val location   = given.get(TableCatalog.PROP_LOCATION)
    val place      = location.map(l => locationOf(session, l)).getOrElse(catalog.defaultTablePath(identifier))
    val storage    = OpenTable.storage(session, place.toString)
    val options    = optionsOf(given)
    val by         = partitions.map(column(name, _)).toSeq
    val existed    = TableConfig.exists(storage)
    if (existed) TableConflicts.refuse(Settings.ofWrite(options, FrameWrite.sessionConf(session)), TableConfig.load(storage))
    else make(session, storage, name, options, schema, by)
    val columns = if (schema.nonEmpty) schema else OpenTable.load(storage).schema
    val entry = CatalogTable(
      identifier,
      if (location.isDefined || given.contains(TableCatalog.PROP_EXTERNAL)) CatalogTableType.EXTERNAL else CatalogTableType.MANAGED,
      CatalogStorageFormat.empty.copy(locationUri = Some(place)),
      columns,
      provider = Some("merganser"),
      partitionColumnNames = Nil,
      properties = options,
      comment = given.get(TableCatalog.PROP_COMMENT)
    )
    try catalog.createTable(entry, ignoreIfExists = false, validateLocation = false)
    catch {
      case e: Throwable =>
        if (!existed) storage.deleteFolder(".hoodie")
        throw e
    }
    MerganserTable.ofCatalog(session, catalog.getTableMetadata(identifier))
  }

  private def make(
      session: SparkSession, storage: io.merganser.table.Storage, name: Identifier, options: Map[String, String], schema: StructType, by: Seq[String]): Unit = {
    if (schema.isEmpty) throw MerganserException("NO_TABLE_AND_NO_COLUMNS", "table" -> name, "path" -> storage.basePath)
    val data = AvroSchemas.stored(FrameCheck.withoutMetaColumns(schema))
    TableConfig.create(storage, NewTable.properties(
      options,
      data,
      name.name,
      partitionBy = by,
      sessionConf = FrameWrite.sessionConf(session),
      bySql = true,
      database = name.namespace.lastOption,
      createSchema = Some(AvroSchemas.toAvro(data, name.name).toString)
    ))
    ()
  }

  private def column(table: Identifier, transform: Transform): String = transform match {
    case identity if identity.name == "identity" && identity.references.length == 1 && identity.references.head.fieldNames.length == 1 =>
      identity.references.head.fieldNames.head
    case other => throw MerganserException("PARTITION_TRANSFORM_UNSUPPORTED", "table" -> table, "transform" -> other)
  }

  /** A data-frame writer's options come with a prefix, and on some lines without it as well. */
  private def optionsOf(given: Map[String, String]): Map[String, String] =
    given.map { case (k, v) => k.stripPrefix(TableCatalog.OPTION_PREFIX) -> v }.filterNot { case (k, _) => Reserved(k) }

  private def locationOf(session: SparkSession, text: String): URI = {
    val path = new Path(text)
    path.getFileSystem(session.sessionState.newHadoopConf()).makeQualified(path).toUri
  }
}
