package io.merganser.spark.sql

import hudi.DefaultSource
import io.merganser.merge.MerganserException
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableOrView
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.internal.SQLConf

import java.util.Locale
import scala.util.Try

/**
 * Statements of Hudi and Delta in sessions without their jars, where Spark's own error names nothing to write instead:
 * `USING hudi`, `VACUUM`, `OPTIMIZE`, `RESTORE`, `DESCRIBE HISTORY`, `DESCRIBE DETAIL`.
 */
private[sql] object ForeignStatements {
  private val Hudi = Set("hudi", "org.apache.hudi")

  /** What to write instead, by the first words. */
  private val OfDelta = Seq(
    "VACUUM" -> "CALL run_clean(table => '...')",
    "OPTIMIZE" -> ("CALL run_compaction(op => 'scheduleandexecute', table => '...') for the logs of a merge-on-read " +
      "table, or CALL run_clustering(table => '...', order => '...') for larger or sorted files"),
    "RESTORE" -> "CALL restore_to_instant(table => '...', instant_time => '...')",
    "DESCRIBE HISTORY" -> "CALL show_history(table => '...')",
    "DESC HISTORY" -> "CALL show_history(table => '...')",
    "DESCRIBE DETAIL" -> "CALL show_table_properties(table => '...')",
    "DESC DETAIL" -> "CALL show_table_properties(table => '...')"
  )

  /**
   * @param parsed the plan as other parsers make it
   * @throws MerganserException HUDI_NOT_LOADED, STATEMENT_OF_OTHER_FORMAT
   */
  def refused(text: String)(parsed: => LogicalPlan): LogicalPlan = {
    val plan =
      try parsed
      catch { case e: ParseException => throw ofDelta(text).fold[Throwable](e)(_.causedBy(e)) }
    providerOf(plan).filter(provider => Hudi(provider.toLowerCase(Locale.ROOT)) && !isLoaded(provider)).foreach(
      provider => throw MerganserException("HUDI_NOT_LOADED", "provider" -> provider))
    plan match {
      case describe: DescribeColumn if !isTable(describe.relation) => ofDelta(text).foreach(throw _)
      case _                                                       =>
    }
    plan
  }

  private def ofDelta(text: String): Option[MerganserException] = {
    val words = text.trim.split("\\s+", 3).take(2).map(_.toUpperCase(Locale.ROOT)).mkString("", " ", " ")
    OfDelta.collectFirst {
      case (first, remedy) if words.startsWith(s"$first ") =>
        MerganserException("STATEMENT_OF_OTHER_FORMAT", "statement" -> first, "remedy" -> remedy)
    }
  }

  /** Whether `DESCRIBE x y` is of a column of a table that is there. */
  private def isTable(relation: LogicalPlan): Boolean = relation match {
    case name: UnresolvedTableOrView if name.multipartIdentifier.length == 1 =>
      SparkSession.getActiveSession.forall(_.catalog.tableExists(name.multipartIdentifier.head))
    case _ => true
  }

  private def providerOf(plan: LogicalPlan): Option[String] = plan match {
    case statement: CreateTable          => statement.tableSpec.provider
    case statement: CreateTableAsSelect  => statement.tableSpec.provider
    case statement: ReplaceTable         => statement.tableSpec.provider
    case statement: ReplaceTableAsSelect => statement.tableSpec.provider
    case _                               => None
  }

  private def isLoaded(provider: String): Boolean =
    Try(DataSource.lookupDataSource(provider, SQLConf.get)).toOption.exists(_ != classOf[DefaultSource])
}
