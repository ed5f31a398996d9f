package io.merganser.spark.source

import io.merganser.merge.MerganserException
import io.merganser.spark.frame.{FrameWrite, Overwrites}
import io.merganser.spark.read.SnapshotPinning
import io.merganser.spark.service.AfterCommit
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.Replaced
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.options.{WriteOperation, WriteSource}
import io.merganser.table.settings.{OverwriteMode, WriteConfig}
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.merganser.{CatalogBridge, SparkBridge}
import org.apache.spark.sql.sources.InsertableRelation
import org.apache.spark.sql.types.StructType

import java.util
import scala.collection.JavaConverters._

/**
 * CREATE TABLE … AS SELECT, REPLACE TABLE and `saveAsTable`: a table that appears together with its first rows, or one
 * whose rows are all replaced in one commit.
 *
 * @param replaces true if an existing table is overwritten, false if none may exist
 */
final class StagedCatalogTable(session: SparkSession, described: NewCatalogTable, replaces: Boolean)
    extends StagedTable with SupportsWrite {
  private var made    = false
  private var written = false
  private var failed  = Option.empty[MerganserException]

  override def name(): String = described.name.toString

  override def schema(): StructType = described.columns

  override def capabilities(): util.Set[TableCapability] =
    util.EnumSet.of(TableCapability.V1_BATCH_WRITE, TableCapability.TRUNCATE)

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new WriteBuilder with SupportsTruncate {
    override def truncate(): WriteBuilder = this // there are no rows to keep, or they are replaced anyway
    override def build(): Write = new V1Write {
      override def toInsertableRelation: InsertableRelation =
        (frame: DataFrame, _: Boolean) =>
          write(frame, NewCatalogTable.withoutReserved(info.options().asCaseSensitiveMap.asScala.toMap))
    }
  }

  /** Only a data frame's write has options of its own: a statement's are properties of the table. */
  private def write(frame: DataFrame, options: Map[String, String]): Unit = {
    described.requireNoDryRun(options)
    val source  = if (options.isEmpty) WriteSource.SqlInsert else WriteSource.DataFrameWrite
    val storage = described.storage
    if (described.exists) {
      if (!replaces) {
        described.requireFreeFolder()
        throw MerganserException("TABLE_EXISTS", "path" -> storage.basePath)
      }
      val (rows, readAt) = SnapshotPinning.pinned(session, frame, storage)
      // The table is replaced, columns included, unless this write itself determines which partitions it replaces.
      val isDynamic = OverwriteMode.configured(options).contains(true) || WriteConfig.operation(options,
        Map.empty) == WriteOperation.InsertOverwrite
      val opened   = OpenTable.load(storage)
      val replaced = if (isDynamic) Overwrites.written(opened.config) else Replaced.All
      keepingCommitted(FrameWrite.overwrite(session, opened, described.asWriteOptions ++ options, rows, source,
          Some(replaced), readAt,
          withColumns = !isDynamic))
    } else {
      WriteConfig.namedOperation(described.options ++ options, FrameWrite.sessionConf(session))
        .foreach(Overwrites.requireRows(_, storage.basePath.toString))
      described.make(options)
      made = true
      keepingCommitted(FrameWrite.append(session, OpenTable.load(storage), described.options ++ options, frame, source))
    }
    written = true
  }

  /** A committed write stays, and the table with it: a later failure is thrown once the table is registered. */
  private def keepingCommitted(write: => Any): Unit =
    try { write; () }
    catch { case e: MerganserException if AfterCommit.isOfCommitted(e) => failed = Some(e) }

  override def commitStagedChanges(): Unit = {
    if (!written) {
      if (described.exists)
        write(SparkBridge.internalCreateDataFrame(session, session.sparkContext.emptyRDD[InternalRow],
            AvroSchemas.stored(described.columns)),
          Map.empty)
      else {
        described.make()
        made = true
      }
    }
    if (described.isKnown) described.updateEntry() else described.register()
    made = false
    failed.foreach(e => throw e)
  }

  override def abortStagedChanges(): Unit = if (made) described.unmake()
}

/** The same for a table of another format: created at once, dropped again if the statement fails. */
final class StagedForeignTable(catalog: TableCatalog, ident: Identifier, table: Table) extends StagedTable
    with SupportsWrite {

  override def name(): String                            = table.name()
  override def schema(): StructType                      = CatalogBridge.schema(table.columns())
  override def columns(): Array[Column]                  = table.columns()
  override def properties(): util.Map[String, String]    = table.properties()
  override def capabilities(): util.Set[TableCapability] = table.capabilities()

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = table match {
    case writable: SupportsWrite => writable.newWriteBuilder(info)
    case _ => throw new UnsupportedOperationException(s"table ${table.name()} cannot be written to")
  }

  override def commitStagedChanges(): Unit = ()

  override def abortStagedChanges(): Unit = {
    catalog.dropTable(ident)
    ()
  }
}
