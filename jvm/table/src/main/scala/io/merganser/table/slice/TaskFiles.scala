package io.merganser.table.slice

import io.merganser.table.file.{FileNames, Marker, WriteToken}
import io.merganser.table.log.BlockInstants
import io.merganser.table.storage.Interrupts
import org.apache.spark.{TaskContext, TaskKilledException}
import org.slf4j.LoggerFactory

import java.io.IOException

import scala.util.control.NonFatal

/**
 * The files that a task writes. Spark may run a task several times, also at once, and the commit names the files of one
 * attempt. It removes those of the others that were announced before; an attempt that is later than the commit, or than
 * the rollback of its write, removes its own. It is late if Spark has killed it, or if its write is closed or its
 * markers are gone: the kill may come later, or never to an executor that was lost.
 */
object TaskFiles {

  private val Log = LoggerFactory.getLogger(getClass)

  /**
   * Runs the part of a task that writes files. The only way in which tasks do. It begins no file once the attempt is
   * late; if it is late at the end, or fails, its files and their markers are removed.
   *
   * @param run   the number of the transaction's run
   * @param write what it returns is computed in full
   * @throws TaskKilledException if Spark has killed the attempt
   * @throws IOException         if the write has ended
   */
  def write[T](writer: SliceWriter, run: Int)(write: WriteToken => Iterator[T]): Iterator[T] = {
    val context = TaskContext.get()
    val stage   = if (run == 0) context.stageId() else run
    val token =
      new WriteToken(context.partitionId(), stage, context.taskAttemptId(),
        () => {
          requireAlive(context)
          if (!writer.markers.areOpen) throw ended(writer)
        }
      )
    try {
      val written = write(token).toVector
      requireAlive(context)
      if (!token.announced.forall(writer.markers.has)) throw ended(writer)
      written.iterator
    } catch {
      case failure: Throwable =>
        Interrupts.deferred {
          token.announced.foreach(remove(writer, _, failure))
          removeFolder(writer, failure)
        }
        throw failure
    }
  }

  private def requireAlive(context: TaskContext): Unit = if (context.isInterrupted())
    throw new TaskKilledException("the write has failed, or another attempt of the task has succeeded")

  private def ended(writer: SliceWriter) =
    new IOException(s"write ${writer.instant} of ${writer.storage} has ended: it was committed, or rolled back")

  /** The marker last: the next write removes a file that stays. */
  private def remove(writer: SliceWriter, marker: Marker, failure: Throwable): Unit =
    quietly(writer, s"'${marker.path}'", failure) {
      if (isOwn(writer, marker)) {
        writer.storage.delete(marker.path)
        writer.markers.delete(marker)
      }
    }

  /** The folder of markers that an attempt has brought back, once its write had ended. */
  private def removeFolder(writer: SliceWriter, failure: Throwable): Unit =
    quietly(writer, "the folder of markers", failure)(if (!writer.markers.areOpen) writer.markers.deleteIfEmpty())

  private def quietly(writer: SliceWriter, what: String, failure: Throwable)(work: => Unit): Unit =
    try work
    catch {
      case NonFatal(second) =>
        failure.addSuppressed(second)
        Log.warn(s"cannot remove $what of ${writer.storage}, which an attempt of a task has left", second)
    }

  /** In version 6 another engine may have appended to a log. */
  private def isOwn(writer: SliceWriter, marker: Marker): Boolean = writer.config.version >= 8 || {
    val size = writer.storage.status(marker.path).map(_.getLen)
    val log  = size.flatMap(FileNames.parseLog(marker.partitionPath, marker.fileName, _))
    log.forall(found => (BlockInstants.of(writer.storage, found) - writer.instant).isEmpty)
  }
}
