package io.merganser.spark.sql

import io.merganser.spark.source.MerganserTable
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/**
 * Tells writes of data frames (`saveAsTable`, `writeTo`) from INSERT statements: those upsert by default, these insert.
 *
 * A data frame's columns are matched by name, and its plan stands in no SQL text.
 */
object FrameAppends extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case w: AppendData if isOurs(w, w.writeOptions, w.isByName)                 => w.copy(writeOptions = marked(w.writeOptions))
    case w: OverwriteByExpression if isOurs(w, w.writeOptions, w.isByName)      => w.copy(writeOptions = marked(w.writeOptions))
    case w: OverwritePartitionsDynamic if isOurs(w, w.writeOptions, w.isByName) => w.copy(writeOptions = marked(w.writeOptions))
    case other                                                                  => other
  }

  private def marked(options: Map[String, String]): Map[String, String] = options + (MerganserTable.ByFrame -> "true")

  private def isOurs(write: V2WriteCommand, options: Map[String, String], isByName: Boolean): Boolean =
    isByName && write.origin.sqlText.isEmpty && !options.contains(MerganserTable.ByFrame) && (write.table match {
      case relation: DataSourceV2Relation => relation.table.isInstanceOf[MerganserTable]
      case _                              => false
    })
}
