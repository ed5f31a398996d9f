package io.merganser.merge.payload

import io.merganser.merge._

/**
 * The version with the larger ordering value wins, and its nulls are filled from the other; on a tie the newer wins. A
 * delete removes what is stored whatever its ordering value, but competes by it inside a batch.
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
 * A delete wins over everything older, even if its ordering value is smaller; otherwise the wrapped rule decides.
 *
 * Laws: those of the wrapped rule, but for the order of versions: a delete removes only what came before it.
 */
final class LateDeleteRule(rule: MergeRule) extends MergeRule {

  override val laws: Laws = rule.laws.copy(orderFree = false)

  override def merge(older: Version, newer: Version): Version =
    if (newer.isDelete) newer else rule.merge(older, newer)
}
