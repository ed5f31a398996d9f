package io.merganser.spark.python

import com.fasterxml.jackson.databind.JsonNode
import io.merganser.merge.Json
import org.apache.spark.SparkContext
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.merganser.{ServiceJobs, SparkBridge}

import scala.collection.JavaConverters._

/**
 * A call of a program that writes, as a command: it is on Spark's SQL tab, with its jobs and its counts.
 *
 * @param what   such as "upsert into trips"
 * @param counts fields of the result, which are numbers or lists, and their names on the tab
 */
final case class ProgramCall(what: String, counts: Seq[(String, String)], work: ProgramCall.Work)
    extends LeafRunnableCommand {

  override lazy val metrics: Map[String, SQLMetric] = {
    val context = SparkContext.getOrCreate()
    counts.map { case (field, shown) => field -> SQLMetrics.createMetric(context, shown) }.toMap
  }

  override def simpleString(maxFields: Int): String = what

  override def nodeName: String = what

  override def run(session: SparkSession): Seq[Row] = {
    val answer = ServiceJobs.describe(session.sparkContext, what)(work.run())
    val fields = Json.readTree(answer)
    metrics.foreach { case (field, metric) => metric.set(ProgramCall.sum(fields, field)) }
    val execution = session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(session.sparkContext, execution, metrics.values.toSeq)
    Nil
  }
}

object ProgramCall {

  /** The call, which runs once; `answer` is its JSON. */
  final class Work(call: () => String) extends Serializable {
    @transient private var done: Option[String] = None

    private[ProgramCall] def run(): String = {
      val answer = call()
      done = Some(answer)
      answer
    }

    private[ProgramCall] def answer: String = done.getOrElse(throw new IllegalStateException("the call did not run"))
  }

  /** Runs a call and returns its JSON. */
  def apply(session: SparkSession, what: String, counts: Seq[(String, String)])(call: => String): String = {
    val work = new Work(() => call)
    SparkBridge.ofRows(session, ProgramCall(what, counts, work)).queryExecution.commandExecuted
    work.answer
  }

  /** The sum of a field over the rows of a result, or of its one row; a list counts its elements. */
  private def sum(result: JsonNode, field: String): Long = {
    val rows = if (result.isArray) result.elements.asScala.toSeq else Seq(result)
    rows.map(_.path(field)).map(value => if (value.isArray) value.size.toLong else value.asLong(0L)).sum
  }
}
