package io.merganser.merge.payload

import io.merganser.merge._

/**
 * Overwrites what is stored, whatever the ordering values. Inside a batch the version with the greatest ordering value
 * is chosen; on a tie, the later one.
 *
 * Laws: those of commit time.
 */
case object OverwriteWithLatest extends ClassicPayload {
  override def rule(layout: RowLayout, commitMetadataColumns: Seq[String]): MergeRule =
    new BatchRule(new CommitTimeRule, EventTimeRule(layout))
}
