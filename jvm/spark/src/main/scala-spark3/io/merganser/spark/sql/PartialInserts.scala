package io.merganser.spark.sql

import io.merganser.spark.source.{MerganserTable, TableNames}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{UnresolvedRelation, UnresolvedStar}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{InsertIntoStatement, LogicalPlan, Project, UnaryNode}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.command.ExplainCommand

/**
 * INSERT of some of a table's columns, by a list of them or BY NAME: the others are null. This Spark line supports that
 * for its own formats only.
 */
object PartialInserts {

  def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case explain: ExplainCommand => explain.copy(logicalPlan = apply(explain.logicalPlan))
    case insert: InsertIntoStatement if insert.userSpecifiedCols.nonEmpty =>
      missing(insert, insert.userSpecifiedCols) match {
        case Nil => insert
        case missing =>
          insert.copy(userSpecifiedCols = insert.userSpecifiedCols ++ missing,
            query = Project(UnresolvedStar(None) +: nulls(missing), insert.query))
      }
    case insert: InsertIntoStatement if insert.byName && !insert.query.isInstanceOf[Named] =>
      val columns = missing(insert, Nil)
      if (columns.isEmpty) insert else insert.copy(query = Named(columns, insert.query))
  }

  /** Adds the columns that a query lacks, once the query is resolved. */
  object Complete extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
      case Named(columns, query) if query.resolved =>
        val names = conf.resolver
        columns.filterNot(c => query.output.exists(a => names(a.name, c))) match {
          case Nil     => query
          case missing => Project(query.output ++ nulls(missing), query)
        }
    }
  }

  /** A query that is to have these columns; unresolved, so that it is not inserted before it has them. */
  private final case class Named(columns: Seq[String], child: LogicalPlan) extends UnaryNode {
    override lazy val resolved: Boolean = false

    override def output: Seq[Attribute] = child.output

    override protected def withNewChildInternal(newChild: LogicalPlan): LogicalPlan = copy(child = newChild)
  }

  private def nulls(columns: Seq[String]) = columns.map(name => Alias(Literal(null), name)())

  private def missing(insert: InsertIntoStatement, listed: Seq[String]): Seq[String] = {
    val known = listed ++ insert.partitionSpec.keys
    columns(insert.table).filterNot(c => known.exists(_.equalsIgnoreCase(c)))
  }

  /** Columns of one of our tables; none for any other. */
  private def columns(table: LogicalPlan): Seq[String] = table match {
    case relation: UnresolvedRelation =>
      TableNames.named(SparkSession.active, relation.multipartIdentifier) match {
        case Some(ours: MerganserTable) => ours.schema().fieldNames.toSeq
        case _                          => Nil
      }
    case _ => Nil
  }
}
