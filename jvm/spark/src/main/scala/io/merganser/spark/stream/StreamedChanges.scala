package io.merganser.spark.stream

import io.merganser.spark.change.{ChangeData, ChangeScan, ImageFilters}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.change.{GroupChange, GroupChanges}
import io.merganser.table.settings.{ChangeForm, ReadConfig}
import io.merganser.table.slice.FileSlice
import io.merganser.table.timeline.CommitMetadata
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

/** What each commit changed; the rows of a snapshot are inserts of its newest commit. */
private[stream] final class StreamedChanges(
    session: SparkSession,
    columns: StructType,
    filters: Array[Filter],
    form: ChangeForm,
    read: ReadConfig
) extends StreamedContent {

  private val onRows = ImageFilters.ofRows(filters.toSeq)

  override def usesCommitTimes: Boolean = false

  /** A commit that only replaces file groups deletes their rows. */
  override def isOf(commit: CommitMetadata): Boolean = !commit.operationType.isService && commit.touched.nonEmpty

  override def ofSnapshot(now: TableNow, time: String): Seq[InputPartition] = {
    val snapshot = now.groupsAsOf(time)
    ofSlices(now, snapshot, snapshot.slices)
  }

  override def ofSlices(now: TableNow, snapshot: SnapshotGroups, slices: Seq[FileSlice]): Seq[InputPartition] = {
    val changes = new GroupChanges(now.table.storage, now.table.config, now.table.timeline)
    val mayHold = ChangeData.mayHold(now.table, onRows)
    partitions(now.table, changes.inserts(snapshot.view, slices.filter(s => mayHold(s.partitionPath)), snapshot.time))
  }

  override def ofWindow(now: TableNow, begin: String, end: String): Seq[InputPartition] =
    partitions(now.table, ChangeData.in(now.table, now.window(begin, Some(end)), onRows))

  private def partitions(table: OpenTable, changes: Seq[GroupChange]): Seq[InputPartition] =
    StreamPartition.of(new ChangeScan(session, table, read, form, columns, onRows, () => changes))
}
