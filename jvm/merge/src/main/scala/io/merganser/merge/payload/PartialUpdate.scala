package io.merganser.merge.payload

import io.merganser.merge._

/**
 * The version with the larger ordering value leads, and its nulls take the other one's values; on a tie the newer leads.
 * A delete removes what is stored whatever its ordering value, but competes by it inside a batch.
 *
 * Laws: idempotent.
 */
case object PartialUpdate extends ClassicPayload {
  override val fillsColumns: Boolean = true

  override def rule(layout: RowLayout, commitMetadataColumns: Seq[String]): MergeRule = {
    val columns = FillMissingRule.byEventTime(layout, MissingValues.Nulls, commitMetadataColumns)
    if (layout.orderingOrdinals.isEmpty) columns else new BatchRule(new LateDeleteRule(columns), columns)
  }
}

/**
 * A delete wins over everything older, also when its ordering value is the smaller one; else the rule inside decides.
 *
 * Laws: those of the rule inside, but for the order of versions: a delete removes what came before it alone.
 */
final class LateDeleteRule(rule: MergeRule) extends MergeRule {

  override val laws: Laws = rule.laws.copy(orderFree = false)

  override def merge(older: Version, newer: Version): Version =
    if (!newer.isDelete) rule.merge(older, newer)
    else if (older.endsHistory || older.isUnordered) newer.withoutHistory
    else newer
}
