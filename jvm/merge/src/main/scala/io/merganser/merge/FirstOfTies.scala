package io.merganser.merge

/**
 * A rule whose batches keep the first of several versions with one ordering value, as bulk insert does; where the values
 * differ, and outside of a batch, it is the rule it wraps.
 *
 * Laws: those of the rule.
 */
final class FirstOfTies(rule: MergeRule, comparator: OrderingComparator) extends MergeRule {

  override def laws: Laws = rule.laws

  override def merge(older: Version, newer: Version): Version = rule.merge(older, newer)

  override def combine(older: Version, newer: Version): Version =
    if (comparator.compare(newer.row, older.row) == 0) older else rule.combine(older, newer)

  override def combinesBatch: Boolean = rule.combinesBatch

  override def insert(version: Version): Version = rule.insert(version)

  override def at(fileGroup: String): MergeRule = new FirstOfTies(rule.at(fileGroup), comparator)
}
