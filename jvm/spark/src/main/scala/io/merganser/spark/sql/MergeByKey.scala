package io.merganser.spark.sql

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.Literal.FalseLiteral
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.{BooleanType, IntegerType, LongType}

/** A MERGE as a lookup of the source rows' keys, which ON equates; no join. */
private[sql] final class MergeByKey(merge: MergeStatement, keyed: KeyCondition) {
  import MergeStatement._
  import merge.{on, source, target}

  def plan: LogicalPlan = {
    val columns  = target.changed(merge.ordersDeletes, isTagged = true)
    val arrival  = AttributeReference(Arrival, LongType, nullable = false)()
    val slice    = AttributeReference("__merganser_slice", IntegerType, nullable = false)()
    val isStored = AttributeReference("__merganser_is_stored", BooleanType, nullable = false)()
    val change   = new ClauseOutput(target, columns, arrival, Some((slice, isStored)))
    val matches  = And(isStored, on)
    val made = merge.made(change) {
      case Matched => matches
      case _       => Not(Coalesce(Seq(matches, FalseLiteral)))
    }
    val order  = if (keyed.paths.nonEmpty || target.partitionColumns.isEmpty) merge.sourceOrder else None
    val used   = made.flatMap(_.children) ++ order.toSeq.flatten :+ on
    val stored = target.relation.output.filter(AttributeSet(used.flatMap(_.references)).contains)
    RowLevelCommandByKey(
      target.describe(columns, isRead = target.isReadBy(source), merge.assigns),
      made,
      change.masks,
      on,
      keys = EqualColumns.of(keyed.keys),
      paths = EqualColumns.of(keyed.paths),
      arrival,
      choice = order.map(SourceChoice(Nil, _)),
      found = Seq(slice, isStored),
      stored,
      query = Needed.of(source, used ++ (keyed.keys ++ keyed.paths).map(_._2))
    )
  }
}
