package io.merganser.spark.stream

import io.merganser.spark.read.SliceScanBuilder
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.change.ChangedRows
import io.merganser.table.file.FileGroupId
import io.merganser.table.settings.ReadConfig
import io.merganser.table.timeline.Timeline
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/** What a stream returns of the commits of a window. */
private[stream] trait StreamedContent {

  /** Of some file groups of a snapshot. */
  def ofSnapshot(table: OpenTable, view: Timeline, groups: Set[FileGroupId]): Seq[InputPartition]

  /**
   * Of the commits that completed after one time up to another.
   *
   * @param begin exclusive; None: from the first commit on
   * @param end   inclusive
   */
  def ofWindow(table: OpenTable, begin: Option[String], end: String): Seq[InputPartition]
}

/** The rows that were changed in a window, each once, as they were at its end. */
private[stream] final class StreamedRows(
    session: SparkSession,
    columns: StructType,
    filters: Array[Filter],
    read: ReadConfig
) extends StreamedContent {

  override def ofSnapshot(table: OpenTable, view: Timeline, groups: Set[FileGroupId]): Seq[InputPartition] =
    partitions(table, ChangedRows(view, Some(groups), None))

  override def ofWindow(table: OpenTable, begin: Option[String], end: String): Seq[InputPartition] =
    partitions(table, ChangedRows.of(table.window(begin.getOrElse(Earliest), Some(end))))

  private val Earliest = "earliest"

  private def partitions(table: OpenTable, changed: ChangedRows): Seq[InputPartition] = {
    val builder =
      new SliceScanBuilder(session, table.as(changed.view), read.copy(changes = None), changed = Some(changed))
    builder.pushFilters(filters)
    builder.pruneColumns(columns)
    StreamPartition.of(builder.build().toBatch)
  }
}

/** A partition that has its reader with it: a micro-batch may have partitions of two scans. */
private[stream] final case class StreamPartition(of: InputPartition, reader: PartitionReaderFactory)
    extends InputPartition {
  override def preferredLocations(): Array[String] = of.preferredLocations()
}

private[stream] object StreamPartition {

  def of(batch: Batch): Seq[InputPartition] = {
    val partitions  = batch.planInputPartitions().toSeq
    lazy val reader = batch.createReaderFactory()
    partitions.map(StreamPartition(_, reader))
  }
}

/** Reads each partition with its own reader. */
private[stream] object StreamReaderFactory extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val own = partition.asInstanceOf[StreamPartition]
    own.reader.createReader(own.of)
  }

  override def supportColumnarReads(partition: InputPartition): Boolean = {
    val own = partition.asInstanceOf[StreamPartition]
    own.reader.supportColumnarReads(own.of)
  }

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] = {
    val own = partition.asInstanceOf[StreamPartition]
    own.reader.createColumnarReader(own.of)
  }
}
