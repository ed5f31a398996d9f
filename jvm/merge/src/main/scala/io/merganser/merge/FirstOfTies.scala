package io.merganser.merge

/**
 * Keeps the first of several versions with one ordering value, as a bulk insert does within its batch. Where the values
 * differ, the wrapped rule combines them.
 *
 * To be used as the batch's rule of a [[BatchRule]].
 *
 * Laws: those of the wrapped rule.
 */
final class FirstOfTies(rule: MergeRule, order: RowOrder) extends MergeRule {

  override def laws: Laws = rule.laws

  override def merge(older: Version, newer: Version): Version =
    if (order.compare(newer.row, older.row) == 0) older else rule.combine(older, newer)
}
