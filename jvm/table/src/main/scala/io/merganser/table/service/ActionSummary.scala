package io.merganser.table.service

import io.merganser.table.timeline.{Action, CommitMetadata, Instant}

/**
 * What one action of a table did, by its metadata. None where the metadata does not have it.
 *
 * @param isArchived   whether it was moved from the timeline to the history
 * @param requestedMs  milliseconds since 1970, as all times here
 * @param completedMs  in version 6 the modification time of its file; None while it is pending
 * @param write        metadata of a completed write
 * @param user         of the Spark application; for a savepoint, who created it
 * @param application  id of the Spark application
 * @param engine       name and version; None for other engines, which do not store theirs
 * @param filesDeleted by a clean, rollback or restore
 * @param bytesDeleted by a clean of ours
 * @param partitions   number of those in which it wrote, replaced or deleted files, or retains some
 * @param planned      pending: file groups that a compaction or clustering rewrites; files that a clean or rollback
 *                     deletes
 * @param comment      of a savepoint; of a rollback or restore, the instants that it removed; of an archiving, the
 *                     first and the last instant that it moved
 * @param isReadable   for a completed write, whether the table can be read as of it; None if that is known only after
 *                     listing files
 */
final case class ActionSummary(
    instant: Instant,
    isArchived: Boolean,
    requestedMs: Option[Long] = None,
    completedMs: Option[Long] = None,
    write: Option[CommitMetadata] = None,
    user: Option[String] = None,
    application: Option[String] = None,
    engine: Option[String] = None,
    filesDeleted: Option[Long] = None,
    bytesDeleted: Option[Long] = None,
    partitions: Option[Int] = None,
    planned: Option[Int] = None,
    comment: Option[String] = None,
    isReadable: Option[Boolean] = None
) {

  /**
   * From the request to the completion; in version 6, whose times are estimates, not below 0. None for a savepoint, the
   * requested time of which is that of its write, and an archiving, of which one time is known.
   */
  def elapsedMs: Option[Long] = for {
    from <- requestedMs.filterNot(_ => instant.action == Action.Savepoint || instant.action == Action.Archive)
    to   <- completedMs
  } yield math.max(0L, to - from)

  /** Number of file groups that a completed write replaced. */
  def groupsReplaced: Option[Int] = write.map(_.replaced.size)
}
