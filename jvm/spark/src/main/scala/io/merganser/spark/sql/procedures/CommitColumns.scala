package io.merganser.spark.sql.procedures

import io.merganser.merge.Json
import io.merganser.merge.buffer.MergeCounts
import io.merganser.spark.write.{TableCommit, WriteNotes}
import io.merganser.table.timeline.{CommitMetadata, InstantTime}
import org.apache.spark.sql.types._

import java.time.temporal.ChronoUnit

/** The metadata of our commits as result columns: operation, counts in rows, files, bytes, and milliseconds. */
private[procedures] object CommitColumns {

  /** Names and types of the counts. */
  val counts: Seq[(String, DataType)] = MergeCounts.all.map(_.column -> LongType)

  /** Names and types of the totals over the files of a commit. */
  val sums: Seq[(String, DataType)] =
    Seq("files_written" -> IntegerType, "rows_written" -> LongType, "bytes_written" -> LongType,
      "elapsed_ms" -> LongType)

  /** Names and types of the notes on a write: what the user should know beside its counts. */
  val notes: Seq[(String, DataType)] =
    WriteNotes.lists(WriteNotes()).map { case (name, _) =>
      snake(name) -> ArrayType(StringType)
    } ++ Seq("service_failure" -> StringType, "retries" -> IntegerType, "is_repetition" -> BooleanType)

  /** The values of [[notes]]. */
  def notesOf(notes: WriteNotes): Seq[Any] =
    WriteNotes.lists(notes).map(_._2) ++ Seq[Any](notes.serviceFailure.orNull, notes.retries, notes.isRepetition)

  /** The values of [[counts]]: null for commits without them, such as those of other engines. */
  def countsOf(metadata: Option[CommitMetadata]): Seq[Any] = {
    val json = metadata.flatMap(_.extra.get(TableCommit.CountsKey)).map(Json.readTree)
    MergeCounts.all.map { count =>
      json.flatMap(node => Option(node.get(count.name))).map(node => Long.box(node.asLong)).orNull
    }
  }

  /** The values of [[sums]]; null for anything but a completed write. */
  def sumsOf(metadata: Option[CommitMetadata], requested: String, completed: Option[String]): Seq[Any] = {
    val elapsed = for {
      from <- InstantTime.parse(requested)
      to   <- completed.flatMap(InstantTime.parse)
    } yield Long.box(ChronoUnit.MILLIS.between(from, to))
    val files = metadata.fold(Seq[Any](null, null, null)) { m =>
      Seq[Any](m.allStats.size, m.allStats.map(_.numWrites).sum, m.allStats.map(_.totalWriteBytes).sum)
    }
    files :+ elapsed.orNull
  }

  def snake(name: String): String = name.replaceAll("([A-Z])", "_$1").toLowerCase(java.util.Locale.ROOT)
}
