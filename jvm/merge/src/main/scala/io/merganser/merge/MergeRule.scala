package io.merganser.merge

/**
 * The laws of a merge rule. Versions are regrouped for speed only where the law holds.
 *
 * @param associative   grouping does not matter: (a b) c = a (b c)
 * @param idempotent    a version that is merged twice changes nothing the second time
 * @param orderFree     the order of versions with different ordering values does not matter
 * @param combinesBatch the full versions of one batch are one change: [[MergeRule.combine]] makes one version of them
 * @param everyDeleteEndsHistory a delete with an ordering value ends the key's history, too
 * @param marksDeletes  a delete carries the mark that history has ended; false where a newer delete always wins
 * @param buffersDeletes the laws above hold for rows alone: a delete with an ordering value, and what follows it, is
 *                       buffered until the stored row is known
 * @param buffersUnconditional the same of a delete without one
 * @param ignoresDeletes a delete that is not late-arriving may leave the row as it is
 */
final case class Laws(
    associative: Boolean,
    idempotent: Boolean,
    orderFree: Boolean,
    combinesBatch: Boolean,
    everyDeleteEndsHistory: Boolean = false,
    marksDeletes: Boolean = true,
    buffersDeletes: Boolean = false,
    buffersUnconditional: Boolean = false,
    ignoresDeletes: Boolean = false
)

object Laws {

  /** The laws of a rule that combines a batch if it is associative. */
  def apply(associative: Boolean, idempotent: Boolean, orderFree: Boolean): Laws =
    new Laws(associative, idempotent, orderFree, combinesBatch = associative)
}

/**
 * Chooses between two versions of one row, or makes one out of them. [[KeyFold]] alone calls it, for every path: input
 * combine, write merge, compaction, snapshot read.
 *
 * A rule states what differs from rule to rule. [[KeyFold]] handles the ends of a key's history, and versions that
 * have nothing to be merged with: `older` never is an unconditional delete, `newer` never carries
 * [[Version.endsHistory]], and a partial version comes only with an older row that is not deleted.
 *
 * A rule has no state and reads no settings. It returns one of its arguments or a version of its own, never null; a
 * deletion is a version. A version of its own, its row too, is valid until the next call, and as long as the arguments'
 * rows are: whoever buffers copies.
 */
trait MergeRule extends Serializable {

  def laws: Laws

  /**
   * @param older the version committed first, or the stored row
   * @param newer the version after it
   */
  def merge(older: Version, newer: Version): Version

  /** Combines two full versions of the same batch before either is merged with the stored row. */
  def combine(older: Version, newer: Version): Version = merge(older, newer)

  /**
   * Maps a full version to the row to insert where its key is not stored. Identity except for users' payload classes.
   */
  def insert(version: Version): Version = version
}

object MergeRule {

  /** Event time, or commit time where the layout has no ordering fields. */
  def eventTime(layout: RowLayout): MergeRule = new PartialRule(EventTimeRule(layout), layout)

  def commitTime(layout: RowLayout): MergeRule = new PartialRule(new CommitTimeRule, layout)
}

/** A rule that differs from another one in the members it overrides. */
private[merge] abstract class WrappingRule(rule: MergeRule) extends MergeRule {

  override def laws: Laws = rule.laws

  override def merge(older: Version, newer: Version): Version = rule.merge(older, newer)

  override def combine(older: Version, newer: Version): Version = rule.combine(older, newer)

  override def insert(version: Version): Version = rule.insert(version)
}
