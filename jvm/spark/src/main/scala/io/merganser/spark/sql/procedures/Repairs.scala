package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{PropertiesService, RepairService, ServicePreviews}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.service.{OrphanFile, PropertyChange}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/** CALL show_orphan_files(table => … | path => …): data files that no commit names. */
object ShowOrphanFiles extends TableProcedure {
  override val name = "show_orphan_files"

  override val parameters: Seq[Parameter] = Seq(Parameter.table, OrphanColumns.olderThan, Parameter.path)

  override val result: StructType = OrphanColumns.result

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] =
    RepairService.orphans(table, arguments.time("older_than")).map(OrphanColumns.row(table, _))
}

/** CALL remove_orphan_files(table => … | path => …): deletes data files that no commit names. */
object RemoveOrphanFiles extends TableProcedure {
  override val name = "remove_orphan_files"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    OrphanColumns.olderThan,
    Parameter("dry_run", BooleanType, "true: nothing is deleted", default = Some("false")),
    Parameter("backup_path", StringType, "folder outside the table to which files are copied before"),
    Parameter.path,
    Parameter.options
  )

  override val result: StructType = OrphanColumns.result

  override val measures: Seq[String] = Seq("size_in_bytes")

  override val preview: Option[Preview] = Some(Preview("remove_orphans", "older_than")((scope, given) =>
      ServicePreviews.removedOrphans(scope.table, given.time("older_than"))))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val settings  = arguments.settings(session, table)
    val olderThan = arguments.time("older_than")
    val files =
      if (arguments.boolean("dry_run").contains(true)) RepairService.orphans(table, olderThan)
      else RepairService.removeOrphans(table, settings, olderThan, arguments.string("backup_path").filter(_.nonEmpty))
    files.map(OrphanColumns.row(table, _))
  }
}

/** The columns of orphan files in results: Iceberg's, and what they were found by. */
private object OrphanColumns {

  val olderThan: Parameter = Parameter("older_than", TimestampType,
    "files modified later are kept; without it, those of the last three days")

  val result: StructType = Procedure.columns(
    "orphan_file_location" -> StringType,
    "size_in_bytes" -> LongType,
    "last_modified" -> LongType,
    "instant" -> StringType,
    "reason" -> StringType
  )

  def row(table: OpenTable, file: OrphanFile): Row =
    Row(table.storage.path(file.path).toString, file.sizeBytes, file.modifiedMs, file.instant,
      file.reason)
}

/** CALL repair_add_partition_meta(table => … | path => …): adds missing partition metadata files. */
object RepairAddPartitionMeta extends TableProcedure {
  override val name = "repair_add_partition_meta"

  override val parameters: Seq[Parameter] =
    Seq(Parameter.table, DryRunArgument.first, Parameter.path, Parameter.options)

  override val result: StructType = Procedure.columns(
    "partition_path" -> StringType,
    "metadata_is_present" -> StringType,
    "action" -> StringType
  )

  override val preview: Option[Preview] =
    Some(Preview("repair_partitions")((scope, _) => ServicePreviews.repairedPartitions(scope)))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] =
    RepairService.partitions(table, arguments.settings(session, table)).add(DryRunArgument.of(arguments)).map {
      folder =>
        Row(folder.path, if (folder.hasMetadata) "Yes" else "No", if (folder.isRepaired) "Repaired" else "None")
    }
}

/** CALL repair_migrate_partition_meta(table => … | path => …): text files of partitions become Parquet files. */
object RepairMigratePartitionMeta extends TableProcedure {
  override val name = "repair_migrate_partition_meta"

  override val parameters: Seq[Parameter] =
    Seq(Parameter.table, DryRunArgument.first, Parameter.path, Parameter.options)

  override val result: StructType = Procedure.columns(
    "partition_path" -> StringType,
    "text_metafile_present" -> StringType,
    "base_metafile_present" -> StringType,
    "action" -> StringType
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val isDry = DryRunArgument.of(arguments)
    RepairService.partitions(table, arguments.settings(session, table)).migrate(isDry).map { form =>
      val action = if (!form.isMigrated) "NONE" else if (isDry) "MIGRATE" else "MIGRATED"
      Row(form.path, form.hasText.toString, form.hasParquet.toString, action)
    }
  }
}

/** CALL repair_corrupted_clean_files(table => … | path => …): removes pending cleans that cannot be read. */
object RepairCorruptedCleanFiles extends TableProcedure {
  override val name = "repair_corrupted_clean_files"

  override val parameters: Seq[Parameter] = Seq(Parameter.table, Parameter.path, Parameter.options)

  override val result: StructType = Procedure.columns("result" -> BooleanType, "removed" -> ArrayType(StringType))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] =
    Seq(Row(true, RepairService.cleanFiles(table, arguments.settings(session, table)).run()))
}

/** CALL show_invalid_parquet(path => …): base files that are no Parquet files. */
object ShowInvalidParquet extends TableProcedure {
  override val name = "show_invalid_parquet"

  override val parameters: Seq[Parameter] =
    Seq(Parameter.path, Parameter.limit(100), Parameter.filter, Parameter.table)

  override val result: StructType = Procedure.columns("path" -> StringType)

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] =
    RepairService.invalidBaseFiles(table).map(Row(_))
}

/** CALL repair_overwrite_hoodie_props(table => … | path => …, new_props_file_path => …). */
object RepairOverwriteHoodieProps extends Procedure {
  override val name = "repair_overwrite_hoodie_props"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter("new_props_file_path", StringType, "file with all of the table's properties", isRequired = true),
    Parameter.path
  )

  override val result: StructType = PropertyColumns.result

  override protected def run(session: SparkSession, arguments: Arguments): Seq[Row] =
    PropertiesService.overwrite(session, arguments.tablePath(session), arguments.required("new_props_file_path"))
      .map(PropertyColumns.row)
}

/** CALL repair_properties(table => … | path => …): restores lost or damaged properties. */
object RepairProperties extends Procedure {
  override val name = "repair_properties"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter("dry_run", BooleanType, "true: nothing is changed", default = Some("false")),
    Parameter.path,
    Parameter("options", Parameter.OptionsType, "properties to set, as 'key=value,key=value' or a map")
  )

  override val result: StructType = StructType(PropertyColumns.result ++ Procedure.columns("source" -> StringType))

  override val preview: Option[Preview] =
    Some(Preview("repair_properties")((scope, _) => ServicePreviews.repairedProperties(scope)))

  override protected def run(session: SparkSession, arguments: Arguments): Seq[Row] = {
    val (source, changes) = PropertiesService.restore(session, arguments.tablePath(session),
      arguments.options("options"), arguments.boolean("dry_run").contains(true))
    changes.map(change => Row.fromSeq(PropertyColumns.row(change).toSeq :+ source.name))
  }
}

/** The columns of properties in results. */
private object PropertyColumns {

  val result: StructType =
    Procedure.columns("property" -> StringType, "old_value" -> StringType, "new_value" -> StringType)

  def row(change: PropertyChange): Row = Row(change.key, change.before.orNull, change.after.orNull)
}

/** `dry_run` of Hudi's repairs. */
private object DryRunArgument {

  val first: Parameter =
    Parameter("dry_run", BooleanType, "false: the table is changed; else the result shows what would be",
      default = Some("true"))

  def of(arguments: Arguments): Boolean = !arguments.boolean("dry_run").contains(false)
}
