package io.merganser.spark.sql

import io.merganser.spark.source.MerganserTable
import org.apache.spark.sql.catalyst.plans.logical.{AppendData, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/**
 * Tells appends of data frames (`saveAsTable`, `writeTo`) from INSERT statements: those upsert by default, these insert.
 *
 * A data frame's columns are matched by name, and its plan stands in no SQL text.
 */
object FrameAppends extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case append: AppendData if append.isByName && append.origin.sqlText.isEmpty && isOurs(append) =>
      append.copy(writeOptions = append.writeOptions + (MerganserTable.ByFrame -> "true"))
    case other => other
  }

  private def isOurs(append: AppendData): Boolean = !append.writeOptions.contains(MerganserTable.ByFrame) && (append.table match {
    case relation: DataSourceV2Relation => relation.table.isInstanceOf[MerganserTable]
    case _                              => false
  })
}
