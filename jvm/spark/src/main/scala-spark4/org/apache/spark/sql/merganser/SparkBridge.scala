package org.apache.spark.sql.merganser

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{classic, Column, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.{InternalRow, TableIdentifier}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Statistics}
import org.apache.spark.sql.classic.{ColumnNodeToExpressionConverter, ExpressionUtils}
import org.apache.spark.sql.execution.{LogicalRDD, QueryExecution, SQLExecution}
import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

import scala.util.control.NonFatal

/** Package-private API of Spark; one source per Spark major version, with the same signatures. */
object SparkBridge {

  /** The column that an expression computes. */
  def column(expression: Expression): Column = ExpressionUtils.column(expression)

  /** The expression behind a column; unresolved where the column names fields. */
  def expression(column: Column): Expression = ColumnNodeToExpressionConverter(column.node)

  /** Work in which the session is the active one, and its settings those of the parser and the analyzer. */
  def active[T](session: SparkSession)(work: => T): T = session.asInstanceOf[classic.SparkSession].withActive(work)

  /** A session with the settings, temporary views and functions of another one. */
  def cloned(session: SparkSession): SparkSession = session.asInstanceOf[classic.SparkSession].cloneSession()

  /** A logical plan as a data frame. */
  def ofRows(session: SparkSession, plan: LogicalPlan): DataFrame =
    classic.Dataset.ofRows(session.asInstanceOf[classic.SparkSession], plan)

  /** Work that is reported to listeners as the execution of a query; its observed metrics are read when it ends. */
  def execution[T](query: QueryExecution, name: String)(work: => T): T =
    SQLExecution.withNewExecutionId(query, Some(name))(work)

  /** Rows in Catalyst's own form as a data frame; the rows may be reused objects. */
  def internalCreateDataFrame(session: SparkSession, rows: RDD[InternalRow], schema: StructType): DataFrame =
    session.asInstanceOf[classic.SparkSession].internalCreateDataFrame(rows, schema)

  /** Existing rows as a plan of known size. */
  def rows(session: SparkSession, output: Seq[Attribute], rows: RDD[InternalRow], known: Statistics): LogicalPlan =
    LogicalRDD(output, rows)(session.asInstanceOf[classic.SparkSession], Some(known))

  /** Refreshes what is cached of a table or derived from it. */
  def refreshCached(session: SparkSession, table: TableIdentifier): Unit =
    if (!session.asInstanceOf[classic.SparkSession].sharedState.cacheManager.isEmpty)
      session.catalog.refreshTable(table.quotedString)

  /** The same for a SQL name, after a write; a failure is logged, as the write stays committed. */
  def refreshCached(session: SparkSession, name: String): Unit =
    if (!session.asInstanceOf[classic.SparkSession].sharedState.cacheManager.isEmpty)
      try session.catalog.refreshTable(name)
      catch {
        case NonFatal(e) => LoggerFactory.getLogger("io.merganser.spark").warn(s"cached data of $name may be stale", e)
      }
}
