package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.spark.change.ChangeData
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.source.{CatalogTables, MerganserTable, TableNames}
import io.merganser.table.options.Options
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.TableFunctionRegistry.TableFunctionBuilder
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, ExpressionInfo}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{StringType, TimestampType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import java.time.{Instant, ZoneOffset}
import java.time.format.DateTimeFormatter

import scala.collection.JavaConverters._

/**
 * `hudi_table_changes(table_or_path, 'latest_state' or 'cdc', begin [, end])`: an incremental query, with the name and
 * the arguments that Hudi gives it. Arguments are strings, dates or timestamps that do not depend on rows.
 */
object TableChanges {

  private val Name = "hudi_table_changes"

  private val Usage = s"$Name(table_or_path, 'latest_state' or 'cdc', begin [, end])"

  private val Moment =
    DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'", java.util.Locale.ROOT).withZone(ZoneOffset.UTC)

  val function: (FunctionIdentifier, ExpressionInfo, TableFunctionBuilder) =
    (FunctionIdentifier(Name), new ExpressionInfo(getClass.getName, Name), plan)

  /** Refuses calls with columns, such as names without quotes, before Spark looks for these columns in vain. */
  object Unresolved extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = {
      plan.foreach {
        case call: UnresolvedTableValuedFunction if call.name.size == 1 && call.name.head.equalsIgnoreCase(Name) =>
          call.functionArgs.find(!_.resolved).foreach(column =>
            throw invalid(s"its argument ${column.sql} is a column, and must be a name, path or time in quotes"))
        case _ =>
      }
      plan
    }
  }

  private def plan(arguments: Seq[Expression]): LogicalPlan = {
    if (arguments.length < 3 || arguments.length > 4)
      throw invalid(s"it has ${arguments.length} arguments")
    val (name, format, begin) = (text(arguments.head), text(arguments(1)), text(arguments(2)))
    val options = Map(
      Options.QueryType.key -> "incremental",
      Options.ChangesFormat.key -> format,
      Options.ChangesBegin.key -> begin
    ) ++ arguments.drop(3).headOption.map(end => Options.ChangesEnd.key -> text(end))
    val session = SparkSession.active
    val rows    = of(session, name).readingNow(options)
    val table   = ChangeData.of(session, rows.opened, rows.read).getOrElse(rows)
    DataSourceV2Relation.create(table, None, None, new CaseInsensitiveStringMap(Map.empty[String, String].asJava))
  }

  /** Times as [[io.merganser.table.timeline.AsOf]] parses them: a timestamp is one in UTC, with milliseconds. */
  private def text(argument: Expression): String = {
    val found =
      try argument.dataType match {
          case TimestampType =>
            Option(argument.eval()).map(micros =>
              Moment.format(Instant.ofEpochMilli(Math.floorDiv(micros.asInstanceOf[Long], 1000L))))
          case _ =>
            Option(Cast(argument, StringType, Some(SparkSession.active.sessionState.conf.sessionLocalTimeZone)).eval())
              .map(_.toString)
        }
      catch { case _: UnsupportedOperationException | _: org.apache.spark.SparkException => None }
    found.getOrElse(throw invalid(s"its argument ${argument.sql} has no value"))
  }

  /** By its path or its name. */
  private def of(session: SparkSession, pathOrName: String): MerganserTable =
    TableNames.ours(session, pathOrName).getOrElse {
      val path = TableNames.pathOf(session, pathOrName)
      CatalogTables.ofFolder(session, path, s"merganser.`${OpenTable.absolute(session, path)}`")
    }

  private def invalid(reason: String): MerganserException =
    MerganserException("TABLE_CHANGES_ARGUMENTS", "function" -> Name, "reason" -> reason, "usage" -> Usage)
}
