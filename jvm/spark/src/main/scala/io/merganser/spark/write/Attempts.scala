package io.merganser.spark.write

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.commit.AppTransactions
import io.merganser.table.settings.WriteConfig
import io.merganser.table.timeline.Timeline

import scala.annotation.tailrec

/**
 * Runs a write again after a conflict that a repetition solves, and recognizes a write that an application repeats
 * although it was committed.
 */
private[write] final class Attempts(opened: OpenTable, settings: WriteConfig) {

  /**
   * @param retries times that the write may be run again after a conflict
   * @param attempt the whole write, from the state that the table has then; takes its number, from 0
   * @return the result of the first attempt that succeeds; that of the earlier commit if the application's transaction
   *         was committed before, or by another process meanwhile
   */
  def run(retries: Int)(attempt: Int => WriteResult): WriteResult = {
    val started = System.nanoTime()
    earlier(opened.timeline, started).getOrElse(repeated(retries, 0, started)(attempt))
  }

  @tailrec
  private def repeated(retries: Int, done: Int, started: Long)(attempt: Int => WriteResult): WriteResult =
    outcome(attempt(done)) match {
      case Right(result) => result.copy(notes = result.notes.copy(retries = done))
      case Left(conflict) =>
        earlier(now, started) match {
          case Some(result)           => result
          case None if done < retries => repeated(retries, done + 1, started)(attempt)
          case None                   => throw conflict
        }
    }

  private def outcome(attempt: => WriteResult): Either[MerganserException, WriteResult] =
    try Right(attempt)
    catch { case e: MerganserException if e.condition == "COMMIT_CONFLICT" => Left(e) }

  private def now: Timeline = Timeline.load(opened.storage, opened.config, Some(opened.timeline))

  /** The result of the commit that has the application's transaction, or a later one of it. */
  private def earlier(timeline: => Timeline, started: Long): Option[WriteResult] =
    settings.transaction.flatMap { transaction =>
      val at = timeline
      AppTransactions.find(at, transaction).map { found =>
        val metadata = at.metadata(found.instant)
        val later    = if (found.version > transaction.version) s", as was version ${found.version}" else ""
        val unknown  = if (metadata.isEmpty) " What it wrote is no longer on the timeline." else ""
        val warning =
          s"The $transaction was committed before$later: nothing is written, and this is the result of commit " +
            s"${found.instant}.$unknown"
        WriteResult.of(found.instant, settings.operation, metadata, started)
          .copy(notes = WriteNotes(warnings = Seq(warning), ignoredOptions = settings.ignored, isRepetition = true))
      }
    }
}
