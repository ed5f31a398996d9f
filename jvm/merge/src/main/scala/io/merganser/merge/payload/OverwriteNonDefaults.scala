package io.merganser.merge.payload

import io.merganser.merge._

/**
 * Overwrites the columns of the stored row that the newer version has a value for, whatever the ordering values. Inside
 * a batch a whole row is chosen: the one with the greatest ordering value; on a tie, the later one.
 *
 * Laws: associative and idempotent.
 */
case object OverwriteNonDefaults extends ClassicPayload {
  override val fillsColumns: Boolean = true

  override def rule(layout: RowLayout, commitMetadataColumns: Seq[String]): MergeRule =
    new BatchRule(FillMissingRule.byCommitTime(layout, MissingValues.Nulls, commitMetadataColumns),
      EventTimeRule(layout))
}
