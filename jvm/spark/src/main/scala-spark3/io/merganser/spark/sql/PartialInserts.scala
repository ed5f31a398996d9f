package io.merganser.spark.sql

import io.merganser.spark.source.NewCatalogTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{UnresolvedRelation, UnresolvedStar}
import org.apache.spark.sql.catalyst.expressions.{Alias, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{InsertIntoStatement, LogicalPlan, Project}
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.merganser.CatalogBridge

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
      val session  = SparkSession.active
      val current  = session.sessionState.catalogManager
      val inSparks = current.currentCatalog.name == "spark_catalog"
      val name = relation.multipartIdentifier match {
        case Seq(table) if inSparks                => Some(Identifier.of(current.currentNamespace, table))
        case Seq(database, table) if inSparks      => Some(Identifier.of(Array(database), table))
        case Seq("spark_catalog", database, table) => Some(Identifier.of(Array(database), table))
        case _                                     => None
      }
      name.flatMap(CatalogBridge.catalogTable(session, _)).filter(t => NewCatalogTable.isOurs(t.provider)).toSeq.flatMap(
        _.schema.fieldNames)
    case _ => Nil
  }
}
