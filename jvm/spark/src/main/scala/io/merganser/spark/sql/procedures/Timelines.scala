package io.merganser.spark.sql.procedures

import io.merganser.spark.service.ServicePreviews
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.commit.{Rollback, Transaction}
import io.merganser.table.timeline.{
  Action,
  CleanMetadata,
  CommitMetadata,
  Instant,
  InstantTime,
  RollbackMetadata,
  RolledBack
}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

import java.time.temporal.ChronoUnit

/** CALL show_timeline(table => … | path => …): every action, pending ones too, newest first. */
object ShowTimeline extends LazyTableProcedure[TimelineAction] {
  override val name = "show_timeline"

  override val parameters = Seq(
    Parameter.table,
    Parameter.path,
    Parameter.limit(20),
    Parameter.filter,
    Parameter("startTime", StringType, "first instant to show"),
    Parameter("endTime", StringType, "last instant to show")
  )

  override val columns = ResultColumns[TimelineAction](
    string("instant_time", _.instant.requested),
    string("action", _.instant.action.name),
    string("state", _.instant.state.shown),
    string("completed_time", _.instant.completed.orNull),
    string("operation", _.write.map(_.operationType.name).orNull),
    CommitColumns.counts.of(_.write.fold(Map.empty[String, Long])(CommitColumns.countsOf)),
    CommitColumns.sums(
      _.write.map(m => Int.box(m.allStats.size)).orNull,
      _.write.map(m => Long.box(m.allStats.map(_.numWrites).sum)).orNull,
      _.write.map(m => Long.box(m.allStats.map(_.totalWriteBytes).sum)).orNull,
      _.elapsedMs.map(Long.box).orNull
    ),
    long("files_deleted", _.clean.map(done => Long.box(done.filesDeleted.toLong)).orNull)
  )

  override protected def values(table: OpenTable, arguments: Arguments): Iterator[TimelineAction] = {
    val timeline = table.timeline
    val writes   = timeline.completed.toSet
    val chosen = timeline.instants.filter { i =>
      arguments.string("startTime").forall(_ <= i.requested) && arguments.string("endTime").forall(i.requested <= _)
    }
    val metadataOf = timeline.metadataOf(chosen.reverseIterator.filter(writes), most(arguments))
    chosen.reverseIterator.map { instant =>
      val write = if (writes(instant)) Some(metadataOf.next()._2) else None
      val clean = Some(instant).filter(i => i.action == Action.Clean && i.isCompleted).flatMap(timeline.cleanMetadata)
      TimelineAction(instant, write, clean)
    }
  }
}

/** An action with what it has done, if it is a completed write or a completed clean. */
private[procedures] final case class TimelineAction(
    instant: Instant,
    write: Option[CommitMetadata],
    clean: Option[CleanMetadata]
) {
  def elapsedMs: Option[Long] = for {
    from <- InstantTime.parse(instant.requested)
    to   <- instant.completed.flatMap(InstantTime.parse)
  } yield ChronoUnit.MILLIS.between(from, to)
}

/**
 * CALL show_rollbacks(table => … | path => …): rollbacks on the timeline, newest first: of completed writes, and those
 * of failed writes that other engines wrote. Our rollbacks of failed writes leave no trace.
 */
object ShowRollbacks extends LazyTableProcedure[(RollbackMetadata, RolledBack)] {
  override val name = "show_rollbacks"

  override val parameters = Commits.parameters

  override val columns = ResultColumns[(RollbackMetadata, RolledBack)](
    string("instant", _._1.startTime),
    string("rollback_instant", _._2.instant),
    int("total_files_deleted", _._1.deleted.values.map(_.size).sum),
    long("time_taken_in_millis", _._1.elapsedMs),
    int("total_partitions", done => (done._1.deleted.keySet ++ done._1.failed.keySet).size)
  )

  override protected def values(table: OpenTable, arguments: Arguments): Iterator[(RollbackMetadata, RolledBack)] =
    for {
      instant  <- table.timeline.instants.reverseIterator if instant.action == Action.Rollback && instant.isCompleted
      rollback <- Iterator(table.timeline.rollback(instant))
      rolled   <- rollback.instants
    } yield (rollback, rolled)
}

/**
 * CALL rollback_failed_writes(table => … | path => …): removes what failed writes left, as the next write would.
 *
 * The table's options determine which pending writes have failed: all of them where one process writes (EAGER), those
 * whose heartbeat stopped where several do (LAZY).
 */
object RollbackFailedWrites extends TableProcedure[Instant] {
  override val name = "rollback_failed_writes"

  override val parameters = Seq(Parameter.table, Parameter.path, Parameter.options)

  override val columns = ResultColumns[Instant](
    string("instant", _.requested), string("action", _.action.name), string("state", _.state.shown))

  override val preview = Some(Preview("rollback_failed_writes")((scope, _) => ServicePreviews.failedWrites(scope)))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Instant] =
    Rollback.failed(table.storage, table.config, Transaction.Options.of(arguments.settings(session, table)))
}
