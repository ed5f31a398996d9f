package io.merganser.merge

/**
 * Merges by one rule, and combines the versions of one batch by another.
 *
 * Laws: those of the rule it merges by. The batch's rule is only ever folded in the order in which versions arrived.
 *
 * @param stored how a version meets what came in earlier batches
 * @param batch  how versions of one batch meet; of this rule only what it makes of two is used
 */
final class BatchRule(stored: MergeRule, batch: MergeRule) extends MergeRule {

  override def laws: Laws = stored.laws

  override def combinesBatch: Boolean = true

  override def insert(version: Version): Version = stored.insert(version)

  override def merge(older: Version, newer: Version): Version = stored.merge(older, newer)

  override def mergeLaid(older: Version, laid: Version): Version = stored.mergeLaid(older, laid)

  override def combine(older: Version, newer: Version): Version = batch.combine(older, newer)
}
