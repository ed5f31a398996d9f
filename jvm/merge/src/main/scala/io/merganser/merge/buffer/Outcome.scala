package io.merganser.merge.buffer

/** The outcome of merging one key's versions with its stored row, or of one version of a statement. */
object Outcome {

  /** No version: the stored row stays as it is. */
  final val Unchanged = 0

  /** The stored row stays: every version lost against it, as late-arriving ones do. */
  final val Late = 1

  /** A version replaced the stored row. */
  final val Updated = 2

  /** Nothing was stored; a version is the row. */
  final val Inserted = 3

  /** The stored row is removed. */
  final val Deleted = 4

  /** Nothing was stored, and nothing is: the versions result in a delete. */
  final val Absent = 5

  /** Nothing was stored but a delete, which won against every version. */
  final val Refused = 6

  // What else MergeIterator.decision may be.

  /** Updated by a version of the same ordering value. */
  final val Tied = 7

  /** Updated by late-arriving versions alone, as by those that add to a sum: the row keeps its ordering value. */
  final val Added = 8

  /** The stored row stays: the rule ignores the delete, which is not late-arriving. */
  final val Ignored = 9

  /** Nothing was stored, and nothing is: a partial version belongs to no row. */
  final val Rowless = 10

  // Of a version that is appended to a log.

  /** Not known: the rule merges the version with the stored row when the log is read. */
  final val Appended = 11

  /** To be replaced by the outcome of the rule. */
  final val ByRule = 12

  /** Not counted. */
  final val Uncounted = 13

  /** The outcome of a decision that dry runs show. */
  def shown(decision: Int): Int = decision match {
    case Tied | Added => Updated
    case Rowless      => Absent
    case Refused      => Late
    case other        => other
  }
}
