package io.merganser.spark.stream

import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.CRC32

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.change.{CommitWindow, TakenBack}
import io.merganser.table.slice.FileSlice
import io.merganser.table.timeline.{Action, Timeline, WriteStat}

/**
 * A write of which the stream has something to return.
 *
 * @param completed its completion time
 * @param bytes     size of its files, in bytes
 */
private[stream] final case class StreamedWrite(completed: String, files: Int, bytes: Long)

/**
 * The slices of a snapshot in the order of their partition and file group, which does not change.
 *
 * @param time completion time of the newest commit in it
 */
private[stream] final case class SnapshotGroups(time: String, view: Timeline, slices: Seq[FileSlice]) {

  def checksum: String = {
    val crc = new CRC32
    slices.foreach(s => crc.update(s"${s.partitionPath}/${s.fileId}\n".getBytes(UTF_8)))
    crc.getValue.toHexString
  }
}

/**
 * A table as the planning of one micro-batch sees it.
 *
 * @param content what its stream returns
 */
private[stream] final class TableNow(val table: OpenTable, content: StreamedContent) {

  /** Completion time of the newest write; None if there is none. */
  def newest: Option[String] = table.timeline.newestCompleted.map(i => i.completed.getOrElse(i.requested))

  /** The write with the greatest requested time of those that completed up to a time, if it is on the timeline. */
  def newestWrite(time: String): Option[String] = table.timeline.completed.reverseIterator.find(i =>
    i.completed.getOrElse(i.requested) <= time && !table.timeline.metadata(i).operationType.isService).map(_.requested)

  /** @throws MerganserException CHANGES_TAKEN_BACK if what a stream has read is no longer true */
  def requireThere(read: StreamPosition): Unit =
    for (time <- read.time; write <- read.write)
      TakenBack.requireNot(table.storage, table.config, table.timeline, write, time)

  /** Whether not only services completed after a time. What was read for it is known to the next micro-batches. */
  def hasWriteAfter(time: String): Boolean = table.timeline.completed.reverseIterator.exists(i =>
    time < i.completed.getOrElse(i.requested) && !table.timeline.metadata(i).operationType.isService)

  def isClustering: Boolean =
    table.timeline.pending.exists(i => i.action == Action.Clustering || i.action == Action.ReplaceCommit)

  def window(begin: String, end: Option[String]): CommitWindow = table.window(begin, end, content.usesCommitTimes)

  /** The writes between two times that have something to return, in the order of their completion. */
  def writes(begin: String, end: String): Seq[StreamedWrite] =
    window(begin, Some(end)).metadata.filter { case (_, m) => content.isOf(m) }.map {
      case (i, m) => StreamedWrite(i.completed.getOrElse(i.requested), m.allStats.size, m.allStats.map(bytesOf).sum)
    }.toSeq.sortBy(_.completed)

  /** A log file may have been appended to. */
  private def bytesOf(stat: WriteStat): Long = if (stat.isLogFile) stat.totalWriteBytes else stat.fileSizeInBytes

  private var listed: Option[(String, SnapshotGroups)] = None

  def groupsAsOf(time: String): SnapshotGroups =
    listed.collect { case (`time`, found) => found }.getOrElse {
      val view   = window(CommitWindow.Earliest, Some(time)).view
      val slices = table.as(view).view.slices.sortBy(s => (s.partitionPath, s.fileId))
      val found  = SnapshotGroups(time, view, slices)
      listed = Some(time -> found)
      found
    }
}
