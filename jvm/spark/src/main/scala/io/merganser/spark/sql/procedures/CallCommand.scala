package io.merganser.spark.sql.procedures

import org.apache.spark.SparkContext
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression}
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/**
 * A call of one of our procedures.
 *
 * @param names  of the parameters that have arguments
 * @param values their arguments in the same order: constants, or markers that the session binds
 */
final case class CallCommand(procedure: Procedure[_], names: Seq[String], values: Seq[Expression])
    extends LeafRunnableCommand {

  override val output: Seq[Attribute] = procedure.result.map(f => AttributeReference(f.name, f.dataType, f.nullable)())

  override lazy val metrics: Map[String, SQLMetric] = {
    val context = SparkContext.getOrCreate()
    procedure.measures.map(name => name -> SQLMetrics.createMetric(context, Procedure.shown(name))).toMap
  }

  override def run(session: SparkSession): Seq[Row] = {
    val arguments = Arguments.check(procedure, names.zip(values))
    procedure.call(session, arguments, measured(session, _)).toList
  }

  private def measured(session: SparkSession, rows: Iterator[Row]): Iterator[Row] =
    if (metrics.isEmpty) rows
    else {
      val all = rows.toList
      metrics.foreach { case (name, metric) =>
        val at = procedure.result.fieldIndex(name)
        metric.set(all.filterNot(_.isNullAt(at)).map(_.getAs[Number](at).longValue).sum)
      }
      val execution = session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
      SQLMetrics.postDriverMetricUpdates(session.sparkContext, execution, metrics.values.toSeq)
      all.iterator
    }
}
