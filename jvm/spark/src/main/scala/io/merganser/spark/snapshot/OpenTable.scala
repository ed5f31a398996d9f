package io.merganser.spark.snapshot

import io.merganser.merge.MerganserException
import io.merganser.spark.write.key.KeyColumns
import io.merganser.table.change.CommitWindow
import io.merganser.table.commit.{BucketMetadata, Creation, TableFeatures}
import io.merganser.table.options.Options
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.StoredRule
import io.merganser.table.schema.DroppedColumns
import io.merganser.table.slice.{LogVisibility, RowKey, SliceReader, TableSnapshot, TableView, TimeTravel}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{AsOf, Timeline}
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType

/** A table as one query or one write sees it: settings and timeline read once. */
final class OpenTable(val storage: Storage, val config: TableConfig, val timeline: Timeline) {

  /** The data columns, without meta columns; empty while the table has neither a declared schema nor a commit. */
  lazy val schema: StructType = DroppedColumns.added(config, committed)

  private lazy val committed: StructType = timeline.tableColumns.getOrElse(new StructType)

  /** Whether keys are placed by consistent hashing; one listing where the table does not store its index. */
  lazy val hasRings: Boolean = config.properties.get(Options.IndexTypeOption.key) match {
    case Some(_) => config.properties.get(Options.BucketEngine.key).contains("CONSISTENT_HASHING")
    case None    => BucketMetadata.hasRings(storage)
  }

  /** What a commit stores of the table's columns. */
  def forCommit(columns: StructType): StructType = DroppedColumns.removed(config, columns, committed)

  /** How keys are computed from rows; None if they are stored, and where the table has no columns yet. */
  lazy val rowKey: Option[RowKey] =
    if (config.storesKeys || schema.isEmpty) None else Some(KeyColumns.ofRow(SparkSession.active, config, schema))

  /**
   * The table's rows, for readers in tasks.
   *
   * @param columnsOf whose columns they have
   */
  def snapshot(rule: StoredRule, columnsOf: OpenTable = this): TableSnapshot = TableSnapshot(storage, config, rule,
    columnsOf.schema, LogVisibility(timeline).copy(history = columnsOf.timeline.history), rowKey)

  /** @param projected columns to return; see [[TableSnapshot.reader]] */
  def reader(rule: StoredRule, projected: StructType): SliceReader = snapshot(rule).reader(projected)

  lazy val view: TableView = new TableView(storage, config, timeline)

  /**
   * The same table as of a time, in one of the forms of [[AsOf]].
   *
   * @throws MerganserException AS_OF_INVALID, AS_OF_TOO_EARLY
   */
  def asOf(time: String): OpenTable =
    new OpenTable(storage, config, new TimeTravel(storage, config, timeline).to(AsOf.instant(config, time)))

  /** The same table, read as of another one of its timelines. */
  def as(timeline: Timeline): OpenTable = new OpenTable(storage, config, timeline)

  /**
   * The commits in a window of time.
   *
   * @param usesCommitTimes whether rows are found by their commit times, which some tables do not store
   * @throws MerganserException what [[CommitWindow.of]] throws
   */
  def window(begin: String, end: Option[String], usesCommitTimes: Boolean = true): CommitWindow =
    CommitWindow.of(storage, config, timeline, begin, end, usesCommitTimes = usesCommitTimes)

  /**
   * Whether logs may have rows with some of the columns only. Hudi reads such rows wrongly where a table has versions
   * of its columns, with null for the other columns.
   */
  def logsPartialRows: Boolean = config.version >= 8 && timeline.history.isEmpty

  /** The same table as of the requested time of one of its instants. */
  private[spark] def asOfInstant(instant: String): OpenTable = new OpenTable(storage, config, timeline.asOf(instant))

  /** The same table, with settings and timeline read again; commits that were read are not. */
  def refreshed(): OpenTable = OpenTable.load(storage, Some(timeline))

  /** See [[Creation.isUnfinished]]. */
  def isUnfinished: Boolean = Creation.isUnfinished(storage, config, timeline)
}

object OpenTable {

  /** @throws MerganserException PATH_INVALID */
  def storage(session: SparkSession, path: String): Storage =
    new Storage(folder(path), session.sessionState.newHadoopConf())

  /**
   * The path of a table as users write it.
   *
   * @throws MerganserException PATH_INVALID: one that a shell or another system would read otherwise, or no path
   */
  def folder(path: String): Path = {
    requirePath(path)
    try new Path(path)
    catch { case e: IllegalArgumentException => throw invalid(path, String.valueOf(e.getMessage)).causedBy(e) }
  }

  /** @throws MerganserException PATH_INVALID */
  def requirePath(path: String): Unit =
    if (path == "~" || path.startsWith("~/"))
      throw invalid(path, "its '~' was not replaced by the home folder, which only shells do")
    else if (!Path.WINDOWS && path.matches("[A-Za-z]:[\\\\/].*"))
      throw invalid(path, "it begins with a Windows drive, but the driver does not run on Windows")

  private def invalid(path: String, reason: String): MerganserException =
    MerganserException("PATH_INVALID", "path" -> path, "reason" -> reason)

  /** @throws MerganserException what [[TableConfig.load]] and [[TableFeatures.requireReadable]] throw */
  def load(session: SparkSession, path: String): OpenTable = load(storage(session, path))

  /** @param known an earlier timeline of the table */
  def load(storage: Storage, known: Option[Timeline] = None): OpenTable = {
    val config   = TableConfig.load(storage)
    val timeline = Timeline.load(storage, config, known)
    TableFeatures.requireReadable(storage, timeline)
    new OpenTable(storage, config, timeline)
  }

  /** The table at a location, if there is one. Throws otherwise as [[load]] does. */
  def find(storage: Storage): Option[OpenTable] =
    try Some(load(storage))
    catch { case e: MerganserException if e.condition == "PATH_IS_NO_TABLE" => None }

  /** The absolute path: a relative one is resolved against the working directory of the file system. */
  def absolute(session: SparkSession, path: String): String =
    if (folder(path).isAbsolute) path else storage(session, path).basePath.toString
}
