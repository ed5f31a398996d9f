package io.merganser.merge.payload

import io.merganser.merge.{DeleteMarker, MergeRule, RowLayout}

/**
 * A legacy payload class as a merge rule: how a version is merged with the stored row, how versions of one batch are
 * combined, and which rows are deletes. A first insert is stored as it is, and one that is a delete is not stored.
 */
trait ClassicPayload extends Serializable {

  /** The ordering fields that the payload compares, given the table's. */
  def orderingFields(table: Seq[String]): Seq[String] = table

  /** What marks a delete, besides the table's own properties. */
  def markers: Seq[DeleteMarker] = Nil

  /** True if the winner may take columns of the loser. */
  def fillsColumns: Boolean = false

  /**
   * @param layout its ordering fields are those that [[orderingFields]] returned, if they are columns
   * @param commitMetadataColumns names of columns that state when and where a row was written: a row made of two
   *                              versions has the newer one's
   */
  def rule(layout: RowLayout, commitMetadataColumns: Seq[String]): MergeRule
}
