package io.merganser.spark.change

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.change.{CommitWindow, GroupChanges}
import io.merganser.table.settings.ReadConfig
import org.apache.spark.sql.SparkSession

/** Reads of change data: what each commit of a window changed. */
private[spark] object ChangeData {

  /**
   * The changes in the window of a read; None if the read is of rows. The window is checked here, before the read is
   * planned.
   *
   * @throws io.merganser.merge.MerganserException what [[CommitWindow.of]] throws, CHANGES_BEGIN_MISSING,
   *                                               CHANGE_DATA_CLEANED
   */
  def of(session: SparkSession, table: OpenTable, read: ReadConfig): Option[ChangeDataTable] =
    for (window <- read.changes; form <- window.changeData) yield {
      val commits = CommitWindow.of(table.storage, table.config, table.timeline, window.beginOf(table.config.name),
        window.end, usesCommitTimes = false)
      lazy val changes =
        new GroupChanges(table.storage, table.config, table.timeline).of(commits.metadata.toSeq)
      new ChangeDataTable(session, table, read, form, () => changes)
    }
}
