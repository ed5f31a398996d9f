package io.merganser.spark.sql

import io.merganser.spark.source.MerganserTable
import io.merganser.table.avro.Retyping
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions.Cast
import org.apache.spark.sql.catalyst.plans.logical.{AlterTableCommand, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.{Identifier, TableCatalog, TableChange}
import org.apache.spark.sql.connector.catalog.TableChange.UpdateColumnType
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.merganser.CatalogBridge

/**
 * ALTER COLUMN … TYPE to a type that Spark's own check refuses, which a table with versions of its columns may have:
 * see [[Retyping]]. Every other change is left to Spark.
 */
object ColumnRetyping extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case command: AlterTableCommand if command.resolved =>
      command.table match {
        case ResolvedTable(catalog, name, ours: MerganserTable, _) if command.changes.exists(isRetyping(ours, _)) =>
          RetypeColumns(catalog, name, command.changes)
        case _ => plan
      }
    case _ => plan
  }

  private def isRetyping(table: MerganserTable, change: TableChange): Boolean = change match {
    case c: UpdateColumnType =>
      CatalogBridge.field(table.schema(), c.fieldNames.toSeq).exists { field =>
        Retyping.isAllowed(field.dataType, c.newDataType) && !Cast.canUpCast(field.dataType, c.newDataType)
      }
    case _ => false
  }
}

/** Changes the columns of a table as `TableCatalog.alterTable` does. */
final case class RetypeColumns(catalog: TableCatalog, name: Identifier, changes: Seq[TableChange])
    extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = {
    catalog.alterTable(name, changes: _*)
    Nil
  }
}
