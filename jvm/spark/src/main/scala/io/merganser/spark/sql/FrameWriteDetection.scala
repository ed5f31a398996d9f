package io.merganser.spark.sql

import io.merganser.spark.source.MerganserTable
import org.apache.spark.sql.catalyst.expressions.{Alias, Literal}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/**
 * Distinguishes writes of data frames (`saveAsTable`, `writeTo`), which upsert by default, from INSERT statements,
 * which insert.
 *
 * A data frame's columns are matched by name, and its plan has no SQL text. Spark 4 adds columns that a frame lacks as
 * nulls, which an upsert would write over stored values. So the write is marked with the columns that the frame itself
 * lacks.
 */
object FrameWriteDetection extends Rule[LogicalPlan] {

  /** Applies to resolved writes: by then Spark has added the columns that the frame lacks. */
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case w: AppendData if isOurs(w, w.writeOptions, w.isByName) => w.copy(writeOptions = marked(w, w.writeOptions))
    case w: OverwriteByExpression if isOurs(w, w.writeOptions, w.isByName) =>
      w.copy(writeOptions = marked(w, w.writeOptions))
    case w: OverwritePartitionsDynamic if isOurs(w, w.writeOptions, w.isByName) =>
      w.copy(writeOptions = marked(w, w.writeOptions))
    case other => other
  }

  private def marked(write: V2WriteCommand, options: Map[String, String]): Map[String, String] =
    options + (MerganserTable.LackingColumns -> addedNulls(write.query).mkString(","))

  /** Columns that Spark added to a frame; a null that the frame itself computes has no metadata of a table column. */
  private def addedNulls(query: LogicalPlan): Seq[String] = query match {
    case Project(columns, frame) =>
      val names = conf.resolver
      columns.collect {
        case added @ Alias(Literal(null, _), name)
            if added.explicitMetadata.isDefined && !frame.output.exists(a => names(a.name, name)) =>
          name
      }
    case _ => Nil
  }

  private def isOurs(write: V2WriteCommand, options: Map[String, String], isByName: Boolean): Boolean =
    write.resolved && isByName && write.origin.sqlText.isEmpty && !options
      .contains(MerganserTable.LackingColumns) && (write.table match {
      case relation: DataSourceV2Relation => relation.table.isInstanceOf[MerganserTable]
      case _                              => false
    })
}
