package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{PreviewedStep, ServicePreviews}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.options.{LayoutStrategy, OptionKind}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/** CALL dry_run_service(service => …, table => … | path => …): what a service would do now. Nothing is changed. */
object DryRunOfService extends TableProcedure {
  override val name = "dry_run_service"

  private val names = ServicePreviews.parameters.keys.toSeq.sorted

  /** Names of the procedures that run them. */
  private val procedures: Map[String, String] = Map(
    RunCompaction.name -> "compaction",
    RunLogCompaction.name -> "log_compaction",
    RunClustering.name -> "clustering",
    RunClean.name -> "clean",
    ArchiveCommits.name -> "archiving",
    CreateSavepoint.name -> "savepoint",
    RestoreToInstant.name -> "restore",
    RollbackToSavepoint.name -> "restore_savepoint",
    RollbackToInstant.name -> "rollback",
    UpgradeTable.name -> "upgrade",
    RepairDeduplicate.name -> "repair_duplicates",
    RepairAddPartitionMeta.name -> "repair_partitions",
    RemoveOrphanFiles.name -> "remove_orphans"
  )

  override val parameters: Seq[Parameter] = Seq(
    Parameter("service", StringType, s"${names.mkString(", ")}; or the procedure that runs it", isRequired = true),
    Parameter.table,
    Parameter("instant", StringType, "of a savepoint, a restore or a rollback: as of its own procedure"),
    Parameter("partition", StringType, "of repair_duplicates: path of the one partition"),
    Parameter("rows", IntegerType, "of restores, rollbacks, repair_duplicates and upgrade: most rows to show"),
    OrphanColumns.olderThan,
    Parameter("min_commits", IntegerType, "of archiving: completed writes that stay"),
    Parameter("max_commits", IntegerType, "of archiving: completed writes above which others are moved"),
    Parameter("order", StringType, "of clustering: columns to sort by, comma separated"),
    Parameter("order_strategy", StringType, "of clustering: linear, z-order or hilbert"),
    Parameter("predicate", StringType, "of clustering: condition on partition columns"),
    Parameter.path,
    Parameter.filter,
    Parameter.options
  )

  override val measures: Seq[String] = Seq("files", "bytes")

  override val result: StructType = Procedure.columns(
    "action" -> StringType,
    "item" -> StringType,
    "partition_path" -> StringType,
    "files" -> IntegerType,
    "bytes" -> LongType,
    "detail" -> StringType,
    "before" -> StringType,
    "after" -> StringType
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val named   = arguments.required("service").toLowerCase(java.util.Locale.ROOT)
    val service = procedures.getOrElse(named, named)
    val own = ServicePreviews.parameters.getOrElse(service,
      throw arguments.invalid("service", service, names.mkString(", ")))
    val values = Seq("instant", "partition", "order", "order_strategy", "predicate").flatMap(n =>
      arguments.string(n).map(n -> _)) ++
      Seq("min_commits", "max_commits", "rows").flatMap(n => arguments.int(n).map(v => n -> v.toString)) ++
      arguments.time("older_than").map(millis => "older_than" -> millis.toString)
    values.find { case (parameter, _) => !own.contains(parameter) }.foreach { case (parameter, value) =>
      throw arguments.invalid(parameter, value, s"none: $service has no such argument")
    }
    arguments.int("rows").filter(_ < 0).foreach(n => throw arguments.invalid("rows", n.toString, "0 or more"))
    val configured = arguments.settings(session, table)
    val settings   = if (service == "clustering") clustering(session, table, arguments, configured) else configured
    ServicePreviews.of(session, table, settings, service, values.toMap).map(row)
  }

  private def clustering(
      session: SparkSession,
      table: OpenTable,
      arguments: Arguments,
      configured: io.merganser.table.settings.WriteConfig
  ) = ClusteringArguments(configured, arguments.string("order").toSeq.flatMap(OptionKind.NameList.split),
    arguments.string("order_strategy").map(name =>
      LayoutStrategy.parse(name).getOrElse(
        throw arguments.invalid("order_strategy", name, "linear, z-order or hilbert"))), None, None,
    arguments.string("predicate").map(ClusteringArguments.partitions(session, table, _)))

  private def row(step: PreviewedStep): Row =
    Row(step.action, step.item, step.partitionPath.orNull, step.files, step.bytes, step.detail,
      step.before.orNull, step.after.orNull)
}
