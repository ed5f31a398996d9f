package io.merganser.spark.sql.procedures

import java.lang.{Long => JLong}

import io.merganser.merge.Json
import io.merganser.merge.buffer.MergeCounts
import io.merganser.spark.write.{TableCommit, WriteNotes}
import io.merganser.table.timeline.CommitMetadata

/** The metadata of our commits as result columns: operation, counts in rows, files, bytes, and milliseconds. */
private[procedures] object CommitColumns extends ResultColumnTypes {

  /** The counts by name; null for those that are not known. */
  val counts: ResultColumns[Map[String, Long]] = ResultColumns(MergeCounts.all.map { count =>
    long[Map[String, Long]](count.column, _.get(count.name).map(Long.box).orNull)
  }: _*)

  /** The totals over the files of a commit. */
  def sums[T](files: T => Integer, rows: T => JLong, bytes: T => JLong, elapsedMs: T => JLong): ResultColumns[T] =
    ResultColumns(int("files_written", files), long("rows_written", rows), long("bytes_written", bytes),
      long("elapsed_ms", elapsedMs))

  /** The notes on a write: what the user should know beside its counts. */
  val notes: ResultColumns[WriteNotes] = ResultColumns(
    ResultColumns(WriteNotes.lists.map { case (name, list) => strings(snake(name), list) }: _*),
    string("service_failure", _.serviceFailure.orNull),
    int("retries", _.retries),
    boolean("is_repetition", _.isRepetition)
  )

  /** The counts of a commit: none for commits without them, such as those of other engines. */
  def countsOf(metadata: CommitMetadata): Map[String, Long] = {
    val json = metadata.extra.get(TableCommit.CountsKey).map(Json.readTree)
    MergeCounts.all.flatMap { count =>
      json.flatMap(node => Option(node.get(count.name))).map(node => count.name -> node.asLong)
    }.toMap
  }

  def snake(name: String): String = name.replaceAll("([A-Z])", "_$1").toLowerCase(java.util.Locale.ROOT)
}
