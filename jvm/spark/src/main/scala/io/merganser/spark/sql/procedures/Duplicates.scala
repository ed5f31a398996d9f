package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{DuplicateCopy, DuplicatePreview, DuplicateRepair, DuplicateReport, ServicePreviews}
import io.merganser.spark.snapshot.OpenTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

import java.util.Locale

/**
 * CALL repair_deduplicate(table => … | path => …, dry_run => false): merges the rows of keys that are stored more than
 * once.
 */
object RepairDeduplicate extends TableProcedure[Either[DuplicatePreview, DuplicateReport]] {
  override val name = "repair_deduplicate"

  private val Types = Seq("insert_type", "update_type", "upsert_type")

  override val parameters = Seq(
    Parameter.table,
    Parameter("duplicated_partition_path", StringType, "the partition to repair; default: all"),
    Parameter("repaired_output_path", StringType, "refused, because the table itself is repaired"),
    Parameter.dryRunUnlessFalse,
    Parameter("dedupe_type", StringType, "accepted for compatibility with Hudi; the table's merge rule decides"),
    Parameter.path,
    Parameter.options,
    Parameter("limit", IntegerType, "dry_run: maximum number of copies to return", default = Some("100"))
  )

  override val measures = Seq("keys", "rows", "files_written", "bytes_written")

  private val copy = ResultColumns[DuplicateCopy](
    string("record_key", _.key),
    string("partition_path", _.partitionPath),
    string("file_id", _.fileId),
    string("commit_time", _.commitTime.orNull),
    boolean("wins", _.wins),
    string("row", _.row)
  )

  override val columns = ResultColumns[Either[DuplicatePreview, DuplicateReport]](
    string("result", _.fold(d => text(d.keys, d.copies, "would be"), d => text(d.keys, d.copies, "were"))),
    string("instant", _.fold(_ => null, _.write.map(_.instant).orNull)),
    long("keys", _.fold(_.keys, _.keys)),
    long("rows", _.fold(_.copies, _.copies)),
    int("files_written", _.fold(_ => null, _.write.fold(0)(_.filesWritten))),
    long("bytes_written", _.fold(_ => null, _.write.fold(0L)(_.bytesWritten))),
    long("elapsed_ms", _.fold(_ => null, _.write.fold(0L)(_.elapsedMs))),
    nestedSeq("copies", copy, _.fold(_.rows, _ => null))
  )

  override val preview = Some(Preview("repair_duplicates", "partition", "rows")((scope, given) =>
      ServicePreviews.repairedDuplicates(scope, given.string("partition"), Preview.rows(given))))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments) = {
    arguments.string("repaired_output_path").filter(_.nonEmpty).foreach(folder =>
      throw arguments.invalid("repaired_output_path", folder, "no folder: the table itself is repaired"))
    arguments.string("dedupe_type").filterNot(t => Types.contains(t.toLowerCase(Locale.ROOT))).foreach(other =>
      throw arguments.invalid("dedupe_type", other, Types.mkString(", ")))
    val scope     = arguments.scope(session, table).keyed
    val partition = arguments.string("duplicated_partition_path")
    Seq(
      if (arguments.isDryRun) Left(DuplicateRepair.preview(scope, partition, arguments.limit.get))
      else Right(DuplicateRepair.run(scope, partition)))
  }

  private def text(keys: Long, copies: Long, verb: String): String =
    if (keys == 0) "No key is stored more than once."
    else s"$copies rows of $keys keys $verb merged into one row each."
}
