package io.merganser.table.file

/**
 * A log file.
 *
 * @param instant    of the delta commit that wrote it; in version 6, the slice's base instant
 * @param version    its number among the files of that instant and group
 * @param writeToken absent in very old tables
 * @param sizeBytes  as listed
 * @param committedBytes as recorded in the commit of its instant; absent where the timeline no longer has that commit,
 *                   and in version 6, where several commits may write to one file
 * @param completed  completion time of its instant; absent where the timeline no longer has it and the order does not
 *                   depend on it, and in version 6
 * @param checksums  of its blocks, as recorded in a commit of ours
 * @param isOfOneWrite whether its commit shows that all its blocks are of that write, and none replaces others
 * @param uncounted  writes whose blocks in it do not count, as another attempt of their task has written those that do
 */
final case class LogFile(
    partitionPath: String,
    fileId: String,
    instant: String,
    version: Int,
    writeToken: Option[String],
    name: String,
    sizeBytes: Long,
    committedBytes: Option[Long] = None,
    completed: Option[String] = None,
    checksums: Option[String] = None,
    isOfOneWrite: Boolean = false,
    uncounted: Set[String] = Set.empty
) {

  /** Whether the names differ in the write token alone. */
  def isOfOtherAttempt(other: LogFile): Boolean = partitionPath == other.partitionPath && fileId == other.fileId &&
    instant == other.instant && version == other.version && writeToken != other.writeToken

  /** Relative to the table's base path. */
  def path: String = FileNames.path(partitionPath, name)
}

object LogFile {

  /**
   * Reading order inside a slice: by completion, so that it stays the same when a compaction divides the logs; then
   * instant, version as a number, write token with an absent one first.
   */
  implicit val readingOrder: Ordering[LogFile] =
    Ordering.by(f => (f.completed.getOrElse(f.instant), f.instant, f.version, f.writeToken.getOrElse(""), f.name))

  /** By the start of their writes, in which other engines assign log files to slices. */
  val byInstant: Ordering[LogFile] = Ordering.by(f => (f.instant, f.version, f.writeToken.getOrElse(""), f.name))
}
