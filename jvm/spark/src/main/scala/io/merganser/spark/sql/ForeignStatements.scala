package io.merganser.spark.sql

import hudi.DefaultSource
import io.merganser.merge.MerganserException
import io.merganser.spark.source.OwnCatalog
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.{
  UnresolvedIdentifier,
  UnresolvedTableOrView,
  UnresolvedTableValuedFunction
}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.internal.SQLConf

import java.util.Locale
import scala.util.Try

/**
 * Statements of Hudi and Delta in sessions without their jars, where Spark's own error names nothing to write instead:
 * `USING hudi`, `VACUUM`, `OPTIMIZE`, `RESTORE`, `DESCRIBE HISTORY`, `DESCRIBE DETAIL`, `table_changes(…)`,
 * `hudi_query_timeline(…)`, `SHOW INDEXES`.
 */
private[sql] object ForeignStatements {
  private val Hudi = Set("hudi", "org.apache.hudi")

  val SessionCatalog = "spark_catalog"

  /** What to write instead, by the first words of Delta's statements. */
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

  private val Indexes =
    "CALL show_table_properties(table => '...'): its one index, by the record key, is hoodie.index.type"

  /** The same for statements of Hudi that Spark does not have. */
  private val OfHudi = Seq("SHOW INDEXES" -> Indexes, "REFRESH INDEX" -> Indexes)

  private val Changes =
    "hudi_table_changes('...', 'latest_state', '<time>') for the rows that changed since then, or with 'cdc' for " +
      "each change with the row before and after"

  private val Query =
    "the table's name in FROM; SET hoodie.datasource.query.type = read_optimized reads only base files"

  private val Distance = "the distance as an expression in SELECT … ORDER BY … LIMIT"

  /** Formats and what to write instead, by functions in FROM; they may be another extension's or the user's own. */
  private val Functions = Map(
    "table_changes" -> ("Delta Lake" -> Changes),
    "table_changes_by_path" -> ("Delta Lake" -> Changes),
    "hudi_query_timeline" -> ("Apache Hudi" -> "CALL show_timeline(table => '...')"),
    "hudi_filesystem_view" -> ("Apache Hudi" -> "CALL show_fsview_latest(table => '...')"),
    "hudi_query" -> ("Apache Hudi" -> Query),
    "hudi_metadata" -> ("Apache Hudi" -> ("CALL show_fsview_latest(table => '...') for the table's files: no " +
      "metadata table is read or written here")),
    "hudi_vector_search" -> ("Apache Hudi" -> Distance),
    "hudi_vector_search_batch" -> ("Apache Hudi" -> Distance)
  )

  /**
   * @param parsed the plan as other parsers make it
   * @throws MerganserException HUDI_NOT_LOADED, STATEMENT_OF_OTHER_FORMAT
   */
  def refused(text: String)(parsed: => LogicalPlan): LogicalPlan = {
    val plan =
      try parsed
      catch { case e: ParseException => throw ofOther(text).fold[Throwable](e)(_.causedBy(e)) }
    created(plan).foreach { case (name, provider) =>
      if (Hudi(provider.toLowerCase(Locale.ROOT)) && !isOfOtherCatalog(name) && !isLoaded(provider))
        throw MerganserException("HUDI_NOT_LOADED", "provider" -> provider)
    }
    plan match {
      case describe: DescribeColumn if !isTable(describe.relation) => ofOther(text).foreach(throw _)
      case _                                                       =>
    }
    called(plan).filter(name => Functions.contains(name) && !isFunction(name)).foreach { name =>
      val (format, remedy) = Functions(name)
      throw refusal(name, format, remedy)
    }
    plan
  }

  private def ofOther(text: String): Option[MerganserException] = {
    val words = text.trim.split("\\s+", 3).take(2).map(_.toUpperCase(Locale.ROOT)).mkString("", " ", " ")
    Seq("Delta Lake" -> OfDelta, "Apache Hudi" -> OfHudi).flatMap { case (format, statements) =>
      statements.collectFirst {
        case (first, remedy) if words.startsWith(s"$first ") => refusal(first, format, remedy)
      }
    }.headOption
  }

  private def refusal(statement: String, format: String, remedy: String): MerganserException =
    MerganserException("STATEMENT_OF_OTHER_FORMAT", "statement" -> statement, "format" -> format, "remedy" -> remedy)

  /** The unqualified names of the functions in FROM, in lower case. */
  private def called(plan: TreeNode[_]): Seq[String] = plan match {
    case function: UnresolvedTableValuedFunction =>
      if (function.name.length == 1) Seq(function.name.head.toLowerCase(Locale.ROOT)) else Nil
    case other => calledBy(other.children) ++ calledBy(other.innerChildren)
  }

  private def calledBy(nodes: Seq[Any]): Seq[String] =
    nodes.flatMap {
      case node: TreeNode[_] => called(node)
      case _                 => Nil
    }

  private def isFunction(name: String): Boolean =
    SparkSession.getActiveSession.forall(_.sessionState.catalog.functionExists(FunctionIdentifier(name)))

  /** Whether `DESCRIBE x y` is of a column of a table that is there. */
  private def isTable(relation: LogicalPlan): Boolean = relation match {
    case name: UnresolvedTableOrView if name.multipartIdentifier.length == 1 =>
      SparkSession.getActiveSession.forall(_.catalog.tableExists(name.multipartIdentifier.head))
    case _ => true
  }

  /** The name of the table that a statement creates, as its parser leaves it, and the provider. */
  private def created(plan: LogicalPlan): Option[(LogicalPlan, String)] = plan match {
    case statement: CreateTable          => statement.tableSpec.provider.map(statement.name -> _)
    case statement: CreateTableAsSelect  => statement.tableSpec.provider.map(statement.name -> _)
    case statement: ReplaceTable         => statement.tableSpec.provider.map(statement.name -> _)
    case statement: ReplaceTableAsSelect => statement.tableSpec.provider.map(statement.name -> _)
    case _                               => None
  }

  /** Whether a name is one of a catalog that is neither the session's nor ours: it may have providers of its own. */
  private def isOfOtherCatalog(name: LogicalPlan): Boolean = SparkSession.getActiveSession.exists { session =>
    def configured(of: String) = session.conf.getOption(s"spark.sql.catalog.$of")
    val first = name match {
      case identifier: UnresolvedIdentifier if identifier.nameParts.length > 1 => Some(identifier.nameParts.head)
      case _                                                                   => None
    }
    val catalog = first.filter(configured(_).isDefined).getOrElse(session.catalog.currentCatalog())
    catalog != SessionCatalog &&
    !Try(session.sessionState.catalogManager.catalog(catalog)).toOption.exists(_.isInstanceOf[OwnCatalog])
  }

  private def isLoaded(provider: String): Boolean =
    Try(DataSource.lookupDataSource(provider, SQLConf.get)).toOption.exists(_ != classOf[DefaultSource])
}
