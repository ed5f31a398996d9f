package io.merganser.spark.stream

import io.merganser.spark.read.SliceScanBuilder
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.change.{ChangedRows, CommitWindow}
import io.merganser.table.settings.ReadConfig
import io.merganser.table.slice.FileSlice
import io.merganser.table.timeline.CommitMetadata
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

/** The rows that were changed in a window, each once, as they were at its end. */
private[stream] final class StreamedRows(
    session: SparkSession,
    columns: StructType,
    filters: Array[Filter],
    read: ReadConfig
) extends StreamedContent {

  override def usesCommitTimes: Boolean = true

  override def isOf(commit: CommitMetadata): Boolean = !commit.operationType.isService && commit.allStats.nonEmpty

  override def ofSnapshot(now: TableNow, time: String): Seq[InputPartition] =
    ofWindow(now, CommitWindow.Earliest, time)

  override def ofSlices(now: TableNow, snapshot: SnapshotGroups, slices: Seq[FileSlice]): Seq[InputPartition] =
    partitions(now.table, ChangedRows(snapshot.view, Some(slices.map(_.group).toSet), None))

  override def ofWindow(now: TableNow, begin: String, end: String): Seq[InputPartition] =
    partitions(now.table, ChangedRows.of(now.window(begin, Some(end))))

  private def partitions(table: OpenTable, changed: ChangedRows): Seq[InputPartition] = {
    val builder =
      new SliceScanBuilder(session, table.as(changed.view), read.copy(changes = None), changed = Some(changed))
    builder.pushFilters(filters)
    builder.pruneColumns(columns)
    StreamPartition.of(builder.build().toBatch)
  }
}
