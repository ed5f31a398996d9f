package io.merganser.spark.sql.procedures

import io.merganser.merge.MerganserException
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.write.{Counts, DryRun, DryRuns, StatementSession, WriteResult}
import io.merganser.table.options.{Options, WriteOperation}
import io.merganser.table.settings.WriteConfig
import io.merganser.table.slice.PreviewedRow
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

/**
 * CALL dry_run(statement => …), or CALL dry_run(source => …, table => … | path => …): what a statement, or a write of
 * the rows of a table or view, would do. Nothing is written.
 */
object DryRunOf extends Procedure[Either[(String, Long), PreviewedRow]] {
  override val name = "dry_run"

  override val parameters = Seq(
    Parameter("statement", StringType, "MERGE, UPDATE, DELETE or INSERT, as SQL"),
    Parameter("rows", IntegerType, "maximum number of rows to show", default = Options.DryRunRows.default),
    Parameter("source", StringType, "table or view that holds the rows to write, instead of a statement",
      takesFrame = true),
    Parameter.table,
    Parameter("operation", StringType, s"operation of that write: ${WriteOperation.all.mkString(", ")}",
      default = Some(WriteOperation.Upsert.name)),
    Parameter.path,
    Parameter.filter,
    Parameter.options,
    Parameter.names
  )

  override val columns = DryRunRows.columns

  override protected def run(session: SparkSession, arguments: Arguments): Seq[Either[(String, Long), PreviewedRow]] = {
    val rows = arguments.int("rows", least = 0)
    val dry  = Map(Options.DryRun.key -> "true") ++ rows.map(n => Options.DryRunRows.key -> n.toString)
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
object ShowDryRun extends Procedure[Either[(String, Long), PreviewedRow]] {
  override val name = "show_dry_run"

  override val parameters = Seq(Parameter.filter)

  override val columns = DryRunRows.columns

  override protected def run(session: SparkSession, arguments: Arguments): Seq[Either[(String, Long), PreviewedRow]] =
    DryRuns.last(session).toSeq.flatMap(DryRunRows.of)
}

/** A dry run as rows: one for each measure, then the rows that it shows. */
private object DryRunRows extends ResultColumnTypes {

  val columns: ResultColumns[Either[(String, Long), PreviewedRow]] =
    ResultColumns[(String, Long)](string("measure", _._1), long("value", _._2)).or(ResultColumns[PreviewedRow](
        string("outcome", _.outcome),
        string("record_key", _.key),
        string("partition_path", _.partitionPath),
        string("reason", _.reason),
        string("incoming", _.incoming.orNull),
        string("before", _.before.orNull),
        string("after", _.after.orNull)
      ))

  def of(result: WriteResult): Seq[Either[(String, Long), PreviewedRow]] = {
    val dry = result.dryRun.getOrElse(throw new IllegalStateException("a write that is no dry run"))
    measures(result, dry).map(Left(_)) ++ dry.rows.map(Right(_))
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
}
