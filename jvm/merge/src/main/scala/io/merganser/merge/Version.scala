package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow

/**
 * One version of a row. It is data: [[KeyFold]] merges versions.
 *
 * Its ordering value stays in the row, at the positions that [[RowLayout]] names: a typed value that may be null (the
 * smallest). Having no ordering value is a state of its own, [[isUnconditional]], and not a value.
 *
 * Readers reuse an instance; whoever buffers one calls [[copy]].
 */
final class Version {

  /** The columns of [[RowLayout.schema]]; a delete without data has its key and, if ordered, its ordering columns. */
  var row: InternalRow = _

  /** True for a version that removes its key. */
  var isDelete: Boolean = false

  /** True for an unconditional delete, one without ordering value: wins over everything older, loses to all newer. */
  var isUnconditional: Boolean = false

  /** True when every older version is ignored, the stored row included. */
  var endsHistory: Boolean = false

  /** Which columns of the row this version provides, by position; null if it provides all. Never overwritten. */
  var provided: Array[Boolean] = _

  /**
   * Whether a partial version whose key is not stored, or deleted, is inserted, with nulls in the columns that it does
   * not provide. If false, it is ignored.
   */
  var inserts: Boolean = false

  /** True for a delete that a base file retains, in a merge of logs: it is no version of them, and is not counted. */
  var isRetained: Boolean = false

  /** True for a partial version after its overlay on the older row: the nulls that it provided are values. */
  private[merge] var isOverlaid: Boolean = false

  /** True when this version, or one that was combined into it, is an unconditional delete. */
  private[merge] var combinedUnconditional: Boolean = false

  /** The version buffered before this one, which could not be combined with it; null if none. */
  private[merge] var earlier: Version = _

  def isPartial: Boolean = provided != null

  def set(row: InternalRow, isDelete: Boolean, isUnconditional: Boolean): Version = {
    // A reference is written only where it changes: the collector looks at every write, and readers reuse their rows.
    if (this.row ne row) this.row = row
    if (provided ne null) provided = null
    if (earlier ne null) earlier = null
    this.isDelete = isDelete
    this.isUnconditional = isUnconditional
    this.endsHistory = false
    this.inserts = false
    this.isRetained = false
    this.isOverlaid = false
    this.combinedUnconditional = isUnconditional
    this
  }

  /** Becomes another version, with its row. */
  private[merganser] def become(other: Version): Version = become(other, other.row)

  /** Copies another version, except for its row. */
  private[merge] def become(other: Version, copiedRow: InternalRow): Version = {
    set(copiedRow, other.isDelete, other.isUnconditional)
    endsHistory = other.endsHistory
    if (other.provided ne null) provided = other.provided
    inserts = other.inserts
    isRetained = other.isRetained
    combinedUnconditional = other.combinedUnconditional
    this
  }

  /** A version with a row of its own. */
  def copy(): Version = new Version().become(this, row.copy())

  /** A partial version as a full one: the columns it does not provide are null. */
  def asRow: Version =
    if (provided == null) this
    else {
      val result = new Version().set(row, isDelete, isUnconditional)
      result.endsHistory = endsHistory
      result
    }

  /** The same version with the mark that every older one is ignored. Without it deleted rows would come back. */
  def withoutHistory: Version =
    if (endsHistory) this
    else {
      val result = new Version().set(row, isDelete, isUnconditional)
      result.provided = provided
      result.inserts = inserts
      result.endsHistory = true
      result
    }

  /** Buffers this version after an older one, until the stored row is known. */
  private[merge] def after(older: Version): Version = {
    earlier = older
    this
  }

  /** Whether `older` is buffered before this version. */
  private[merge] def isBehind(older: Version): Boolean = earlier eq older

  /** Whether an unconditional delete is among the versions that were combined into this one or buffered before it. */
  private[merge] def followsUnconditional: Boolean = {
    var version = this
    while (version != null && !version.combinedUnconditional) version = version.earlier
    version != null
  }

  /** This version and those buffered before it. */
  private[merge] def oldestFirst: List[Version] = {
    var versions = List.empty[Version]
    var version  = this
    while (version != null) {
      versions = version :: versions
      version = version.earlier
    }
    versions
  }
}
