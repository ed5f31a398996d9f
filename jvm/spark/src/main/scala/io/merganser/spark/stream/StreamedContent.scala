package io.merganser.spark.stream

import io.merganser.table.slice.FileSlice
import io.merganser.table.timeline.CommitMetadata
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.vectorized.ColumnarBatch

/** What a stream returns of a snapshot and of the commits of a window. */
private[stream] trait StreamedContent {

  /** Whether rows are found by their commit times, which some tables do not store. */
  def usesCommitTimes: Boolean

  /** Whether a commit has something to return. */
  def isOf(commit: CommitMetadata): Boolean

  /** Of a snapshot, by the completion time of its newest commit. */
  def ofSnapshot(now: TableNow, time: String): Seq[InputPartition]

  /** Of some slices of a snapshot. */
  def ofSlices(now: TableNow, snapshot: SnapshotGroups, slices: Seq[FileSlice]): Seq[InputPartition]

  /** Of the commits that completed after one time, exclusive, up to another, inclusive. */
  def ofWindow(now: TableNow, begin: String, end: String): Seq[InputPartition]
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
