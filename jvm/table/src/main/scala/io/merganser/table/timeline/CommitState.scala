package io.merganser.table.timeline

/** Whether an instant that is not pending is that of a commit. */
private[table] sealed trait CommitState

private[table] object CommitState {
  final case class Committed(metadata: CommitMetadata) extends CommitState

  /** A failed write's. */
  case object NotCommitted extends CommitState

  /** It is older than the timeline, and the history does not have that time. */
  case object Unknown extends CommitState
}
