package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{PropertiesService, RepairService, ServicePreviews}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.service.{OrphanFile, PartitionFolder, PartitionForm, PropertiesSource, PropertyChange}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

/** CALL show_orphan_files(table => … | path => …): data files that no commit names. */
object ShowOrphanFiles extends TableProcedure[OrphanFile] {
  override val name = "show_orphan_files"

  override val parameters = Seq(Parameter.table, OrphanColumns.olderThan, Parameter.path)

  override val columns = OrphanColumns.all

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[OrphanFile] =
    OrphanColumns.absolute(table, RepairService.orphans(table, arguments.time("older_than")))
}

/** CALL remove_orphan_files(table => … | path => …): deletes data files that no commit names. */
object RemoveOrphanFiles extends TableProcedure[OrphanFile] {
  override val name = "remove_orphan_files"

  override val parameters = Seq(
    Parameter.table,
    OrphanColumns.olderThan,
    Parameter.flag("dry_run", "true: nothing is deleted"),
    Parameter("backup_path", StringType, "folder outside the table to which the files are copied first"),
    Parameter.path,
    Parameter.options
  )

  override val columns = OrphanColumns.all

  override val measures = Seq("size_in_bytes")

  override val preview = Some(Preview("remove_orphans", "older_than")((scope, given) =>
      ServicePreviews.removedOrphans(scope.table, given.time("older_than"))))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[OrphanFile] = {
    val settings  = arguments.settings(session, table)
    val olderThan = arguments.time("older_than")
    val files =
      if (arguments.isDryRun) RepairService.orphans(table, olderThan)
      else RepairService.removeOrphans(table, settings, olderThan, arguments.string("backup_path").filter(_.nonEmpty))
    OrphanColumns.absolute(table, files)
  }
}

/** The columns of orphan files in results: Iceberg's, and what they were found by. */
private object OrphanColumns extends ResultColumnTypes {

  val olderThan: Parameter = Parameter("older_than", TimestampType,
    "files modified after this time are kept; default: three days ago")

  val all: ResultColumns[OrphanFile] = ResultColumns(
    string("orphan_file_location", _.path),
    long("size_in_bytes", _.sizeBytes),
    long("last_modified", _.modifiedMs),
    string("instant", _.instant),
    string("reason", _.reason)
  )

  def absolute(table: OpenTable, files: Seq[OrphanFile]): Seq[OrphanFile] =
    files.map(file => file.copy(path = table.storage.path(file.path).toString))
}

/** CALL repair_add_partition_meta(table => … | path => …): adds missing partition metadata files. */
object RepairAddPartitionMeta extends TableProcedure[PartitionFolder] {
  override val name = "repair_add_partition_meta"

  override val parameters = Seq(Parameter.table, Parameter.dryRunUnlessFalse, Parameter.path, Parameter.options)

  override val columns = ResultColumns[PartitionFolder](
    string("partition_path", _.path),
    string("metadata_is_present", folder => if (folder.hasMetadata) "Yes" else "No"),
    string("action", folder => if (folder.isRepaired) "Repaired" else "None")
  )

  override val preview = Some(Preview("repair_partitions")((scope, _) => ServicePreviews.repairedPartitions(scope)))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[PartitionFolder] =
    RepairService.partitions(table, arguments.settings(session, table)).add(arguments.isDryRun)
}

/** CALL repair_migrate_partition_meta(table => … | path => …): text files of partitions become Parquet files. */
object RepairMigratePartitionMeta extends TableProcedure[(PartitionForm, Boolean)] {
  override val name = "repair_migrate_partition_meta"

  override val parameters = Seq(Parameter.table, Parameter.dryRunUnlessFalse, Parameter.path, Parameter.options)

  /** With whether it is a dry run. */
  override val columns = ResultColumns[(PartitionForm, Boolean)](
    string("partition_path", _._1.path),
    string("text_metafile_present", _._1.hasText.toString),
    string("base_metafile_present", _._1.hasParquet.toString),
    string("action", form => if (!form._1.isMigrated) "NONE" else if (form._2) "MIGRATE" else "MIGRATED")
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments) =
    RepairService.partitions(table, arguments.settings(session, table)).migrate(arguments.isDryRun)
      .map(_ -> arguments.isDryRun)
}

/** CALL repair_corrupted_clean_files(table => … | path => …): removes pending cleans that cannot be read. */
object RepairCorruptedCleanFiles extends TableProcedure[Seq[String]] {
  override val name = "repair_corrupted_clean_files"

  override val parameters = Seq(Parameter.table, Parameter.path, Parameter.options)

  override val columns = ResultColumns[Seq[String]](boolean("result", _ => true), strings("removed", identity))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Seq[String]] =
    Seq(RepairService.cleanFiles(table, arguments.settings(session, table)).run())
}

/** CALL show_invalid_parquet(path => …): base files that are not Parquet files. */
object ShowInvalidParquet extends TableProcedure[String] {
  override val name = "show_invalid_parquet"

  override val parameters = Seq(Parameter.path, Parameter.limit(100), Parameter.filter, Parameter.table)

  override val columns = ResultColumns[String](string("path", identity))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[String] =
    RepairService.invalidBaseFiles(table)
}

/** CALL repair_overwrite_hoodie_props(table => … | path => …, new_props_file_path => …). */
object RepairOverwriteHoodieProps extends Procedure[PropertyChange] {
  override val name = "repair_overwrite_hoodie_props"

  override val parameters = Seq(
    Parameter.table,
    Parameter("new_props_file_path", StringType, "file with all of the table's properties", isRequired = true),
    Parameter.path
  )

  override val columns = ResultColumns[PropertyChange](
    string("property", _.key),
    string("old_value", _.before.orNull),
    string("new_value", _.after.orNull)
  )

  override protected def run(session: SparkSession, arguments: Arguments): Seq[PropertyChange] =
    PropertiesService.overwrite(session, arguments.tablePath(session), arguments.required("new_props_file_path"))
}

/** CALL repair_properties(table => … | path => …): restores lost or damaged properties. */
object RepairProperties extends Procedure[(PropertyChange, PropertiesSource)] {
  override val name = "repair_properties"

  override val parameters = Seq(
    Parameter.table,
    Parameter.dryRun(""),
    Parameter.path,
    Parameter("options", Parameter.OptionsType, "properties to set, as 'key=value,key=value' or a map")
  )

  override val columns = ResultColumns[(PropertyChange, PropertiesSource)](
    RepairOverwriteHoodieProps.columns.of(_._1), string("source", _._2.name))

  override val preview = Some(Preview("repair_properties")((scope, _) => ServicePreviews.repairedProperties(scope)))

  override protected def run(session: SparkSession, arguments: Arguments) = {
    val (source, changes) = PropertiesService.restore(session, arguments.tablePath(session),
      arguments.options("options"), arguments.isDryRun)
    changes.map(_ -> source)
  }
}
