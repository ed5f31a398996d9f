package io.merganser.spark.sql

import io.merganser.spark.source.MerganserTable
import org.apache.spark.sql.catalyst.expressions.{Alias, Literal}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/**
 * Tells writes of data frames (`saveAsTable`, `writeTo`) from INSERT statements: those upsert by default, these insert.
 *
 * A data frame's columns are matched by name, and its plan stands in no SQL text. Spark 4 completes a frame that lacks columns with null,
 * for which an upsert would give up stored values. So the write is marked with the columns that the frame itself does not have.
 */
object FrameWriteDetection extends Rule[LogicalPlan] {

  /** To be called when Spark has completed the frame: then its write is resolved. */
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case w: AppendData if isOurs(w, w.writeOptions, w.isByName) => w.copy(writeOptions = marked(w, w.writeOptions))
    case w: OverwriteByExpression if isOurs(w, w.writeOptions, w.isByName) =>
      w.copy(writeOptions = marked(w, w.writeOptions))
    case w: OverwritePartitionsDynamic if isOurs(w, w.writeOptions, w.isByName) =>
      w.copy(writeOptions = marked(w, w.writeOptions))
    case other => other
  }

  private def marked(write: V2WriteCommand, options: Map[String, String]): Map[String, String] =
    options + (MerganserTable.ByFrame -> completed(write.query).mkString(","))

  /** Columns that Spark has added to a frame. What a frame computes itself, also where that is null, has no metadata of the table's column. */
  private def completed(query: LogicalPlan): Seq[String] = query match {
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
      .contains(MerganserTable.ByFrame) && (write.table match {
      case relation: DataSourceV2Relation => relation.table.isInstanceOf[MerganserTable]
      case _                              => false
    })
}
