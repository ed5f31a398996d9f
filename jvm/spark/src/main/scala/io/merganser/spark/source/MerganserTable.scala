package io.merganser.spark.source

import io.merganser.merge.MerganserException
import io.merganser.spark.prune.SourceRanges
import io.merganser.spark.read.{ScanCounts, SliceScanBuilder, SnapshotTable}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.stream.TableStream
import io.merganser.spark.write.Replaced
import io.merganser.table.change.ChangedRows
import io.merganser.table.options.{Names, Options}
import io.merganser.table.schema.{FrameCheck, MetaColumns}
import io.merganser.table.settings.{ChangesConfig, ReadConfig, ShownSettings}
import io.merganser.table.timeline.AsOf
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.{Expressions, Transform}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.merganser.{CatalogBridge, TableWithEntry}
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import java.util
import scala.collection.JavaConverters._

/**
 * A table for Spark's planner.
 *
 * @param label    its name in messages and plans
 * @param open     reads settings and timeline; called once per query, when first needed
 * @param declared columns as its catalog declares them, if it has one: they may be char or varchar
 * @param entry    properties of its catalog entry; None for a table that is read or written by format and path
 */
private[source] final case class TableSpec(
    session: SparkSession,
    path: String,
    label: String,
    options: Map[String, String],
    open: () => OpenTable,
    declared: Option[StructType] = None,
    catalogTable: Option[CatalogTable] = None,
    entry: Option[Map[String, String]] = None
)

/**
 * A table as Spark's planner sees it.
 *
 * @param overwrites what an overwrite replaces, where that is not everything
 * @param scanCounts counts what its scans read and prune, where a statement changes the table
 * @param ranges     value ranges outside of which rows do not matter to the statement
 * @param isPinned   true where a statement that changes the table reads it
 */
class MerganserTable private[source] (
    spec: TableSpec,
    private[source] val overwrites: Option[Replaced] = None,
    override val scanCounts: Option[ScanCounts] = None,
    ranges: Option[SourceRanges] = None,
    isPinned: Boolean = false
) extends SnapshotTable with SupportsRead with SupportsWrite with SupportsMetadataColumns with TablePartitions
    with TableWithEntry with RefusesIndexes {
  import spec.{declared, entry}

  override protected def session: SparkSession     = spec.session
  def path: String                                 = spec.path
  private[source] def options: Map[String, String] = spec.options
  def catalogTable: Option[CatalogTable]           = spec.catalogTable

  private lazy val newest: OpenTable = spec.open()

  /** With versions of its columns, a table has the columns that it had at the time of the read. */
  override lazy val opened: OpenTable =
    ownChanges match {
      case Some(changes) if changes.schemaOfEnd && changes.hasBegin => asOfEnd(changes)
      // Change data has the columns of now, and is found without commit times.
      case Some(changes) if changes.changeData.isDefined      => newest
      case Some(changes) if newest.timeline.history.isDefined => asOfEnd(changes)
      case _ =>
        options.collectFirst { case (key, time) if key.equalsIgnoreCase(Options.AsOfInstant.key) => time }
          .filter(_ => newest.timeline.history.isDefined).fold(newest)(newest.asOf)
    }

  /** The window of its own options: those of a session change no columns. */
  private lazy val ownChanges: Option[ChangesConfig] =
    if (options.keys.exists(k => Options.QueryType.names.exists(_.equalsIgnoreCase(k))))
      read.changes
    else None

  private def asOfEnd(changes: ChangesConfig): OpenTable = newest.as(changedRows(changes).view)

  @volatile private var resolved: Option[(ChangesConfig, ChangedRows)] = None

  /** Reads the commits of the window once. */
  private def changedRows(changes: ChangesConfig): ChangedRows =
    resolved.collect { case (`changes`, rows) => rows }.getOrElse {
      val rows = ChangedRows.of(newest.window(changes.beginOf(newest.config.name), changes.end))
      resolved = Some((changes, rows))
      rows
    }

  /** Checks what a read is as of, before it is planned. */
  private[source] def requireReadable(read: ReadConfig): Unit = {
    read.asOf.foreach(newest.asOf)
    read.changes.filter(_.changeData.isEmpty).foreach(changedRows)
  }

  /** The options of a read. */
  private[spark] def read: ReadConfig = ReadConfig.parse(options, session.conf.getAll)

  override def name(): String = spec.label

  override def schema(): StructType = declared match {
    case Some(columns) if entry.isDefined && opened.schema.nonEmpty => DeclaredColumns.over(opened.schema, columns)
    case Some(columns)                                              => columns
    case None                                                       => opened.schema
  }

  override def partitioning(): Array[Transform] =
    entry.toSeq.flatMap(_ => opened.config.partitionFields)
      .map(field => Expressions.identity(Names.quotedPath(field)): Transform).toArray

  /** The properties of its catalog entry, and the settings that the table itself stores. */
  override def properties(): util.Map[String, String] = entry.fold(Map.empty[String, String]) { declaredProperties =>
    val stored =
      try ShownSettings.beside(declaredProperties, opened.config)
      catch { case _: MerganserException => Map.empty[String, String] } // its folder is gone or damaged: reads fail
    stored ++ declaredProperties
  }.asJava

  override def capabilities(): util.Set[TableCapability] =
    util.EnumSet.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ, TableCapability.V1_BATCH_WRITE,
      TableCapability.TRUNCATE)

  /** By this entry `toTable` writes a stream to the table's path. */
  override def v1Table: CatalogTable = catalogTable.getOrElse(CatalogBridge.ofPath(path, schema()))

  /** False as long as Spark has not seen the meta columns, so that no query can have one of them. */
  @volatile private var mayReadMeta = false

  override def metadataColumns(): Array[MetadataColumn] = {
    mayReadMeta = true
    MetaColumns.schema.fields.map { field =>
      new MetadataColumn {
        override def name(): String       = field.name
        override def dataType(): DataType = field.dataType
        override def isNullable: Boolean =
          !storesKeys || (field.name != MetaColumns.RecordKey && field.name != MetaColumns.PartitionPath)
        override def comment(): String = "stored by the table with every row"
      }
    }
  }

  /** Whether keys and paths are stored with the rows; true where there is no table yet. */
  private lazy val storesKeys: Boolean =
    try opened.config.storesKeys
    catch { case e: MerganserException if e.condition == "PATH_IS_NO_TABLE" => true }

  /** @throws MerganserException CHANGE_DATA_COLUMNS: its rows would be those of an incremental query */
  override def newScanBuilder(query: CaseInsensitiveStringMap): ScanBuilder = {
    val config = ReadConfig.parse(options ++ query.asCaseSensitiveMap.asScala, session.conf.getAll)
    if (entry.isDefined) IgnoredReadOptions.warn(name(), config)
    // A statement changes rows as they are now, even where queries of the session are read optimized.
    val read = if (scanCounts.isDefined || isPinned) config.ofStatement else config
    if (read.changes.exists(_.changeData.isDefined))
      throw MerganserException("CHANGE_DATA_COLUMNS", "table" -> name(), "key" -> Options.ChangesFormat.key)
    val from = read.changes.map(asOfEnd).orElse(read.asOf.map(newest.asOf)).getOrElse(opened)
    val builder = new SliceScanBuilder(session, from, read, scanCounts, ranges, read.changes.map(changedRows),
      Some((columns, filters) =>
        TableStream.of(session, newest, columns, filters, options ++ query.asCaseSensitiveMap.asScala, read)))
    // Before 4.2 Spark requests no columns for a stream, and expects all meta columns after the others if a query has
    // one of them.
    if (read.changes.isEmpty && read.asOf.isEmpty)
      builder.pruneColumns(
        if (mayReadMeta) StructType(columnsOf(newest) ++ MetaColumns.schema) else columnsOf(newest))
    builder
  }

  /**
   * Its columns in the order of its catalog, with the types that it stores; those that the user declares for a read
   * by path as declared, since Spark's plan has them.
   */
  private def columnsOf(table: OpenTable): StructType =
    StructType(schema().map { field =>
      val stored = FrameCheck.find(table.schema, field.name)
      stored.filter(entry.isDefined || _.dataType == field.dataType).getOrElse(field)
    })

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder =
    new InsertBuilder(session, this, info.options().asCaseSensitiveMap.asScala.toMap)

  override def isCurrent: Boolean =
    !options.keys.exists(_.equalsIgnoreCase(Options.AsOfInstant.key)) && !ownChanges.exists(_.end.isDefined)

  /** The table as a statement reads it: as of the statement's start. */
  override def pinnedTo(opened: OpenTable): MerganserTable =
    new MerganserTable(spec.copy(open = () => opened), isPinned = true)

  /** The target table of a statement; its scans count what they read and prune. */
  def withScanCounts(counts: ScanCounts, ranges: Option[SourceRanges] = None): MerganserTable = {
    val known = opened
    new MerganserTable(spec.copy(open = () => known), scanCounts = Some(counts), ranges = ranges)
  }

  /** The same table as of a time, in microseconds since 1970. */
  def asOfTime(micros: Long): MerganserTable =
    asOf(AsOf.instant(opened.config, micros))

  /** The same table, for an overwrite that replaces these rows only. */
  private[spark] def overwriting(replaced: Replaced): MerganserTable =
    new MerganserTable(spec, Some(replaced))

  /** Whether the replaced rows are determined. */
  private[spark] def isOverwriting: Boolean = overwrites.isDefined

  /** The same table as of a time, in one of the forms of [[io.merganser.table.timeline.AsOf]]. */
  def asOf(time: String): MerganserTable = reading(Map(Options.AsOfInstant.key -> time))

  /** The same table, read with these options. */
  private[spark] def reading(readOptions: Map[String, String]): MerganserTable =
    new MerganserTable(spec.copy(options = options ++ readOptions))

  /** The same table, read with options that are checked now. */
  private[spark] def readingNow(readOptions: Map[String, String]): MerganserTable = {
    val table = reading(readOptions)
    table.requireReadable(ReadConfig.parse(table.options, session.conf.getAll))
    table
  }
}

object MerganserTable {

  /**
   * Option that [[io.merganser.spark.sql.FrameWriteDetection]] adds to writes that are not of a SQL statement: the
   * table's columns that the frame lacks, comma separated.
   */
  private[spark] val LackingColumns = "__merganser_by_frame"

  /** The existing table at a path. */
  def load(session: SparkSession, path: String, options: Map[String, String]): MerganserTable = {
    val opened = OpenTable.load(session, path)
    new MerganserTable(TableSpec(session, path, opened.config.name, options - "path", () => opened))
  }

  /** The table at a path for a writer; it need not exist yet. */
  def lazily(session: SparkSession, path: String, options: Map[String, String], schema: StructType): MerganserTable = {
    val known = if (schema == null || schema.isEmpty) None else Some(schema)
    new MerganserTable(TableSpec(session, path, s"merganser.`$path`", options - "path",
        () => OpenTable.load(session, path), known))
  }
}
