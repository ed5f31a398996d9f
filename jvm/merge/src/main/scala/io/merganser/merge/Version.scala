package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow

/**
 * One version of a row, on its way through a merge.
 *
 * Its ordering value stays in the row, at the positions that [[RowLayout]] names: a typed value that may be null (the
 * smallest). Having none at all is a state of its own, [[isUnordered]], and not a number.
 *
 * Instances are filled again by readers; whoever keeps one calls [[copy]].
 */
final class Version {

  /** The columns of [[RowLayout.schema]]; a delete without data has its key and, if it is ordered, its ordering columns. */
  var row: InternalRow = _

  /** True for a version that removes its key. */
  var isDelete: Boolean = false

  /** True for a delete that carries no ordering value: it wins over everything older and loses to everything newer. */
  var isUnordered: Boolean = false

  /** True when nothing older than this version counts any more, the stored row included. */
  var endsHistory: Boolean = false

  /** Which columns of the row this version provides, by position; null when it provides all of them. Never overwritten. */
  var provided: Array[Boolean] = _

  /**
   * What a partial version is where nothing is stored, or where a delete came before it: a row of its own, with nulls in the
   * columns that it does not provide; or, if false, nothing.
   */
  var inserts: Boolean = false

  /** True when this version, or one that was combined into it, is a delete without ordering value. */
  private[merge] var combinedUnordered: Boolean = false

  /** Versions of the same key that were added before this one and could not be combined with it yet; null if none. */
  private[merge] var earlier: Version = _

  def isPartial: Boolean = provided != null

  def set(row: InternalRow, isDelete: Boolean, isUnordered: Boolean): Version = {
    // A reference is written only where it changes: the collector looks at every write, and readers reuse their rows.
    if (this.row ne row) this.row = row
    if (provided ne null) provided = null
    if (earlier ne null) earlier = null
    this.isDelete = isDelete
    this.isUnordered = isUnordered
    this.endsHistory = false
    this.inserts = false
    this.combinedUnordered = isUnordered
    this
  }

  /** Makes this version the same as another one, with another copy of its row. */
  private[merge] def become(other: Version, copiedRow: InternalRow): Version = {
    set(copiedRow, other.isDelete, other.isUnordered)
    endsHistory = other.endsHistory
    if (other.provided ne null) provided = other.provided
    inserts = other.inserts
    combinedUnordered = other.combinedUnordered
    this
  }

  /** A version of its own, with a row of its own. */
  def copy(): Version = new Version().become(this, row.copy())

  /** A partial version as a row of its own: what it does not provide is null. */
  def asRow: Version =
    if (provided == null) this
    else {
      val result = new Version().set(row, isDelete, isUnordered)
      result.endsHistory = endsHistory
      result
    }

  /** The same version, which moreover makes the caller drop every older one; forgetting it brings deleted rows back. */
  def withoutHistory: Version =
    if (endsHistory) this
    else {
      val result = new Version().set(row, isDelete, isUnordered)
      result.provided = provided
      result.inserts = inserts
      result.endsHistory = true
      result
    }

  private[merge] def hasEarlier: Boolean = earlier != null

  /** Keeps `older` apart behind this version, until the stored row is known. */
  private[merge] def after(older: Version): Version = {
    earlier = older
    this
  }

  /** Whether one of the versions that were combined into this one, or are kept behind it, is a delete without ordering value. */
  private[merge] def followsUnordered: Boolean = {
    var version = this
    while (version != null && !version.combinedUnordered) version = version.earlier
    version != null
  }

  /** This version and those kept behind it, oldest first. */
  private[merge] def apart: List[Version] = {
    var versions = List.empty[Version]
    var version  = this
    while (version != null) {
      versions = version :: versions
      version = version.earlier
    }
    versions
  }

  /** The left fold of the versions kept apart, from the stored row. */
  private[merge] def foldOnto(stored: Version, rule: MergeRule): Version =
    if (earlier == null) rule.merge(stored, this)
    else apart.foldLeft(stored)((older, newer) => rule.merge(older, newer))

  /**
   * The left fold of the versions kept apart, where nothing is stored: a partial version has no row to be laid over, so it
   * is a row of its own or passed over.
   */
  private[merge] def foldAlone(rule: MergeRule): Version =
    if (earlier == null) inserted(rule)
    else
      apart.dropWhile(version => version.isPartial && !version.inserts) match {
        case Nil           => this
        case first :: rest => rest.foldLeft(first.inserted(rule))((older, newer) => rule.merge(older, newer))
      }

  private def inserted(rule: MergeRule): Version = {
    val whole = if (inserts) asRow else this
    if (whole.isPartial || whole.isDelete) whole else rule.insert(whole)
  }
}
