package io.merganser.table.timeline

import io.merganser.merge.MerganserException
import io.merganser.table.storage.Storage
import org.apache.hadoop.fs.FileStatus

import scala.annotation.tailrec

/**
 * The files in the folder of a timeline.
 *
 * Archiving removes the requested files of its instants, then their completed files, the oldest first. A listing at
 * that time may lack any of them, and with it an instant between others; it is repeated until nothing was removed
 * meanwhile. A restore removes the files of the instants that it takes back.
 */
private[timeline] object TimelineListing {

  private val MostTimes = 10

  /**
   * Each file with its instant; None for other files.
   *
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def of(storage: Storage, folder: String): Seq[(Option[Instant], FileStatus)] = {
    def unreadable(file: FileStatus, reason: String) =
      throw MerganserException("TIMELINE_FILE_UNREADABLE", "file" -> file.getPath, "reason" -> reason)
    def listed = storage.list(folder).map(file => InstantFile.parse(file.getPath.getName) -> file).filter {
      case (instant, file) =>
        if (instant.isDefined && file.isDirectory) unreadable(file, "it is a folder")
        // What a file system lists for a file is the file.
        if (file.getPath.toUri.getPath == storage.path(folder).toUri.getPath) unreadable(file, "it is no folder")
        file.isFile
    }
    def names(files: Seq[(Option[Instant], FileStatus)]) = files.map(_._2.getPath.getName).toSet
    @tailrec def settled(
        files: Seq[(Option[Instant], FileStatus)],
        times: Int
    ): Seq[(Option[Instant], FileStatus)] =
      if (times == 0 || !mayBeArchived(files.flatMap(_._1))) files
      else {
        val again = listed
        if ((names(files) -- names(again)).isEmpty) again else settled(again, times - 1)
      }
    settled(listed, MostTimes)
  }

  /**
   * Whether a completed write has no requested file, and a later one has; or a write seems pending that began before
   * another one completed: its completed file may have been removed in the middle of the listing.
   */
  private def mayBeArchived(instants: Seq[Instant]): Boolean = {
    val writes    = instants.filter(_.action.whenCompleted.isWrite)
    val requested = writes.filter(_.state == InstantState.Requested).map(_.requested)
    val begun     = requested.toSet
    val done      = writes.filter(_.isCompleted).map(_.requested)
    val isDone    = done.toSet
    val newest    = requested.sorted.lastOption
    val newestEnd = done.sorted.lastOption
    // A restore removes completed files, and then completes.
    instants.sortBy(_.requested).lastOption.exists(i => i.action == Action.Restore || i.action == Action.Rollback) ||
    done.exists(i => !begun(i) && newest.exists(i < _)) ||
    writes.exists(i => i.action.isWrite && !isDone(i.requested) && newestEnd.exists(i.requested < _))
  }
}
