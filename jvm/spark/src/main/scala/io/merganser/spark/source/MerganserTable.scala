package io.merganser.spark.source

import io.merganser.spark.OpenTable
import io.merganser.spark.read.{ScanCounts, SliceScanBuilder, SourceRanges}
import io.merganser.spark.write.FrameWrite
import io.merganser.table.base.MetaColumns
import io.merganser.table.config.{Options, ReadConfig, WriteSource}
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.{Expressions, Transform}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.merganser.CatalogBridge
import org.apache.spark.sql.sources.InsertableRelation
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import java.util
import scala.collection.JavaConverters._

/**
 * A table as Spark's planner sees it.
 *
 * @param label    its name in messages and plans
 * @param open     reads settings and timeline; called once a query, when it is first needed
 * @param declared columns as its catalog declares them, when it has one: they may be char or varchar
 * @param watched  gathers what scans of it look at, where a statement changes the table
 * @param ranges   values that a row must have one of to matter to the statement
 */
final class MerganserTable(
    session: SparkSession,
    val path: String,
    label: String,
    options: Map[String, String],
    open: () => OpenTable,
    declared: Option[StructType],
    val catalogTable: Option[CatalogTable],
    val watched: Option[ScanCounts] = None,
    ranges: Option[SourceRanges] = None
) extends Table with SupportsRead with SupportsWrite with SupportsMetadataColumns {

  lazy val opened: OpenTable = open()

  override def name(): String = label

  override def schema(): StructType = declared match {
    case Some(columns) if catalogTable.isDefined => DeclaredColumns.over(opened.schema, columns)
    case Some(columns)                           => columns
    case None                                    => opened.schema
  }

  override def partitioning(): Array[Transform] =
    catalogTable.toSeq.flatMap(_ => opened.config.partitionFields).map(c => Expressions.identity(c): Transform).toArray

  override def properties(): util.Map[String, String] =
    catalogTable.map(t => t.properties ++ Map(TableCatalog.PROP_PROVIDER -> "merganser", TableCatalog.PROP_LOCATION -> path)).getOrElse(
      Map.empty[String, String]).asJava

  override def capabilities(): util.Set[TableCapability] =
    util.EnumSet.of(TableCapability.BATCH_READ, TableCapability.V1_BATCH_WRITE, TableCapability.TRUNCATE)

  override def metadataColumns(): Array[MetadataColumn] = MetaColumns.schema.fields.map { field =>
    new MetadataColumn {
      override def name(): String       = field.name
      override def dataType(): DataType = field.dataType
      override def isNullable: Boolean  = field.name != MetaColumns.RecordKey && field.name != MetaColumns.PartitionPath
      override def comment(): String    = "kept by the table beside every row"
    }
  }

  override def newScanBuilder(query: CaseInsensitiveStringMap): ScanBuilder = {
    val read = ReadConfig.parse(options ++ query.asCaseSensitiveMap.asScala, session.conf.getAll)
    val seen = read.asOf.map(instant => new OpenTable(opened.storage, opened.config, opened.timeline.asOf(instant))).getOrElse(opened)
    new SliceScanBuilder(session, seen, read, watched, ranges)
  }

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new InsertBuilder(info.options().asCaseSensitiveMap.asScala.toMap)

  /** False where it is read as of an instant. */
  def isCurrent: Boolean = !options.keys.exists(_.equalsIgnoreCase(Options.AsOfInstant.key))

  /** The same table as it is known already: what a statement reads of a table, it reads as of its beginning. */
  def pinnedTo(opened: OpenTable): MerganserTable =
    new MerganserTable(session, path, label, options, () => opened, declared, catalogTable)

  /** The table that a statement changes; its scans tell what they look at. */
  def watchedBy(counts: ScanCounts, ranges: Option[SourceRanges] = None): MerganserTable = {
    val known = opened
    new MerganserTable(session, path, label, options, () => known, declared, catalogTable, Some(counts), ranges)
  }

  /** The same table as of an instant. */
  def asOf(instant: String): MerganserTable =
    new MerganserTable(session, path, label, options + (Options.AsOfInstant.key -> instant), open, declared, catalogTable)

  private final class InsertBuilder(given: Map[String, String]) extends WriteBuilder with SupportsTruncate {
    private var replaceAll = false

    override def truncate(): WriteBuilder = {
      replaceAll = true
      this
    }

    override def build(): Write = new V1Write {
      override def toInsertableRelation: InsertableRelation = (frame: DataFrame, overwrite: Boolean) => {
        val source =
          if (given.contains(MerganserTable.ByFrame)) WriteSource.DataFrameWrite
          else WriteSource.SqlInsert
        val said = options ++ given - MerganserTable.ByFrame
        if (replaceAll || overwrite) FrameWrite.overwrite(session, opened.storage, said, frame, source)
        else FrameWrite.append(session, OpenTable.load(opened.storage), said, frame, source)
        ()
      }
    }
  }
}

object MerganserTable {

  /** Option that [[io.merganser.spark.sql.FrameAppends]] gives to appends that no SQL statement asks for. */
  private[spark] val ByFrame = "__merganser_by_frame"

  /** A table that is at the path. */
  def load(session: SparkSession, path: String, options: Map[String, String]): MerganserTable = {
    val opened = OpenTable.load(session, path)
    new MerganserTable(session, path, opened.config.name, options - "path", () => opened, None, None)
  }

  /** What a writer asks about a path that may be no table yet. */
  def lazily(session: SparkSession, path: String, options: Map[String, String], schema: StructType): MerganserTable = {
    val known = if (schema == null || schema.isEmpty) None else Some(schema)
    new MerganserTable(session, path, s"merganser.`$path`", options - "path", () => OpenTable.load(session, path), known, None)
  }

  /** A table that a catalog names. */
  def ofCatalog(session: SparkSession, table: CatalogTable): MerganserTable =
    new MerganserTable(
      session,
      table.location.toString,
      table.identifier.unquotedString,
      Map.empty,
      () => OpenTable.load(session, table.location.toString),
      Some(CatalogBridge.columns(table)).filter(_.nonEmpty),
      Some(table)
    )
}
