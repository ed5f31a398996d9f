package io.merganser.table.timeline

import io.merganser.table.storage.Storage
import org.apache.hadoop.fs.FileStatus

import scala.annotation.tailrec

/**
 * The files in the folder of a timeline.
 *
 * Archiving removes the requested files of its instants, then their completed files, the oldest first. A listing at
 * that time may lack any of them, and with it an instant between others; it is repeated until nothing was removed
 * meanwhile.
 */
private[timeline] object TimelineListing {

  private val MostTimes = 10

  def of(storage: Storage, folder: String): Seq[FileStatus] = {
    def listed                        = storage.list(folder).filter(_.isFile)
    def names(files: Seq[FileStatus]) = files.map(_.getPath.getName).toSet
    @tailrec def settled(files: Seq[FileStatus], times: Int): Seq[FileStatus] =
      if (times == 0 || !mayBeArchived(names(files))) files
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
  private def mayBeArchived(names: Set[String]): Boolean = {
    val writes    = names.toSeq.flatMap(InstantFile.parse).filter(_.action.whenCompleted.isWrite)
    val requested = writes.filter(_.state == InstantState.Requested).map(_.requested)
    val begun     = requested.toSet
    val done      = writes.filter(_.isCompleted).map(_.requested)
    val isDone    = done.toSet
    def isGone    = requested.nonEmpty && done.exists(i => !begun(i) && i < requested.max)
    def seemsPending =
      done.nonEmpty && writes.exists(i => i.action.isWrite && !isDone(i.requested) && i.requested < done.max)
    isGone || seemsPending
  }
}
