package io.merganser.spark.sql

import io.merganser.spark.source.RowChanges
import io.merganser.spark.write.RowChangeWrite
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, WriteDelta}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.merganser.{RowLevelBridge, SparkBridge}
import org.apache.spark.sql.execution.datasources.v2.V2CommandExec

/** Plans the row changes of MERGE, UPDATE and DELETE on our tables as one write of ours. */
final case class RowChangeStrategy(session: SparkSession) extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case delta: WriteDelta =>
      changes(delta).map { c =>
        val projections = RowChangeWrite.Projections(delta.projections, arrivalIn(delta.query))
        WriteRowChanges(c, projections, planLater(delta.query))
      }.toSeq
    case _ => Nil
  }

  private def arrivalIn(query: LogicalPlan): Option[Int] = Some(query.output.indexWhere(_.name == MergeStatements.Arrival)).filter(_ >= 0)

  private def changes(delta: WriteDelta): Option[RowChanges] = RowLevelBridge.operation(delta).collect { case ours: RowChanges => ours }
}

/** Runs a row-level statement: its changed rows become incoming rows of the one write. */
final case class WriteRowChanges(changes: RowChanges, projections: RowChangeWrite.Projections, query: SparkPlan)
    extends V2CommandExec {

  override def output: Seq[Attribute] = Nil

  override def children: Seq[SparkPlan] = Seq(query)

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): SparkPlan = copy(query = newChildren.head)

  override def simpleString(maxFields: Int): String = s"WriteRowChanges ${changes.table.name()} ${changes.command()}"

  override protected def run(): Seq[InternalRow] = {
    RowChangeWrite.run(session, changes.table.opened, query.execute(), projections)
    changes.table.catalogTable.foreach(t => SparkBridge.refreshCached(session, t.identifier))
    Nil
  }
}
