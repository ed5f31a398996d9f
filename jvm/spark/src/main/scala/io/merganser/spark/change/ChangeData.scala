package io.merganser.spark.change

import io.merganser.spark.prune.PartitionPruning
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.change.{CommitWindow, GroupChange}
import io.merganser.table.settings.ReadConfig
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

import scala.collection.mutable

/** Reads of change data: what each commit of a window changed. */
private[spark] object ChangeData {

  /**
   * The changes in the window of a read; None if the read is of rows. The window is checked here, before the read is
   * planned, if it has a begin: that of a stream has none.
   *
   * @param stream some columns as a stream, by the folder of its checkpoint, where the read may be one; filters may
   *               rule out changes
   * @throws io.merganser.merge.MerganserException what [[CommitWindow.of]] throws, CHANGES_BEGIN_MISSING,
   *                                               CHANGE_DATA_CLEANED
   */
  def of(
      session: SparkSession,
      table: OpenTable,
      read: ReadConfig,
      stream: Option[(StructType, Array[Filter]) => String => MicroBatchStream] = None
  ): Option[ChangeDataTable] =
    for (window <- read.changes; form <- window.changeData) yield {
      lazy val commits = table.window(window.beginOf(table.config.name), window.end, usesCommitTimes = false)
      if (window.begin.isDefined || stream.isEmpty) commits
      new ChangeDataTable(session, table, read, form, in(table, commits, _), stream)
    }

  /**
   * What the commits of a window changed.
   *
   * @param filters on rows of the table; a file group is left out if none of its rows satisfies them
   * @throws io.merganser.merge.MerganserException CHANGE_DATA_CLEANED
   */
  def in(table: OpenTable, commits: CommitWindow, filters: Seq[Filter]): Seq[GroupChange] =
    commits.changes(mayHold(table, filters))

  /** Whether a partition, by its path, may have rows that satisfy filters. */
  def mayHold(table: OpenTable, filters: Seq[Filter]): String => Boolean = {
    val pruning = PartitionPruning(table.config, table.schema)
    val known   = mutable.HashMap.empty[String, Boolean]
    path => known.getOrElseUpdate(path, pruning.mayHold(path, filters))
  }
}
