package io.merganser.merge.payload

import io.merganser.merge._

/** Keeps the newer version, in a batch too: ordering values are not compared. Deletes are versions like others. */
case object CommitOrder extends ClassicPayload {
  override def orderingFields(table: Seq[String]): Seq[String] = Nil

  override def rule(layout: RowLayout, commitMetadataColumns: Seq[String]): MergeRule = new CommitTimeRule
}
