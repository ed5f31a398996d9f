package io.merganser.merge.payload

import io.merganser.merge._

/** Keeps the version with the larger ordering value, inside a batch as against what is stored; on a tie, the newer one. */
case object EventTime extends ClassicPayload {
  override def rule(layout: RowLayout, commitMetadataColumns: Seq[String]): MergeRule = EventTimeRule(layout)
}
