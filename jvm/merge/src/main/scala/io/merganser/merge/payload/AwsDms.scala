package io.merganser.merge.payload

import io.merganser.merge._

/**
 * Changes of the AWS Database Migration Service: each overwrites what is stored, and `Op` = `D`, in either case, is a
 * delete. Inside a batch the version with the greatest ordering value is chosen; on a tie, the later one.
 *
 * Laws: those of commit time.
 */
case object AwsDms extends ClassicPayload {
  override val markers: Seq[DeleteMarker] = Seq(DeleteMarker("Op", "D", ignoresCase = true))

  override def rule(layout: RowLayout, commitMetadataColumns: Seq[String]): MergeRule =
    new BatchRule(new CommitTimeRule, EventTimeRule(layout))
}
