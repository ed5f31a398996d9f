package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{
  CompactionResult,
  CompactionService,
  LogCompactionService,
  PlannedService,
  ServicePreviews
}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.timeline.{Action, InstantState, OperationType}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

import java.util.Locale

/**
 * CALL run_compaction(op => …, table => … | path => …): plans compactions of a merge-on-read table, runs those planned,
 * or both.
 */
object RunCompaction extends CompactionProcedure(CompactionService) {

  override val preview = Some(Preview("compaction")((scope, _) => ServicePreviews.compaction(scope)))
}

/** CALL run_log_compaction(op => …, table => … | path => …): the same for log compactions, which write log files. */
object RunLogCompaction extends CompactionProcedure(LogCompactionService) {

  override val preview = Some(Preview("log_compaction")((scope, _) => ServicePreviews.logCompaction(scope)))
}

/** Plans compactions of one kind, runs those planned, or both. */
private[procedures] abstract class CompactionProcedure(service: PlannedService[CompactionResult])
    extends TableProcedure[CompactionRow] {
  override val name: String = service.procedure

  override val parameters = Seq(
    Parameter("op", StringType, "schedule, run (also execute) or scheduleandexecute", isRequired = true),
    Parameter.table,
    Parameter.path,
    Parameter("timestamp", LongType, "run: the planned compaction to run"),
    Parameter.options,
    Parameter("instants", StringType, "run: the planned compactions to run, comma separated"),
    Parameter("limit", IntegerType, "run: maximum number of compactions to run, oldest first"),
    Parameter.flag("if_due",
      "true: plans a compaction only if hoodie.compact.inline.trigger.strategy makes one due and no overwrite is " +
        "running")
  )

  override val measures = Seq("operation_size", "rows_written", "bytes_written", "log_files_compacted")

  private val done = ResultColumns[CompactionResult](
    long("rows_written", _.rowsWritten),
    long("bytes_written", _.bytesWritten),
    int("log_files_compacted", _.logFilesCompacted),
    long("elapsed_ms", _.elapsedMs)
  )

  override val columns =
    ResultColumns(CompactionRow.columns, done.optional.of(_.done), string("left_because", _.leftBecause.orNull))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[CompactionRow] = {
    val scope = arguments.scope(session, table)
    val op    = arguments.required("op")
    val ifDue = arguments.flag("if_due")
    op.toLowerCase(Locale.ROOT) match {
      case "schedule" =>
        val planned = if (ifDue) service.scheduleDue(scope) else service.schedule(scope)
        planned.map(CompactionRow(_, InstantState.Requested)).toSeq
      case "run" | "execute" => rows(service.run(scope, chosen(arguments)))
      case "scheduleandexecute" =>
        rows(if (ifDue) service.scheduleDueAndRun(scope) else service.scheduleAndRun(scope))
      case _ => throw arguments.invalid("op", op, "schedule, run, execute, scheduleandexecute")
    }
  }

  /** The compactions to run out of the planned ones, oldest first. */
  private def chosen(arguments: Arguments)(planned: Seq[String]): Seq[String] = {
    val one = arguments.long("timestamp").map(_.toString)
    arguments.chosen(if (one.isDefined) "timestamp" else "instants", one.toSeq ++ arguments.names("instants"), planned,
      "the planned compactions")
  }

  /** One row for the compactions done, then one for each plan that another writer runs. */
  private def rows(result: CompactionResult): Seq[CompactionRow] =
    result.instant.map(CompactionRow(_, InstantState.Completed, Some(result.filesWritten), Some(result))).toSeq ++
      result.skipped.map(l => CompactionRow(l.instant, InstantState.Inflight, leftBecause = Some(l.reason)))
}

/** A row of the procedures about compactions. */
private[procedures] final case class CompactionRow(
    instant: String,
    state: InstantState,
    size: Option[Int] = None,
    done: Option[CompactionResult] = None,
    leftBecause: Option[String] = None
)

private[procedures] object CompactionRow extends ResultColumnTypes {

  val columns: ResultColumns[CompactionRow] = ResultColumns(
    string("timestamp", _.instant),
    int("operation_size", _.size.map(Int.box).orNull),
    string("state", _.state.shown)
  )
}

/** CALL show_compaction(table => … | path => …): compactions planned and done, newest first. */
object ShowCompaction extends LazyTableProcedure[CompactionRow] {
  override val name = "show_compaction"

  override val parameters = Seq(Parameter.table, Parameter.path, Parameter.limit(20), Parameter.filter)

  override val columns = CompactionRow.columns

  override protected def values(table: OpenTable, arguments: Arguments): Iterator[CompactionRow] = {
    val timeline = table.timeline
    // A completed compaction is a commit; a table without compactions has many others.
    val commits = timeline.completed.filter(_.action == Action.Commit)
    val done    = timeline.metadataOf(commits.reverseIterator, most(arguments))
    (timeline.pendingCompactions ++ commits).sortBy(_.requested).reverseIterator.flatMap { instant =>
      if (!instant.isCompleted) Some((instant, timeline.compactionPlan(instant).operations.size))
      else Some(done.next()._2).filter(_.operationType == OperationType.Compact).map(m => (instant, m.allStats.size))
    }.map { case (instant, size) => CompactionRow(instant.requested, instant.state, Some(size)) }
  }
}
