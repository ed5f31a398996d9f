package io.merganser.merge.payload

import io.merganser.merge.{DeleteMarker, MergeRule, RowLayout}

/**
 * A payload class of old as a merge rule: how a version meets what is stored, how versions of one batch meet, and which
 * rows are deletes. A first insert is stored as it is, and one that is a delete is not stored.
 */
trait ClassicPayload extends Serializable {

  /** The ordering fields the payload compares, of those the table names. */
  def orderingFields(table: Seq[String]): Seq[String] = table

  /** What marks a delete, besides what the table says. */
  def markers: Seq[DeleteMarker] = Nil

  /** True if a row may take columns of a version that it wins over. */
  def fillsColumns: Boolean = false

  /**
   * @param layout its ordering fields are those that [[orderingFields]] gave, so far as they are columns
   * @param commitMetadataColumns names of columns that say when and where a row was written: a row made of two has the newer one's
   */
  def rule(layout: RowLayout, commitMetadataColumns: Seq[String]): MergeRule
}
