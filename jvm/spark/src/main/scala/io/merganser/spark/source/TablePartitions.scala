package io.merganser.spark.source

import io.merganser.merge.MerganserException
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.Replaced
import io.merganser.table.options.{Options, WriteOperation, WriteSource}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.SupportsAtomicPartitionManagement
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types.StructType

import java.util
import scala.collection.JavaConverters._

/**
 * SHOW PARTITIONS, ALTER TABLE … DROP PARTITION, TRUNCATE TABLE and its PARTITION. A partition exists as long as it has
 * a file group; only rows create it.
 */
trait TablePartitions extends SupportsAtomicPartitionManagement {

  def opened: OpenTable

  override def schema(): StructType

  protected def session: SparkSession

  /** As of now. */
  private def values = new PartitionValues(OpenTable.load(opened.storage), schema())

  /** As of when the table was opened. */
  def partitionValues: PartitionValues = new PartitionValues(opened, schema())

  override def partitionSchema(): StructType = partitionValues.columns

  override def listPartitionIdentifiers(names: Array[String], ident: InternalRow): Array[InternalRow] = {
    val found     = values
    val positions = names.map(name => found.columns.fieldNames.indexWhere(_.equalsIgnoreCase(name)))
    found.like(positions.toSeq, ident).map(_._2).distinct.toArray
  }

  override def loadPartitionMetadata(ident: InternalRow): util.Map[String, String] = {
    val found  = values
    val paths  = found.like(found.columns.indices, ident).map(_._1)
    val slices = paths.flatMap(OpenTable.load(opened.storage).view.slices)
    Map(
      "Location" -> paths.map(path => opened.storage.path(path).toString).mkString(", "),
      "File Groups" -> slices.size.toString,
      "Size" -> s"${slices.map(_.sizeBytes).sum} bytes"
    ).asJava
  }

  /** In one commit; files stay until they are cleaned, and time travel still shows the rows. */
  override def dropPartitions(idents: Array[InternalRow]): Boolean = {
    val found = values
    val gone  = idents.flatMap(found.like(found.columns.indices, _)).map(_._1).toSet
    if (gone.nonEmpty) replaceByNothing(Replaced.Dropped(gone))
    gone.nonEmpty
  }

  override def truncatePartition(ident: InternalRow): Boolean = dropPartitions(Array(ident))

  override def truncatePartitions(idents: Array[InternalRow]): Boolean = dropPartitions(idents)

  /** TRUNCATE TABLE. */
  def removeAllRows(): Unit = replaceByNothing(Replaced.All)

  private def replaceByNothing(replaced: Replaced): Unit = {
    val table   = OpenTable.load(opened.storage)
    val none    = SparkBridge.internalCreateDataFrame(session, session.sparkContext.emptyRDD[InternalRow], table.schema)
    val options = Map(Options.Operation.key -> WriteOperation.Insert.name) // whatever the session's INSERTs do
    FrameWrite.overwrite(session, table, options, none, WriteSource.SqlInsert, Some(replaced))
    ()
  }

  override def createPartitions(idents: Array[InternalRow], properties: Array[util.Map[String, String]]): Unit =
    throw MerganserException("PARTITION_WITHOUT_ROWS", "table" -> opened.config.name)

  override def replacePartitionMetadata(ident: InternalRow, properties: util.Map[String, String]): Unit =
    throw MerganserException("PARTITION_WITHOUT_ROWS", "table" -> opened.config.name)
}
