package io.merganser.spark.sql.procedures

import java.sql.Timestamp

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.Counts
import io.merganser.table.service.{ActionSummary, TableHistory}
import io.merganser.table.timeline.{CommitMetadata, WriteStat}
import org.apache.spark.sql.Row
import org.apache.spark.sql.types._

/** CALL show_history(table => … | path => …): what was done to the table, newest first; also what was archived. */
object ShowHistory extends LazyTableProcedure {
  override val name = "show_history"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter.path,
    Parameter.limit(20),
    Parameter.filter,
    Parameter("archived", BooleanType, "whether instants that were archived follow", default = Some("false"))
  )

  override val result: StructType = Procedure.columns(History.columns: _*)

  override protected def rows(table: OpenTable, arguments: Arguments): Iterator[Row] =
    History.of(table, most(arguments), arguments.boolean("archived").contains(true)).map(s =>
      Row.fromSeq(History.values(s)))
}

/** The actions of a table as result columns. */
private[procedures] object History {

  /** Names and types. */
  val columns: Seq[(String, DataType)] = Seq(
    "instant_time" -> StringType,
    "requested_at" -> TimestampType,
    "completed_time" -> StringType,
    "completed_at" -> TimestampType,
    "elapsed_ms" -> LongType,
    "action" -> StringType,
    "operation" -> StringType,
    "state" -> StringType,
    "user" -> StringType,
    "application" -> StringType,
    "engine" -> StringType
  ) ++ CommitColumns.counts ++ Seq(
    "files_written" -> LongType,
    "rows_written" -> LongType,
    "bytes_written" -> LongType,
    "groups_replaced" -> LongType,
    "files_deleted" -> LongType,
    "bytes_deleted" -> LongType,
    "partitions" -> LongType,
    "planned" -> LongType,
    "comment" -> StringType,
    "readable" -> BooleanType,
    "archived" -> BooleanType,
    "lateness" -> StringType
  )

  /** @see [[TableHistory.newestFirst]] */
  def of(table: OpenTable, most: Int, archived: Boolean): Iterator[ActionSummary] =
    new TableHistory(table.storage, table.config, table.timeline).newestFirst(most, archived)

  /** The values of [[columns]]. */
  def values(s: ActionSummary): Seq[Any] = {
    def time(millis: Option[Long]): Any = millis.map(new Timestamp(_)).orNull
    def number(value: Option[Any]): Any = value.map(v => Long.box(v.toString.toLong)).orNull
    def sum(of: WriteStat => Long): Any = number(s.write.map(_.allStats.map(of).sum))
    def files: Option[Int]              = s.write.map(_.allStats.count(_.path.nonEmpty))
    val when: Seq[Any] = Seq(s.instant.requested, time(s.requestedMs), s.instant.completed.orNull, time(s.completedMs),
      number(s.elapsedMs), s.instant.action.name)
    val who: Seq[Any] = Seq(s.write.map(_.operationType.name).orNull, s.instant.state.shown, s.user.orNull,
      s.application.orNull, s.engine.orNull)
    val what: Seq[Any] = Seq(number(files), sum(_.numWrites), sum(_.totalWriteBytes), number(s.groupsReplaced),
      number(s.filesDeleted), number(s.bytesDeleted), number(s.partitions), number(s.planned))
    val rest: Seq[Any] = Seq(s.comment.orNull, s.isReadable.map(Boolean.box).orNull, s.isArchived,
      s.write.map(Counts.latenessOf).orNull)
    when ++ who ++ counts(s.write) ++ what ++ rest
  }

  /** Ours, or inserted, updated and deleted rows as other engines count them for each file. */
  private def counts(write: Option[CommitMetadata]): Seq[Any] = {
    val ours = CommitColumns.countsOf(write)
    if (ours.exists(_ != null)) ours
    else {
      val stats = write.map(_.allStats)
      val theirs: Map[String, WriteStat => Long] =
        Map("inserted" -> (_.numInserts), "updated" -> (_.numUpdateWrites), "deleted" -> (_.numDeletes))
      CommitColumns.counts.map { case (name, _) =>
        theirs.get(name).flatMap(of => stats.map(all => Long.box(all.map(of).sum))).orNull
      }
    }
  }
}
