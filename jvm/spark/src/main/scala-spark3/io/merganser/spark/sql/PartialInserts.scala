package io.merganser.spark.sql

import io.merganser.spark.OpenTable
import io.merganser.spark.source.MerganserTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{UnresolvedRelation, UnresolvedStar}
import org.apache.spark.sql.catalyst.expressions.{Alias, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{InsertIntoStatement, LogicalPlan, Project}

/**
 * INSERT with a list of some of a table's columns: the others are null. This Spark line says so for its own formats and
 * refuses it for those of others.
 */
object PartialInserts {

  def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case insert: InsertIntoStatement if insert.userSpecifiedCols.nonEmpty =>
      val listed = insert.userSpecifiedCols
      val known  = listed ++ insert.partitionSpec.keys
      columns(insert.table).filterNot(c => known.exists(_.equalsIgnoreCase(c))) match {
        case Nil => insert
        case missing =>
          val nulls = missing.map(name => Alias(Literal(null), name)())
          insert.copy(userSpecifiedCols = listed ++ missing, query = Project(UnresolvedStar(None) +: nulls, insert.query))
      }
  }

  /** Columns of a table of ours; none of any other. */
  private def columns(table: LogicalPlan): Seq[String] = table match {
    case relation: UnresolvedRelation =>
      OpenTable.named(SparkSession.active, relation.multipartIdentifier) match {
        case Some(ours: MerganserTable) => ours.schema().fieldNames.toSeq
        case _                          => Nil
      }
    case _ => Nil
  }
}
