package io.merganser.merge

/**
 * Keeps the version with the larger ordering value; on a tie, the newer version.
 *
 * A delete with an ordering value competes like any version. An unconditional delete wins over everything older.
 *
 * Laws: associative and idempotent. Free of order while every version has an ordering value and no two tie.
 */
final class EventTimeRule(order: RowOrder) extends MergeRule {

  override val laws: Laws = Laws(associative = true, idempotent = true, orderFree = true)

  override def merge(older: Version, newer: Version): Version =
    if (newer.isUnconditional || order.compare(newer.row, older.row) >= 0) newer else older
}

object EventTimeRule {

  /** By the layout's ordering fields; commit time where it has none. */
  def apply(layout: RowLayout): MergeRule =
    if (layout.orderingOrdinals.isEmpty) new CommitTimeRule else new EventTimeRule(new OrderingComparator(layout))
}
