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
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

import java.util.Locale

/**
 * CALL run_compaction(op => …, table => … | path => …): plans compactions of a merge-on-read table, runs those planned,
 * or both.
 */
object RunCompaction extends CompactionProcedure(CompactionService) {

  override val preview: Option[Preview] =
    Some(Preview("compaction")((scope, _) => ServicePreviews.compaction(scope)))
}

/** CALL run_log_compaction(op => …, table => … | path => …): the same for log compactions, which write log files. */
object RunLogCompaction extends CompactionProcedure(LogCompactionService) {

  override val preview: Option[Preview] =
    Some(Preview("log_compaction")((scope, _) => ServicePreviews.logCompaction(scope)))
}

/** Plans compactions of one kind, runs those planned, or both. */
private[procedures] abstract class CompactionProcedure(service: PlannedService[CompactionResult])
    extends TableProcedure {
  override val name: String = service.procedure

  override val parameters: Seq[Parameter] = Seq(
    Parameter("op", StringType, "schedule, run (also execute) or scheduleandexecute", isRequired = true),
    Parameter.table,
    Parameter.path,
    Parameter("timestamp", LongType, "run: the one planned compaction to run"),
    Parameter.options,
    Parameter("instants", StringType, "run: the planned compactions to run, comma separated"),
    Parameter("limit", IntegerType, "run: maximum number of compactions to run, oldest first"),
    Parameter("if_due", BooleanType,
      "true: plans a compaction only if hoodie.compact.inline.trigger.strategy makes one due, and no overwrite runs",
      default = Some("false"))
  )

  override val measures: Seq[String] = Seq("operation_size", "rows_written", "bytes_written", "log_files_compacted")

  override val result: StructType = Procedure.columns(
    "timestamp" -> StringType,
    "operation_size" -> IntegerType,
    "state" -> StringType,
    "rows_written" -> LongType,
    "bytes_written" -> LongType,
    "log_files_compacted" -> IntegerType,
    "elapsed_ms" -> LongType,
    "left_because" -> StringType
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val scope = arguments.scope(session, table)
    val op    = arguments.required("op")
    val ifDue = arguments.boolean("if_due").contains(true)
    op.toLowerCase(Locale.ROOT) match {
      case "schedule" =>
        (if (ifDue) service.scheduleDue(scope) else service.schedule(scope)).map(planned(_, InstantState.Requested))
          .toSeq
      case "run" | "execute" => done(service.run(scope, chosen(arguments)))
      case "scheduleandexecute" =>
        done(if (ifDue) service.scheduleDueAndRun(scope) else service.scheduleAndRun(scope))
      case _ => throw arguments.invalid("op", op, "schedule, run, execute, scheduleandexecute")
    }
  }

  /** The compactions to run out of the planned ones, oldest first. */
  private def chosen(arguments: Arguments)(planned: Seq[String]): Seq[String] = {
    val requested = arguments.long("timestamp").map(_.toString).toSeq ++
      arguments.string("instants").toSeq.flatMap(_.split(",")).map(_.trim).filter(_.nonEmpty)
    requested.find(!planned.contains(_)).foreach { instant =>
      throw arguments.invalid(if (arguments.long("timestamp").isDefined) "timestamp" else "instants", instant,
        if (planned.isEmpty) "the planned compactions, of which there are none" else planned.mkString(", "))
    }
    val toRun = if (requested.isEmpty) planned else planned.filter(requested.contains)
    arguments.int("limit").fold(toRun)(toRun.take)
  }

  /** One row for the compactions done, then one for each plan that another writer runs. */
  private def done(result: CompactionResult): Seq[Row] = result.instant.map { instant =>
    Row(instant, result.filesWritten, InstantState.Completed.shown, result.rowsWritten, result.bytesWritten,
      result.logFilesCompacted, result.elapsedMs, null)
  }.toSeq ++ result.skipped.map(l => planned(l.instant, InstantState.Inflight, l.reason))

  private def planned(instant: String, state: InstantState, leftBecause: String = null): Row =
    Row(instant, null, state.shown, null, null, null, null, leftBecause)
}

/** CALL show_compaction(table => … | path => …): compactions planned and done, newest first. */
object ShowCompaction extends LazyTableProcedure {
  override val name = "show_compaction"

  override val parameters: Seq[Parameter] = Seq(Parameter.table, Parameter.path, Parameter.limit(20), Parameter.filter)

  override val result: StructType =
    Procedure.columns("timestamp" -> StringType, "operation_size" -> IntegerType, "state" -> StringType)

  override protected def rows(table: OpenTable, arguments: Arguments): Iterator[Row] = {
    val timeline = table.timeline
    // A completed compaction is a commit; a table without compactions has many others.
    val commits = timeline.completed.filter(_.action == Action.Commit)
    val done    = timeline.metadataOf(commits.reverseIterator, most(arguments))
    (timeline.pendingCompactions ++ commits).sortBy(_.requested).reverseIterator.flatMap { instant =>
      if (!instant.isCompleted) Some((instant, timeline.compactionPlan(instant).operations.size))
      else Some(done.next()._2).filter(_.operationType == OperationType.Compact).map(m => (instant, m.allStats.size))
    }.map { case (instant, size) => Row(instant.requested, size, instant.state.shown) }
  }
}
