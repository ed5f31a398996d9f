package io.merganser.spark.sql.procedures

import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.write.{Counts, WriteResult}
import io.merganser.table.options.WriteOperation
import io.merganser.table.settings.WriteConfig
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

/**
 * CALL write_rows(source => …, table => … | path => …, operation => …): writes the rows of a table or view by an
 * operation, as a data frame's append does, and returns what the commit changed.
 */
object WriteRows extends Procedure[WriteResult] {
  override val name = "write_rows"

  override val parameters = Seq(
    Parameter("source", StringType, "table or view that holds the rows", isRequired = true, takesFrame = true),
    Parameter.table,
    Parameter("operation", StringType, WriteOperation.all.mkString(", "), isRequired = true),
    Parameter.path,
    Parameter.options
  )

  private val sums =
    CommitColumns.sums[WriteResult](_.filesWritten, _.rowsWritten, _.bytesWritten, _.elapsedMs)

  override val columns = ResultColumns[WriteResult](
    string("instant", _.instant),
    string("operation", _.operation.name),
    CommitColumns.counts.of(done => Counts.fields(done.counts).toMap),
    sums,
    CommitColumns.notes.of(_.notes),
    string("lateness", done => Counts.latenessJson(done.counts.lateness))
  )

  override val measures = (CommitColumns.counts.names ++ sums.names).filter(_ != "elapsed_ms")

  override def title(session: SparkSession, arguments: Arguments): String =
    s"${arguments.required("operation")} into ${arguments.table(session).config.name}"

  override def run(session: SparkSession, arguments: Arguments): Seq[WriteResult] = {
    val options = WriteConfig.ofCall(arguments.options("options"), arguments.required("operation"))
    arguments.frame("source")(session.table).toSeq.map(
      FrameWrite.append(session, arguments.table(session), options, _))
  }
}
