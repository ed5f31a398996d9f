package io.merganser.merge.columns

import org.apache.spark.sql.catalyst.analysis.{Analyzer, FunctionRegistry}
import org.apache.spark.sql.catalyst.catalog.{InMemoryCatalog, SessionCatalog}
import org.apache.spark.sql.internal.SQLConf

/**
 * Settings under which the expressions of rules are parsed, resolved and compiled: the same for every table, session
 * and task, so that every path makes the same value.
 */
private[columns] object ExpressionSettings {

  private val Fixed = Map(
    "spark.sql.ansi.enabled" -> "true",
    "spark.sql.caseSensitive" -> "false",
    "spark.sql.session.timeZone" -> "UTC",
    "spark.sql.alwaysInlineCommonExpr" -> "true",
    // Spark 4 alone reads '' in a string as a quote: a stored text has one meaning. \' is one on all lines.
    "spark.sql.legacy.consecutiveStringLiterals.enabled" -> "true"
  )

  /** Whether code is generated may be a setting of the session: it changes no value. */
  private val Inherited = Seq("spark.sql.codegen.factoryMode")

  def during[T](body: => T): T = SQLConf.withExistingConf(settings)(body)

  /** Knows Spark's own functions, and neither tables nor functions of users. Not thread safe. */
  def analyzer(): Analyzer = new Analyzer(new SessionCatalog(new InMemoryCatalog, FunctionRegistry.builtin))

  private def settings: SQLConf = {
    val result  = new SQLConf
    val current = SQLConf.get
    Inherited.filter(current.contains).foreach(key => result.setConfString(key, current.getConfString(key)))
    Fixed.foreach { case (key, value) => result.setConfString(key, value) }
    result
  }
}
