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

  // The following are not outcomes of a merge, but of a version that is appended to a log.

  /** Updated by a version of the same ordering value. */
  final val Tied = 6

  /** Not known: the rule merges the version with the stored row when the log is read. */
  final val Appended = 7

  /** To be replaced by the outcome of the rule. */
  final val ByRule = 8

  /** Not counted. */
  final val Uncounted = 9

  /** The stored row stays: the delete is not late-arriving, and the rule ignores it. Of dry runs, which show it. */
  final val Ignored = 10

  /** Every outcome is below it. */
  final val Count = 11
}
