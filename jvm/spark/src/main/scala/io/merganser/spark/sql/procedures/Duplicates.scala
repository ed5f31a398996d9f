package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{DuplicateCopy, DuplicateRepair, ServicePreviews}
import io.merganser.spark.snapshot.OpenTable
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

import java.util.Locale

/**
 * CALL repair_deduplicate(table => … | path => …, dry_run => false): merges the rows of keys that are stored more than
 * once.
 */
object RepairDeduplicate extends TableProcedure {
  override val name = "repair_deduplicate"

  private val Types = Seq("insert_type", "update_type", "upsert_type")

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter("duplicated_partition_path", StringType, "the one partition to repair; without it, all"),
    Parameter("repaired_output_path", StringType, "refused: the table itself is repaired"),
    DryRunArgument.first,
    Parameter("dedupe_type", StringType, "accepted for Hudi's callers; the table's merge rule decides"),
    Parameter.path,
    Parameter.options,
    Parameter("limit", IntegerType, "dry_run: most copies to return", default = Some("100"))
  )

  override val measures: Seq[String] = Seq("keys", "rows", "files_written", "bytes_written")

  override val result: StructType = Procedure.columns(
    "result" -> StringType,
    "instant" -> StringType,
    "keys" -> LongType,
    "rows" -> LongType,
    "files_written" -> IntegerType,
    "bytes_written" -> LongType,
    "elapsed_ms" -> LongType,
    "copies" -> ArrayType(Procedure.columns("record_key" -> StringType, "partition_path" -> StringType,
        "file_id" -> StringType, "commit_time" -> StringType, "wins" -> BooleanType, "row" -> StringType))
  )

  override val preview: Option[Preview] = Some(Preview("repair_duplicates", "partition", "rows")((scope, given) =>
      ServicePreviews.repairedDuplicates(scope, given.string("partition"), Preview.rows(given))))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    arguments.string("repaired_output_path").filter(_.nonEmpty).foreach(folder =>
      throw arguments.invalid("repaired_output_path", folder, "no folder: the table itself is repaired"))
    arguments.string("dedupe_type").filterNot(t => Types.contains(t.toLowerCase(Locale.ROOT))).foreach(other =>
      throw arguments.invalid("dedupe_type", other, Types.mkString(", ")))
    val scope     = arguments.scope(session, table).keyed
    val partition = arguments.string("duplicated_partition_path")
    if (DryRunArgument.of(arguments)) {
      val found = DuplicateRepair.preview(scope, partition, arguments.limit(this).get)
      Seq(Row(text(found.keys, found.copies, "would be"), null, found.keys, found.copies, null, null, null,
          found.rows.map(row)))
    } else {
      val done = DuplicateRepair.run(scope, partition)
      val (files, bytes, ms) =
        done.write.fold((0, 0L, 0L))(w => (w.filesWritten, w.bytesWritten, w.elapsedMs))
      Seq(Row(text(done.keys, done.copies, "were"), done.write.map(_.instant).orNull, done.keys, done.copies, files,
          bytes, ms, null))
    }
  }

  private def text(keys: Long, copies: Long, verb: String): String =
    if (keys == 0) "No key is stored more than once."
    else s"$copies rows of $keys keys $verb merged into one row each."

  private def row(copy: DuplicateCopy): Row = Row(copy.key, copy.partitionPath, copy.fileId, copy.commitTime.orNull,
    copy.wins, copy.row)
}
