package io.merganser.spark.python

import io.merganser.merge.MerganserException
import io.merganser.spark.sql.DeferredStatements
import io.merganser.spark.sql.procedures.{BoundStatement, GivenParts, Procedure, Procedures}
import io.merganser.table.storage.Progress
import org.apache.spark.sql.{Column, Dataset, Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Expression, UserDefinedExpression}
import org.apache.spark.sql.merganser.SparkBridge

import java.util
import scala.collection.JavaConverters._
import scala.util.Try

/** Entry point of the Python package. Arguments and rows are JSON. */
object PythonBridge {

  /** Whether the session has our extension: its settings may name it although its jar was added too late. */
  def hasExtension(session: SparkSession): Boolean =
    session.sessionState.analyzer.extendedResolutionRules.exists(_.isInstanceOf[DeferredStatements.Release])

  /** Numbers the calls that this thread makes from now on, for [[progress]]. */
  def caller(): Long = Progress.newCaller()

  /** The step that a call of a caller is at, such as "delete files: 120 of 3000"; empty if it has none now. */
  def progress(caller: Long): String = Progress.current(caller).lastOption.fold("")(_.toString)

  /**
   * The rows of a call, each an object whose fields are the columns. One with measures is on Spark's SQL tab.
   *
   * @param argumentsJson by parameter
   * @param frame         in place of a table or view; null for none
   * @param columns       by the parameter that they are of, or by the word that a statement has in the place of each
   * @throws MerganserException COLUMN_WITHOUT_SQL for a function of Python in a statement
   */
  def call(
      session: SparkSession,
      name: String,
      argumentsJson: String,
      frame: Dataset[Row],
      columns: util.Map[String, Column]
  ): String = active(session) {
    val procedure = Procedures.byName(name).getOrElse(throw Procedures.unknown(name))
    val (conditions, inPlace) =
      columns.asScala.toMap.partition(column => procedure.parameters.exists(_.name == column._1))
    val parts     = GivenParts(Option(frame), conditions, expressions(inPlace))
    val arguments = ProcedureRows.arguments(procedure, argumentsJson, parts)
    def rows      = ProcedureRows.json(procedure.call(session, arguments), procedure.result)
    if (procedure.measures.isEmpty) rows
    else
      ProgramCall(session, procedure.title(session, arguments), procedure.measures.map(m => m -> Procedure.shown(m)))(
        rows)
  }

  /**
   * Runs a statement; returns its rows.
   *
   * @param columns   by the word that the text has in the place of each
   * @param namesJson names of tables and columns as SQL, by the word that the text has in the place of each
   * @throws MerganserException COLUMN_WITHOUT_SQL for a function of Python
   */
  def statement(session: SparkSession, text: String, columns: util.Map[String, Column], namesJson: String): String =
    active(session) {
      val statement = BoundStatement(text, expressions(columns.asScala.toMap), ProcedureRows.strings(namesJson))
      val result    = statement.run(session)
      ProcedureRows.json(result.collect().iterator, result.schema)
    }

  /**
   * The SQL text of a column's expression; no setting of the parser changes the strings in it.
   *
   * @throws MerganserException COLUMN_WITHOUT_SQL for a function that SQL does not know
   */
  def sqlOf(session: SparkSession, column: Column): String = active(session) {
    val text   = BoundStatement.text(expression(column))
    val parses = Try(session.sessionState.sqlParser.parseExpression(text)).isSuccess
    if (!parses) throw withoutSql(text)
    text
  }

  /** Creates a temporary view of a frame in the session, whichever session the frame is from. */
  def view(session: SparkSession, name: String, frame: Dataset[Row]): String = active(session) {
    SparkBridge.ofRows(session, frame.queryExecution.analyzed).createOrReplaceTempView(name)
    "{}"
  }

  private def active[T](session: SparkSession)(call: => T): T = SparkBridge.active(session)(call)

  private def expressions(columns: Map[String, Column]): Map[String, Expression] =
    columns.map { case (word, column) => word -> expression(column) }

  private def expression(column: Column): Expression = {
    val found = BoundStatement.expression(column)
    if (found.exists(_.isInstanceOf[UserDefinedExpression])) throw withoutSql(found.sql)
    found
  }

  private def withoutSql(column: String) = MerganserException("COLUMN_WITHOUT_SQL", "column" -> column)
}
