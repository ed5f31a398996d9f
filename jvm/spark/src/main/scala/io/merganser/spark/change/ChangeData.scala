package io.merganser.spark.change

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.change.{CommitWindow, GroupChange, GroupChanges}
import io.merganser.table.settings.ReadConfig
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.types.StructType

/** Reads of change data: what each commit of a window changed. */
private[spark] object ChangeData {

  /**
   * The changes in the window of a read; None if the read is of rows. The window is checked here, before the read is
   * planned, if it has a begin: that of a stream has none.
   *
   * @param stream the same columns as a stream, by the folder of its checkpoint, where the read may be one
   * @throws io.merganser.merge.MerganserException what [[CommitWindow.of]] throws, CHANGES_BEGIN_MISSING,
   *                                               CHANGE_DATA_CLEANED
   */
  def of(
      session: SparkSession,
      table: OpenTable,
      read: ReadConfig,
      stream: Option[StructType => String => MicroBatchStream] = None
  ): Option[ChangeDataTable] =
    for (window <- read.changes; form <- window.changeData) yield {
      lazy val commits = table.window(window.beginOf(table.config.name), window.end, usesCommitTimes = false)
      if (window.begin.isDefined || stream.isEmpty) commits
      lazy val changes = in(table, commits)
      new ChangeDataTable(session, table, read, form, () => changes, stream)
    }

  /** @throws io.merganser.merge.MerganserException CHANGE_DATA_CLEANED */
  def in(table: OpenTable, commits: CommitWindow): Seq[GroupChange] =
    new GroupChanges(table.storage, table.config, table.timeline).of(commits.metadata.toSeq)
}
