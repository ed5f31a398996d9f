package io.merganser.merge

import scala.annotation.nowarn

/**
 * Which laws a merge rule keeps. A reordering for speed is allowed only where the law holds.
 *
 * @param associative grouping does not matter: (a b) c = a (b c)
 * @param idempotent  a version that comes twice changes nothing the second time
 * @param orderFree   the order of versions with different ordering values does not matter
 */
final case class Laws(associative: Boolean, idempotent: Boolean, orderFree: Boolean)

/**
 * Says what becomes of two versions of one row. Every path (input combine, write merge, compaction, snapshot read)
 * asks the same compiled rule, through [[MergeIterator]] alone.
 *
 * A rule holds no state and reads no settings. It returns one of its arguments or a new record, never null; a deletion
 * is a record. It keeps no row: whoever buffers copies.
 */
trait MergeRule extends Serializable {

  def laws: Laws

  /**
   * @param older the version committed, or arrived, first
   * @param newer the version after it
   */
  def merge(older: Version, newer: Version): Version

  /**
   * What two versions of one batch come to before they meet anything stored: [[merge]], unless the rule has another one
   * for it, as payload classes do.
   */
  def combine(older: Version, newer: Version): Version = merge(older, newer)

  /**
   * The same for a version that provided some columns and has been laid over the older one, from which it has the others.
   * A null that it provided is a value: whoever has none to give does not provide the column.
   */
  def mergeLaid(older: Version, laid: Version): Version = merge(older, laid)

  /** What a full version comes to where nothing is stored: it is the row, unless the rule has a say in it. */
  def insert(version: Version): Version = version

  /** Whether the full versions of one batch are combined into one; otherwise all of them are passed on, apart. */
  def combinesBatch: Boolean = laws.associative

  /** The same rule for rows of one file group, which its failures then name. */
  @nowarn("cat=unused-params")
  def at(fileGroup: String): MergeRule = this
}

object MergeRule {

  /** Commit time, or event time where the layout has ordering fields to compare. */
  def eventTime(layout: RowLayout): MergeRule = new PartialRule(EventTimeRule(layout), layout)

  def commitTime(layout: RowLayout): MergeRule = new PartialRule(new CommitTimeRule, layout)
}
