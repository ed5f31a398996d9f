package io.merganser.spark.sql.procedures

import io.merganser.spark.service.ServicePreviews
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.commit.{Rollback, Transaction}
import io.merganser.table.timeline.{Action, Instant, Timeline}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/** CALL show_timeline(table => … | path => …): every action, pending ones too, newest first. */
object ShowTimeline extends LazyTableProcedure {
  override val name = "show_timeline"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter.path,
    Parameter.limit(20),
    Parameter.filter,
    Parameter("startTime", StringType, "first instant to show"),
    Parameter("endTime", StringType, "last instant to show")
  )

  override val result: StructType = Procedure.columns(Seq(
      "instant_time" -> StringType,
      "action" -> StringType,
      "state" -> StringType,
      "completed_time" -> StringType,
      "operation" -> StringType
    ) ++ CommitColumns.counts ++ CommitColumns.sums :+ ("files_deleted" -> LongType): _*)

  /** Of a completed clean. */
  private def filesDeleted(timeline: Timeline, instant: Instant): Any =
    Some(instant).filter(i => i.action == Action.Clean && i.isCompleted).flatMap(timeline.cleanMetadata).map(done =>
      Long.box(done.filesDeleted.toLong)).orNull

  override protected def rows(table: OpenTable, arguments: Arguments): Iterator[Row] = {
    val timeline = table.timeline
    val writes   = timeline.completed.toSet
    val chosen = timeline.instants.filter { i =>
      arguments.string("startTime").forall(_ <= i.requested) && arguments.string("endTime").forall(i.requested <= _)
    }
    val metadataOf = timeline.metadataOf(chosen.reverseIterator.filter(writes), most(arguments))
    chosen.reverseIterator.map { instant =>
      val metadata = if (writes(instant)) Some(metadataOf.next()._2) else None
      val columns =
        Seq(instant.requested, instant.action.name, instant.state.shown, instant.completed.orNull,
          metadata.map(_.operationType.name).orNull)
      Row.fromSeq(columns ++ CommitColumns.countsOf(metadata) ++ CommitColumns.sumsOf(metadata, instant.requested,
        instant.completed) :+ filesDeleted(timeline, instant))
    }
  }
}

/**
 * CALL show_rollbacks(table => … | path => …): rollbacks on the timeline, newest first: of completed writes, and those
 * of failed writes that other engines wrote. Ours of failed writes leave none.
 */
object ShowRollbacks extends LazyTableProcedure {
  override val name = "show_rollbacks"

  override val parameters: Seq[Parameter] = Seq(Parameter.table, Parameter.limit(10), Parameter.path, Parameter.filter)

  override val result: StructType = Procedure.columns(
    "instant" -> StringType,
    "rollback_instant" -> StringType,
    "total_files_deleted" -> IntegerType,
    "time_taken_in_millis" -> LongType,
    "total_partitions" -> IntegerType
  )

  override protected def rows(table: OpenTable, arguments: Arguments): Iterator[Row] =
    for {
      instant  <- table.timeline.instants.reverseIterator if instant.action == Action.Rollback && instant.isCompleted
      rollback <- Iterator(table.timeline.rollback(instant))
      rolled   <- rollback.instants
    } yield Row(rollback.startTime, rolled.instant, rollback.deleted.values.map(_.size).sum, rollback.elapsedMs,
      (rollback.deleted.keySet ++ rollback.failed.keySet).size)
}

/**
 * CALL rollback_failed_writes(table => … | path => …): removes what failed writes left, as the next write would.
 *
 * The table's options determine which pending writes have failed: all of them where one process writes (EAGER), those
 * whose heartbeat stopped where several do (LAZY).
 */
object RollbackFailedWrites extends TableProcedure {
  override val name = "rollback_failed_writes"

  override val parameters: Seq[Parameter] = Seq(Parameter.table, Parameter.path, Parameter.options)

  override val result: StructType =
    Procedure.columns("instant" -> StringType, "action" -> StringType, "state" -> StringType)

  override val preview: Option[Preview] =
    Some(Preview("rollback_failed_writes")((scope, _) => ServicePreviews.failedWrites(scope)))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val settings = arguments.settings(session, table)
    Rollback.failed(table.storage, table.config, Transaction.Options.of(settings)).map(i =>
      Row(i.requested, i.action.name, i.state.shown))
  }
}
