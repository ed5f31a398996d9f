package io.merganser.spark.sql.procedures

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.Counts
import io.merganser.table.service.{ActionSummary, TableHistory}
import io.merganser.table.timeline.{CommitMetadata, WriteStat}

/** CALL show_history(table => … | path => …): what was done to the table, newest first; also what was archived. */
object ShowHistory extends LazyTableProcedure[ActionSummary] {
  override val name = "show_history"

  override val parameters = Seq(
    Parameter.table,
    Parameter.path,
    Parameter.limit(20),
    Parameter.filter,
    Parameter.flag("archived", "whether archived instants follow")
  )

  override val columns = History.columns

  override protected def values(table: OpenTable, arguments: Arguments): Iterator[ActionSummary] =
    History.of(table, most(arguments), arguments.flag("archived"))
}

/** The actions of a table as result columns. */
private[procedures] object History extends ResultColumnTypes {

  val columns: ResultColumns[ActionSummary] = ResultColumns(
    string("instant_time", _.instant.requested),
    time("requested_at", _.requestedMs),
    string("completed_time", _.instant.completed.orNull),
    time("completed_at", _.completedMs),
    number("elapsed_ms", _.elapsedMs),
    string("action", _.instant.action.name),
    string("operation", _.write.map(_.operationType.name).orNull),
    string("state", _.instant.state.shown),
    string("user", _.user.orNull),
    string("application", _.application.orNull),
    string("engine", _.engine.orNull),
    CommitColumns.counts.of(_.write.fold(Map.empty[String, Long])(counts)),
    number("files_written", _.write.map(_.allStats.count(_.path.nonEmpty).toLong)),
    number("rows_written", _.write.map(_.allStats.map(_.numWrites).sum)),
    number("bytes_written", _.write.map(_.allStats.map(_.totalWriteBytes).sum)),
    number("groups_replaced", _.groupsReplaced.map(_.toLong)),
    number("files_deleted", _.filesDeleted),
    number("bytes_deleted", _.bytesDeleted),
    number("partitions", _.partitions.map(_.toLong)),
    number("planned", _.planned.map(_.toLong)),
    string("comment", _.comment.orNull),
    boolean("readable", _.isReadable.map(Boolean.box).orNull),
    boolean("archived", _.isArchived),
    string("lateness", _.write.map(Counts.latenessOf).orNull)
  )

  private def number(name: String, value: ActionSummary => Option[Long]): ResultColumns[ActionSummary] =
    long(name, value(_).map(Long.box).orNull)

  /** @see [[TableHistory.newestFirst]] */
  def of(table: OpenTable, most: Int, archived: Boolean): Iterator[ActionSummary] =
    new TableHistory(table.storage, table.config, table.timeline).newestFirst(most, archived)

  /** Ours, or inserted, updated and deleted rows as other engines count them for each file. */
  private def counts(write: CommitMetadata): Map[String, Long] = {
    def sum(of: WriteStat => Long) = write.allStats.map(of).sum
    val ours                       = CommitColumns.countsOf(write)
    if (ours.nonEmpty) ours
    else Map("inserted" -> sum(_.numInserts), "updated" -> sum(_.numUpdateWrites), "deleted" -> sum(_.numDeletes))
  }
}
