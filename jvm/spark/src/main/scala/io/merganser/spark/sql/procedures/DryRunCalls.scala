package io.merganser.spark.sql.procedures

import io.merganser.merge.MerganserException
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.write.{Counts, DryRun, DryRuns, StatementSession, WriteResult}
import io.merganser.table.options.{Options, WriteOperation}
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.PreviewedRow
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/**
 * CALL dry_run(statement => …), or CALL dry_run(source => …, table => … | path => …): what a statement, or a write of
 * the rows of a table or view, would do. Nothing is written.
 */
object DryRunOf extends Procedure {
  override val name = "dry_run"

  override val parameters: Seq[Parameter] = Seq(
    Parameter("statement", StringType, "MERGE, UPDATE, DELETE or INSERT, as SQL"),
    Parameter("rows", IntegerType, "most rows to show", default = Options.DryRunRows.default),
    Parameter("source", StringType, "table or view that holds the rows to write, instead of a statement",
      takesFrame = true),
    Parameter.table,
    Parameter("operation", StringType, s"of that write: ${WriteOperation.all.mkString(", ")}",
      default = Some(WriteOperation.Upsert.name)),
    Parameter.path,
    Parameter.filter,
    Parameter.options,
    Parameter.names
  )

  override val result: StructType = DryRunRows.columns

  override protected def run(session: SparkSession, arguments: Arguments): Seq[Row] = {
    val rows = arguments.int("rows")
    rows.filter(_ < 0).foreach(n => throw arguments.invalid("rows", n.toString, "0 or more"))
    val dry = Map(Options.DryRun.key -> "true") ++ rows.map(n => Options.DryRunRows.key -> n.toString)
    DryRunRows.of((arguments.string("statement"), arguments.frame("source")(session.table)) match {
      case (Some(statement), None) =>
        ofStatement(session, arguments.statement(statement), arguments.options("options") ++ dry)
      case (None, Some(source)) =>
        val operation = arguments.string("operation").getOrElse(WriteOperation.Upsert.name)
        val options   = WriteConfig.ofCall(arguments.options("options"), operation) ++ dry
        FrameWrite.append(session, arguments.table(session), options, source)
      case _ => throw arguments.invalid("statement", arguments.string("statement").getOrElse("null"),
          "a statement, or source and table, but not both")
    })
  }

  private def ofStatement(
      session: SparkSession,
      statement: BoundStatement,
      settings: Map[String, String]
  ): WriteResult = {
    RowStatements.requireOurs(session, statement)(_ => true)(kind =>
      MerganserException("DRY_RUN_STATEMENT", "kind" -> kind))
    val own = StatementSession.of(session, settings)
    statement.run(own)
    DryRuns.last(own).getOrElse(throw new IllegalStateException(s"no dry run of: ${statement.text}"))
  }
}

/** CALL show_dry_run(): the last dry run of this session, of a data frame's write, say. */
object ShowDryRun extends Procedure {
  override val name = "show_dry_run"

  override val parameters: Seq[Parameter] = Seq(Parameter.filter)

  override val result: StructType = DryRunRows.columns

  override protected def run(session: SparkSession, arguments: Arguments): Seq[Row] =
    DryRuns.last(session).toSeq.flatMap(DryRunRows.of)
}

/** A dry run as rows: one for each measure, then the rows that it shows. */
private object DryRunRows {

  val columns: StructType = Procedure.columns(
    "measure" -> StringType,
    "value" -> LongType,
    "outcome" -> StringType,
    "record_key" -> StringType,
    "partition_path" -> StringType,
    "reason" -> StringType,
    "incoming" -> StringType,
    "before" -> StringType,
    "after" -> StringType
  )

  def of(result: WriteResult): Seq[Row] = {
    val dry = result.dryRun.getOrElse(throw new IllegalStateException("a write that is no dry run"))
    measures(result, dry).map { case (name, value) => Row(name, value, null, null, null, null, null, null, null) } ++
      dry.rows.map(row)
  }

  /** What readers would see, then what the commit would report, then files. */
  private def measures(result: WriteResult, dry: DryRun): Seq[(String, Long)] = {
    val merged   = Counts.fields(dry.merged).filterNot(_._1.startsWith("appended"))
    val reported = Counts.fields(result.counts).map { case (name, value) => s"commit_$name" -> value }
    (merged ++ reported ++ Seq(
      "rowsReplaced" -> dry.rowsReplaced,
      "partitions" -> dry.partitions.size.toLong,
      "filesWritten" -> result.filesWritten.toLong,
      "filesReplaced" -> dry.filesReplaced.toLong,
      "rowsWritten" -> result.rowsWritten,
      "bytesWritten" -> result.bytesWritten,
      "elapsedMs" -> result.elapsedMs
    )).map { case (name, value) => CommitColumns.snake(name) -> value }
  }

  private def row(row: PreviewedRow): Row = Row(null, null, row.outcome, row.key, row.partitionPath, row.reason,
    row.incoming.orNull, row.before.orNull, row.after.orNull)
}
