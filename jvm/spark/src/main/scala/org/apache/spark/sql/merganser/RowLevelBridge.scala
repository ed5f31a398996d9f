package org.apache.spark.sql.merganser

import org.apache.spark.sql.catalyst.plans.logical.WriteDelta
import org.apache.spark.sql.connector.write.{RowLevelOperation, RowLevelOperationTable}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** The table object of row-level statements, which Spark keeps to its own packages. */
object RowLevelBridge {

  /** The operation that a planned row-level statement is of; None if its table is of another kind. */
  def operation(delta: WriteDelta): Option[RowLevelOperation] = delta.table match {
    case relation: DataSourceV2Relation =>
      relation.table match {
        case table: RowLevelOperationTable => Some(table.operation)
        case _                             => None
      }
    case _ => None
  }

  /** Is it the table that the statement changes, and not one that it reads besides? */
  def isTarget(relation: DataSourceV2Relation): Boolean = relation.table.isInstanceOf[RowLevelOperationTable]
}
