package io.merganser.spark.sync

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.options.Names
import io.merganser.table.schema.MetaColumns
import io.merganser.table.settings.HiveSyncSettings
import org.apache.hadoop.fs.Path
import org.apache.hadoop.hive.metastore.api.{FieldSchema, SerDeInfo, StorageDescriptor, Table}
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.types.{StringType, StructField, StructType}

import java.util.{ArrayList, HashMap}
import scala.collection.JavaConverters._
import scala.util.control.NonFatal

/**
 * Registers a table and its partitions in a Hive metastore, with the classes and properties by which Hive, Spark and
 * other engines read a table of Hudi.
 */
object HiveSync {

  /** The addresses of the metastore; None if neither the options nor Hadoop's configuration name one. */
  def metastoreOf(table: OpenTable, settings: HiveSyncSettings): Option[String] =
    settings.metastoreUris.orElse(HiveMetastore.uris(table.storage.conf))

  /**
   * @param table as of the last commit
   * @throws MerganserException HIVE_SYNC_FAILED, HIVE_CLIENT_MISSING
   */
  def run(table: OpenTable, settings: HiveSyncSettings, uris: String, sparkVersion: String): Unit =
    try
      HiveMetastore.connected(table.storage.conf, uris) { metastore =>
        metastore.requireDatabase(settings.database, settings.createsDatabase)
        registrations(table, settings).foreach(new HiveSync(metastore, table, settings, sparkVersion, _).run())
      }
    catch {
      case e: MerganserException => throw e
      case NonFatal(e) => throw MerganserException("HIVE_SYNC_FAILED",
          "table" -> s"${settings.database}.${settings.table}",
          "uris" -> uris, "reason" -> Option(e.getMessage).fold(e.toString)(m => s"${e.getClass.getSimpleName}: $m")
        ).causedBy(e)
    }

  /** @param isRealtime whether its queries merge the logs */
  private final case class Registration(name: String, isRealtime: Boolean, isReadOptimized: Boolean)

  private def registrations(table: OpenTable, settings: HiveSyncSettings): Seq[Registration] = {
    val name                  = settings.table
    def optimized(as: String) = Registration(as, isRealtime = false, isReadOptimized = true)
    def realtime(as: String)  = Registration(as, isRealtime = true, isReadOptimized = false)
    if (!table.config.isMergeOnRead) Seq(Registration(name, isRealtime = false, isReadOptimized = false))
    else settings.strategy match {
      case "RO"                        => Seq(optimized(name))
      case "RT"                        => Seq(realtime(name))
      case _ if settings.skipsRoSuffix => Seq(optimized(name), realtime(s"${name}_rt"))
      case _ =>
        Seq(optimized(s"${name}_ro"), realtime(s"${name}_rt")) ++ (if (settings.plainName) Seq(realtime(name)) else Nil)
    }
  }

  private val ParquetInput         = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
  private val RealtimeParquetInput = "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat"
  private val ParquetOutput        = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
  private val ParquetSerde         = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"

  private val LastCommit     = "last_commit_time_sync"
  private val LastCompletion = "last_commit_completion_time_sync"

  /** Characters of a property's value: databases of metastores have columns of 4000. */
  private val SchemaPart = 4000
}

/** One table in the metastore. */
private final class HiveSync(
    metastore: HiveMetastore,
    table: OpenTable,
    settings: HiveSyncSettings,
    sparkVersion: String,
    registration: HiveSync.Registration
) {
  import HiveSync._

  private val basePath = table.storage.basePath.toString

  private val columns: StructType = {
    val meta = if (settings.metaColumns) MetaColumns.schema.fields.toSeq else Nil
    StructType(meta ++ table.schema.fields)
  }

  private val (partitionColumns, dataColumns) = {
    val byName = columns.fields.map(f => Names.lower(f.name) -> f).toMap
    val keys   = settings.partitionFields.map(name => byName.getOrElse(name, StructField(name, StringType)))
    (keys, columns.fields.toSeq.filterNot(f => settings.partitionFields.contains(Names.lower(f.name))))
  }

  def run(): Unit = {
    val found = metastore.table(settings.database, registration.name)
    if (found.isEmpty) metastore.create(newTable())
    val existing = metastore.table(settings.database, registration.name).get
    if (found.isDefined) requireSame(existing)
    if (existing.getSd.getCols != hiveColumns(dataColumns)) {
      existing.getSd.setCols(hiveColumns(dataColumns))
      metastore.alter(existing, cascades = settings.partitionFields.nonEmpty)
    }
    if (settings.partitionFields.nonEmpty) syncPartitions(existing, found.flatMap(changedSince))
    properties.foreach { case (key, value) => existing.putToParameters(key, value) }
    serdeProperties.foreach { case (key, value) => existing.getSd.getSerdeInfo.putToParameters(key, value) }
    metastore.alter(existing, cascades = false)
  }

  /** A table of that name may be another one. */
  private def requireSame(existing: Table): Unit = {
    val location            = existing.getSd.getLocation
    def plain(path: String) = new Path(path).toUri.getPath.stripSuffix("/")
    if (location == null || plain(location) != plain(basePath))
      throw new IllegalArgumentException(s"the table registered under this name is at $location")
    val keys = existing.getPartitionKeys.asScala.toSeq.map(_.getName)
    if (keys != settings.partitionFields) throw new IllegalArgumentException(
      s"it is registered with the partition columns (${keys.mkString(", ")}), and has " +
        s"(${settings.partitionFields.mkString(", ")}): drop it in the metastore first")
  }

  private def newTable(): Table = {
    val storage = new StorageDescriptor
    storage.setCols(hiveColumns(dataColumns))
    storage.setInputFormat(if (registration.isRealtime) RealtimeParquetInput else ParquetInput)
    storage.setOutputFormat(ParquetOutput)
    storage.setLocation(basePath)
    storage.setSerdeInfo(new SerDeInfo(null, ParquetSerde, new HashMap(serdeProperties.asJava)))
    storage.setParameters(new HashMap)
    storage.setBucketCols(new ArrayList)
    storage.setSortCols(new ArrayList)
    val created = new Table
    created.setDbName(settings.database)
    created.setTableName(registration.name)
    created.setOwner(System.getProperty("user.name"))
    created.setCreateTime((System.currentTimeMillis() / 1000).toInt)
    created.setSd(storage)
    created.setPartitionKeys(hiveColumns(partitionColumns))
    created.setTableType("EXTERNAL_TABLE")
    // The times of commits are set when its partitions are there.
    (properties - LastCommit - LastCompletion).foreach { case (key, value) => created.putToParameters(key, value) }
    created
  }

  private def hiveColumns(fields: Seq[StructField]): ArrayList[FieldSchema] = {
    val list = new ArrayList[FieldSchema]
    fields.foreach(f =>
      list.add(new FieldSchema(Names.lower(f.name), HiveTypes.of(f.dataType, settings.timestamps), "")))
    list
  }

  private lazy val properties: Map[String, String] = {
    val commits = table.timeline.newestCompleted.toSeq.flatMap(newest =>
      (LastCommit -> table.timeline.completed.map(_.requested).max) +: newest.completed.map(LastCompletion -> _).toSeq)
    Map("EXTERNAL" -> "TRUE") ++ settings.tableProperties ++ commits ++ (if (settings.asDataSource) ofSpark else Nil)
  }

  private def serdeProperties: Map[String, String] = {
    val spark =
      if (!settings.asDataSource) Nil
      else Seq("path" -> basePath, "hoodie.query.as.ro.table" -> registration.isReadOptimized.toString)
    Map("serialization.format" -> "1") ++ settings.serdeProperties ++ spark
  }

  /** How Spark's catalog recognizes a data source, its columns and its partition columns. */
  private def ofSpark: Seq[(String, String)] = {
    val parts = StructType(dataColumns ++ partitionColumns).json.grouped(SchemaPart).toSeq
    val keys  = partitionColumns.map(_.name)
    Seq("spark.sql.sources.provider" -> "hudi", "spark.sql.create.version" -> sparkVersion,
      "spark.sql.sources.schema.numParts" -> parts.size.toString) ++
      parts.zipWithIndex.map { case (part, i) =>
        s"spark.sql.sources.schema.part.$i" -> part
      } ++
      (if (keys.isEmpty) Nil else Seq("spark.sql.sources.schema.numPartCols" -> keys.size.toString)) ++
      keys.zipWithIndex.map { case (key, i) => s"spark.sql.sources.schema.partCol.$i" -> key }
  }

  /** Partitions of the commits since the last registration; None if those are no longer on the timeline. */
  private def changedSince(registered: Table): Option[Set[String]] = {
    def property(key: String) = Option(registered.getParameters.get(key))
    property(LastCommit).filter(table.timeline.isCompleted).filterNot(table.timeline.isArchived).map { last =>
      val completion = property(LastCompletion)
      table.timeline.completed
        .filter(i => i.requested > last || i.completed.exists(c => completion.forall(c > _)))
        .map(table.timeline.metadata)
        .flatMap(commit => commit.stats.keys ++ commit.replacedFileIds.keys).toSet
    }
  }

  /** @param changed the paths that may have been added or dropped; None: all */
  private def syncPartitions(registered: Table, changed: Option[Set[String]]): Unit = {
    val slices = changed.fold(table.view.slices)(paths => table.view.slicesOfAny(paths.toSeq))
    val stored = slices.map(_.partitionPath).distinct.sorted.map(partition)
    val kept   = stored.map(_.values).toSet
    metastore.add(registered, stored)
    val mayBeGone = changed.fold(metastore.partitions(registered))(_.toSeq.sorted.map(partition))
    metastore.drop(registered, mayBeGone.filterNot(p => kept(p.values)))
  }

  private def partition(path: String): HivePartition = {
    val values = settings.extractor.values(path)
    if (values.size != settings.partitionFields.size) throw new IllegalArgumentException(
      s"partition '$path' has ${values.size} values for the columns (${settings.partitionFields.mkString(", ")}): " +
        "set hoodie.datasource.hive_sync.partition_extractor_class")
    val plain = if (table.config.urlEncode) values.map(ExternalCatalogUtils.unescapePathName) else values
    HivePartition(plain, table.storage.path(path).toString)
  }
}
