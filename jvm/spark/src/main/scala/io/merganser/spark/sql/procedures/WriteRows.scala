package io.merganser.spark.sql.procedures

import io.merganser.spark.frame.FrameWrite
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
    Parameter("source", StringType, "table or view that holds the rows", isRequired = true, takesFrame = true),
    Parameter.table,
    Parameter("operation", StringType, WriteOperation.all.mkString(", "), isRequired = true),
    Parameter.path,
    Parameter.options
  )

  override val result: StructType = Procedure.columns(
    Seq("instant" -> StringType, "operation" -> StringType) ++ CommitColumns.counts ++ CommitColumns
      .sums ++ CommitColumns.notes :+ ("lateness" -> StringType): _*)

  override val measures: Seq[String] = (CommitColumns.counts ++ CommitColumns.sums).map(_._1).filter(_ != "elapsed_ms")

  override def title(session: SparkSession, arguments: Arguments): String =
    s"${arguments.required("operation")} into ${arguments.table(session).config.name}"

  override def run(session: SparkSession, arguments: Arguments): Seq[Row] = {
    val options = WriteConfig.ofCall(arguments.options("options"), arguments.required("operation"))
    arguments.frame("source")(session.table).toSeq.map(rows =>
      row(FrameWrite.append(session, arguments.table(session), options, rows)))
  }

  private[procedures] def row(done: WriteResult): Row = {
    val write = Seq[Any](done.instant, done.operation.name)
    val sums  = Seq[Any](done.filesWritten, done.rowsWritten, done.bytesWritten, done.elapsedMs)
    Row.fromSeq(write ++ Counts.fields(done.counts).map(_._2) ++ sums ++ CommitColumns.notesOf(done.notes) :+
      Counts.latenessJson(done.counts.lateness))
  }
}
