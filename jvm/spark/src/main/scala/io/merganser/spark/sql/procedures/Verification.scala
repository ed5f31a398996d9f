package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{VerifyReport, VerifyService}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.file.FileNames
import io.merganser.table.verify.{Finding, FindingKind}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/** CALL verify_table(table => … | path => …): what is wrong with a table, and how it is repaired. */
object VerifyTable extends TableProcedure[Row] {
  override val name = "verify_table"

  override val parameters = Seq(
    Parameter.table,
    Parameter("sample", IntegerType, "maximum number of file groups whose rows are read",
      default = Some(VerifyService.DefaultGroups.toString)),
    Parameter.path,
    Parameter.filter,
    Parameter.options,
    Parameter.flag("repair",
      "true: partition metadata, keys in several places and uncommitted files are repaired first")
  )

  override val columns = ResultColumns.ofRows(
    "check" -> StringType,
    "problems" -> LongType,
    "partition_path" -> StringType,
    "file_id" -> StringType,
    "file" -> StringType,
    "key" -> StringType,
    "detail" -> StringType,
    "remedy" -> StringType,
    "examined" -> IntegerType,
    "total" -> IntegerType,
    "file_groups" -> ArrayType(StringType)
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val sample = arguments.int("sample", least = 1)
    val scope  = arguments.scope(session, table)
    val report =
      if (arguments.flag("repair")) VerifyService.repair(scope, sample)
      else VerifyService.verify(scope.keyed, sample)
    groups(report) +: FindingKind.all.flatMap { kind =>
      val found = report.findings.filter(_.kind == kind)
      if (found.isEmpty) Seq(Row(kind.name, 0L, null, null, null, null, null, null, null, null, null))
      else found.map(row(table, _))
    }
  }

  /** How much of the table was examined. */
  private def groups(report: VerifyReport): Row = {
    val isWhole = report.examined.size == report.total
    val names   = report.examined.map(group => FileNames.path(group.partitionPath, group.fileId))
    val read    = s"the rows of ${if (isWhole) "all" else s"${names.size} of"} ${report.total} file groups were read"
    val detail  = (read +: report.notes).mkString("; ")
    Row("file_groups", 0L, null, null, null, null, detail, null, names.size, report.total, if (isWhole) null else names)
  }

  private def row(table: OpenTable, finding: Finding): Row = {
    def shown(text: String): String = if (text.isEmpty) null else text
    Row(finding.kind.name, finding.problems, finding.partitionPath, shown(finding.fileId),
      shown(finding.file.stripPrefix(s"${table.storage.basePath}/")), finding.key.orNull, finding.detail,
      remedy(table, finding.kind), null, null, null)
  }

  private def remedy(table: OpenTable, kind: FindingKind): String = {
    def call(procedure: String, more: String) =
      s"CALL $procedure(path => '${table.storage.basePath.toString.replace("'", "\\'")}'$more)"
    kind match {
      case FindingKind.UncommittedFile   => call("remove_orphan_files", ", older_than => current_timestamp()")
      case FindingKind.PartitionMetadata => call("repair_add_partition_meta", ", dry_run => false")
      case FindingKind.DuplicateKey | FindingKind.OtherBucket => call("repair_deduplicate", ", dry_run => false")
      case FindingKind.MissingFile | FindingKind.UnreadableFile =>
        s"restore the file from a copy; else ${call("restore_to_instant", ", instant_time => '<a write before it>'")}"
      case FindingKind.RecordCount | FindingKind.KeyStatistics =>
        "restore the file from a copy; else INSERT OVERWRITE the partition by its own rows, which writes new files"
      case FindingKind.NullKey | FindingKind.OtherKey | FindingKind.OtherPartition | FindingKind.MetaColumns =>
        "INSERT OVERWRITE the partition by its own rows, with correct key and partition columns"
      case FindingKind.Replay => "check the merger's laws; compact once its rows are right: the paths then read one row"
    }
  }
}
