package io.merganser.merge

/**
 * Merges by one rule, and combines the versions of one batch by another.
 *
 * Laws: those of the rule it merges by. The batch's rule is only ever folded in the order of arrival.
 *
 * @param stored merges a version with those of earlier batches
 * @param batch  combines versions of one batch; its other members are not used
 */
final class BatchRule(stored: MergeRule, batch: MergeRule) extends WrappingRule(stored) {

  override val laws: Laws = stored.laws.copy(combinesBatch = true)

  override def combine(older: Version, newer: Version): Version = batch.combine(older, newer)
}
