package io.merganser.spark.sql

import io.merganser.spark.source.{MerganserTable, RowChanges}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.logical.MergeRows.{Instruction, Keep, Split}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.merganser.RowLevelBridge
import org.apache.spark.sql.types.LongType

/**
 * What a MERGE on our tables keeps that Spark's join of source and target would lose.
 *
 *   - Source rows bring their place in the source through the join: it is their order of arrival.
 *   - Where ON equates the whole record key, several source rows of a key are versions of one row, of which the table's
 *     rule keeps one. Elsewhere a stored row that matches twice is an error, as SQL has it.
 *   - A MERGE that only inserts has become an append; it still merges the versions of a key.
 */
object MergeStatements extends Rule[LogicalPlan] with PredicateHelper {

  /** Last column of the rows of such a MERGE. */
  val Arrival = "__merganser_source_arrival"

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case delta: WriteDelta     => RowLevelBridge.operation(delta).collect { case c: RowChanges => withVersions(delta, c) }.getOrElse(delta)
    case write: V2WriteCommand => insertsOfMerge(write).getOrElse(write)
    case other                 => other
  }

  private def withVersions(delta: WriteDelta, changes: RowChanges): LogicalPlan = delta.query match {
    case rows: MergeRows if !rows.output.exists(_.name == Arrival) =>
      val numbered = for ((child, arrival) <- numberSource(rows.child)) yield {
        val isKeyed = equates(rows.child, changes.table.opened.config.recordKeyFields)
        delta.copy(query = rows.copy(
          matchedInstructions = rows.matchedInstructions.map(carrying(_, arrival)),
          notMatchedInstructions = rows.notMatchedInstructions.map(carrying(_, arrival)),
          notMatchedBySourceInstructions = rows.notMatchedBySourceInstructions.map(carrying(_, arrival)),
          checkCardinality = rows.checkCardinality && !isKeyed,
          output = rows.output :+ AttributeReference(Arrival, LongType)(),
          child = child
        ))
      }
      numbered.getOrElse(delta)
    case _ => delta
  }

  private def carrying(instruction: Instruction, arrival: Attribute): Instruction = instruction match {
    case keep: Keep   => keep.copy(output = keep.output :+ arrival)
    case split: Split => split.copy(output = split.output :+ arrival, otherOutput = split.otherOutput :+ arrival)
    case other        => other
  }

  /** The join with numbered source rows, and the column of the numbers. */
  private def numberSource(plan: LogicalPlan): Option[(LogicalPlan, Attribute)] = plan match {
    case join: Join =>
      val onLeft = !readsTarget(join.left)
      val source = if (onLeft) join.left else join.right
      val number = Alias(MonotonicallyIncreasingID(), Arrival)()
      val rows   = Project(source.output :+ number, source)
      Some((if (onLeft) join.copy(left = rows) else join.copy(right = rows), number.toAttribute.withNullability(true)))
    case project: Project => numberSource(project.child).map { case (child, number) =>
        (project.copy(project.projectList :+ number, child), number)
      }
    case filter: Filter => numberSource(filter.child).map { case (child, number) => (filter.copy(child = child), number) }
    case _              => None
  }

  private def readsTarget(plan: LogicalPlan): Boolean = plan.exists {
    case relation: DataSourceV2Relation => RowLevelBridge.isTarget(relation)
    case _                              => false
  }

  /** Every key column of the target must equal something that is not the target's. */
  private def equates(plan: LogicalPlan, keys: Seq[String]): Boolean = {
    val target = AttributeSet(plan.collect { case r: DataSourceV2Relation if RowLevelBridge.isTarget(r) => r.output }.flatten)
    def column(e: Expression): Option[String] = e match {
      case cast: Cast                                  => column(cast.child)
      case a: AttributeReference if target.contains(a) => Some(a.name)
      case _                                           => None
    }
    def equated(a: Expression, b: Expression): Seq[String] =
      Seq(a -> b, b -> a).flatMap { case (x, y) => if (y.references.intersect(target).isEmpty) column(x) else None }
    val conditions = plan.collect {
      case join: Join     => join.condition.toSeq
      case filter: Filter => Seq(filter.condition)
    }.flatten.flatMap(splitConjunctivePredicates)
    val found = conditions.flatMap {
      case EqualTo(a, b)       => equated(a, b)
      case EqualNullSafe(a, b) => equated(a, b)
      case _                   => Nil
    }
    keys.forall(k => found.exists(_.equalsIgnoreCase(k)))
  }

  /** Spark makes an append of a MERGE without WHEN MATCHED; only then does a query read the very relation it is written to. */
  private def insertsOfMerge(write: V2WriteCommand): Option[LogicalPlan] = write.table match {
    case relation: DataSourceV2Relation =>
      relation.table match {
        case table: MerganserTable if !table.isMergeTarget && reads(write.query, relation) =>
          Some(write.withNewTable(relation.copy(table = table.asMergeTarget)))
        case _ => None
      }
    case _ => None
  }

  private def reads(query: LogicalPlan, target: DataSourceV2Relation): Boolean = query.exists {
    case read: DataSourceV2Relation => read.outputSet.intersect(target.outputSet).nonEmpty
    case _                          => false
  }
}
