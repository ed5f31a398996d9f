package io.merganser.merge.payload

import io.merganser.merge._

/** Keeps the version with the larger ordering value, in a batch and against the stored row; on a tie, the newer one. */
case object EventTime extends ClassicPayload {
  override def rule(layout: RowLayout, commitMetadataColumns: Seq[String]): MergeRule = EventTimeRule(layout)
}
