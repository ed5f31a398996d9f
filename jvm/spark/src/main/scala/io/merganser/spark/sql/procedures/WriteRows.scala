package io.merganser.spark.sql.procedures

import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.{Counts, WriteResult}
import io.merganser.table.options.WriteOperation
import io.merganser.table.settings.WriteConfig
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/**
 * CALL write_rows(source => …, table => … | path => …, operation => …): writes the rows of a table or view by an
 * operation, as a data frame's append does, and returns what the commit changed.
 */
object WriteRows extends Procedure {
  override val name = "write_rows"

  override val parameters: Seq[Parameter] = Seq(
    Parameter("source", StringType, "table or view that holds the rows", isRequired = true),
    Parameter.table,
    Parameter("operation", StringType, WriteOperation.all.mkString(", "), isRequired = true),
    Parameter.path,
    Parameter.options
  )

  override val result: StructType = Procedure.columns(
    Seq("instant" -> StringType, "operation" -> StringType) ++ CommitColumns.counts ++ CommitColumns
      .sums ++ CommitColumns.notes :+ ("lateness" -> StringType): _*)

  override val measures: Seq[String] = (CommitColumns.counts ++ CommitColumns.sums).map(_._1).filter(_ != "elapsed_ms")

  override def run(session: SparkSession, arguments: Arguments): Seq[Row] = {
    val table   = OpenTable.load(session, arguments.tablePath(session))
    val options = WriteConfig.ofCall(arguments.options("options"), arguments.required("operation"))
    Seq(row(FrameWrite.append(session, table, options, session.table(arguments.required("source")))))
  }

  private[procedures] def row(done: WriteResult): Row = {
    val write = Seq[Any](done.instant, done.operation.name)
    val sums  = Seq[Any](done.filesWritten, done.rowsWritten, done.bytesWritten, done.elapsedMs)
    Row.fromSeq(write ++ Counts.fields(done.counts).map(_._2) ++ sums ++ CommitColumns.notesOf(done.notes) :+
      Counts.latenessJson(done.counts.lateness))
  }
}
