package io.merganser.spark.sql

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Window}

/**
 * Of a join's source rows that are versions of one row the one that goes through the clauses.
 *
 * @param of what such rows have in common; empty where all rows of the join count
 * @param by the first in this order counts, with every stored row that it matches
 */
private[sql] final case class LatestMatch(of: Seq[Expression], by: Seq[SortOrder]) {

  def in(join: LogicalPlan): LogicalPlan =
    if (of.isEmpty) join
    else {
      val upToIt = WindowSpecDefinition(of, by, SpecifiedWindowFrame(RowFrame, UnboundedPreceding, CurrentRow))
      val rank   = Alias(WindowExpression(Rank(by.map(_.child)), upToIt), "__merganser_rank")()
      Filter(EqualTo(rank.toAttribute, Literal(1)), Window(Seq(rank), of, by, join))
    }
}

private[sql] object LatestMatch {
  val None: LatestMatch = LatestMatch(Nil, Nil)
}
