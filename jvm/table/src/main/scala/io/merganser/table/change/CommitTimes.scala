package io.merganser.table.change

/**
 * Whether a row, by its commit time, was changed after the begin of a window. Sent to tasks.
 *
 * @param begin     exclusive
 * @param knownFrom the oldest commit whose completion time is known; rows of earlier ones, and all rows where there is
 *                  none, are compared by their commit time itself
 * @param commits   requested times of the window's commits; None if the window has all that are known
 */
final case class CommitTimes(begin: String, knownFrom: Option[String], commits: Option[Set[String]])
    extends (String => Boolean) {

  override def apply(commitTime: String): Boolean =
    if (knownFrom.forall(commitTime < _)) begin < commitTime else commits.forall(_(commitTime))

  /** No row of the window has an earlier commit time. */
  def least: String =
    commits.filter(c => c.nonEmpty && !knownFrom.forall(begin < _)).fold(begin)(_.min)
}
