package io.merganser.spark.sql.procedures

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression}
import org.apache.spark.sql.execution.command.LeafRunnableCommand

import scala.collection.JavaConverters._

/**
 * A call of one of our procedures.
 *
 * @param names  of the parameters that have arguments
 * @param values their arguments in the same order: constants, or markers that the session binds
 */
final case class CallCommand(procedure: String, names: Seq[String], values: Seq[Expression])
    extends LeafRunnableCommand {

  private def definition: Procedure =
    Procedure.byName(procedure).getOrElse(throw new IllegalStateException(s"no procedure '$procedure'"))

  override val output: Seq[Attribute] = definition.result.map(f => AttributeReference(f.name, f.dataType, f.nullable)())

  override def run(session: SparkSession): Seq[Row] = {
    val arguments = Arguments.check(definition, names.zip(values))
    val limit     = arguments.limit(definition)
    val rows      = definition.rows(session, arguments)
    val chosen = arguments.filter.fold(rows)(condition =>
      session.createDataFrame(rows.toList.asJava, definition.result).where(condition).collect().iterator)
    limit.fold(chosen)(chosen.take).toList
  }
}
