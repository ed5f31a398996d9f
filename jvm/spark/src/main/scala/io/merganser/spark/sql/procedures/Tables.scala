package io.merganser.spark.sql.procedures

import io.merganser.merge.MerganserException
import io.merganser.spark.frame.EmptyTable
import io.merganser.spark.service.{ServicePreviews, ServiceScope, UpgradeService}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.source.{NamedTables, TableNames}
import io.merganser.spark.write.place.IndexResolver
import io.merganser.table.rule.MergeMode
import io.merganser.table.timeline.AsOf
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

import java.util.Locale
import scala.util.control.NonFatal

/**
 * CALL create_table(path => …, columns => …, options => …): an empty table at a path, without a name in the catalog;
 * with `table` one that has a name there.
 */
object CreateTable extends Procedure {
  override val name = "create_table"

  override val parameters: Seq[Parameter] = Seq(
    Parameter("path", StringType, "path of the new table; with a name by default the one that the catalog chooses"),
    Parameter("columns", StringType, "its columns, as in CREATE TABLE, or as the JSON of a schema", isRequired = true),
    Parameter.options,
    Parameter("table", StringType, "name of the new table in a catalog, as in CREATE TABLE"),
    Parameter("partitions", StringType, "of a table with a name, as in PARTITIONED BY", default = Some("")),
    Parameter("if_not_exists", BooleanType, "whether an existing table of the name is left as it is",
      default = Some("false"))
  )

  override val result: StructType = DescribeTable.result

  override def run(session: SparkSession, arguments: Arguments): Seq[Row] = {
    val columns  = schema(arguments, arguments.required("columns"))
    val settings = arguments.options("options")
    val place = (arguments.string("path"), arguments.string("table")) match {
      case (folder, Some(named)) =>
        NamedTables.create(session, named, columns, arguments.string("partitions").getOrElse(""), folder,
          arguments.boolean("if_not_exists").contains(true), settings)
        TableNames.pathOf(session, named)
      case (Some(folder), None) =>
        EmptyTable.create(session, OpenTable.absolute(session, folder), columns, settings)
        OpenTable.absolute(session, folder)
      case _ => throw MerganserException("CALL_TABLE_OR_PATH", "procedure" -> name)
    }
    Seq(DescribeTable.row(OpenTable.load(session, place), place))
  }

  /** @param text of the argument `columns` */
  def schema(arguments: Arguments, text: String): StructType =
    try
      if (text.trim.startsWith("{")) DataType.fromJson(text).asInstanceOf[StructType] else StructType.fromDDL(text)
    catch {
      case NonFatal(e) =>
        throw arguments.invalid("columns", text, "columns as in CREATE TABLE, or the JSON of a schema").causedBy(e)
    }
}

/** CALL describe_table(table => … | path => …): what a table stores about itself, in one row. */
object DescribeTable extends Procedure {
  override val name = "describe_table"

  override val parameters: Seq[Parameter] = Seq(Parameter.table, Parameter.path)

  override val result: StructType = Procedure.columns(
    "name" -> StringType,
    "path" -> StringType,
    "type" -> StringType,
    "version" -> IntegerType,
    "record_key_fields" -> ArrayType(StringType),
    "partition_fields" -> ArrayType(StringType),
    "ordering_fields" -> ArrayType(StringType),
    "merge_mode" -> StringType,
    "index" -> StringType,
    "schema" -> StringType,
    "merge_rule" -> StringType,
    "added_columns" -> ArrayType(StringType)
  )

  override def run(session: SparkSession, arguments: Arguments): Seq[Row] = {
    val path = arguments.tablePath(session)
    Seq(row(OpenTable.load(session, path), path))
  }

  def row(table: OpenTable, path: String): Row = {
    val config = table.config
    Row(config.name, path, config.tableType.name, config.version, config.recordKeyFields, config.partitionFields,
      config.orderingFields,
      MergeMode.of(config).name, IndexResolver.nameOf(table).orNull, table.schema.json,
      config.rule.map(_.text).orNull, table.schema.fieldNames.filter(table.timeline.addedColumns).toSeq)
  }
}

/** CALL show_table_properties(table => … | path => …): the table's hoodie.properties. */
object ShowTableProperties extends TableProcedure {
  override val name = "show_table_properties"

  override val parameters: Seq[Parameter] = Seq(Parameter.table, Parameter.path, Parameter.limit(10), Parameter.filter)

  override val result: StructType = Procedure.columns("key" -> StringType, "value" -> StringType)

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] =
    table.config.properties.toSeq.sorted.map { case (key, value) => Row(key, value) }
}

/** CALL show_fsview_latest(table => … | path => …): the newest slice of every file group. */
object ShowFileSlices extends LazyTableProcedure {
  override val name = "show_fsview_latest"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter.path,
    Parameter("max_instant", StringType, "show the slices as of this instant"),
    Parameter.limit(10),
    Parameter.filter,
    Parameter("partition_path", StringType, "show the slices of this partition path")
  )

  override val result: StructType = Procedure.columns(
    "partition" -> StringType,
    "file_id" -> StringType,
    "base_instant" -> StringType,
    "data_file" -> StringType,
    "data_file_size" -> LongType,
    "num_delta_files" -> LongType,
    "total_delta_file_size" -> LongType,
    "delta_files" -> ArrayType(Procedure.columns("name" -> StringType, "size" -> LongType))
  )

  override protected def rows(table: OpenTable, arguments: Arguments): Iterator[Row] = {
    val view = arguments.string("max_instant").map(AsOf.instant(table.config, _)).fold(table)(instant =>
      new OpenTable(table.storage, table.config, table.timeline.asOf(instant))).view
    val slices = arguments.string("partition_path").fold(view.slicesOneByOne(most(arguments)))(partition =>
      view.slices(partition).iterator)
    slices.map { slice =>
      Row(
        slice.partitionPath,
        slice.fileId,
        slice.baseInstant,
        slice.base.map(_.name).orNull,
        slice.base.map(b => Long.box(b.sizeBytes)).orNull,
        slice.logs.size.toLong,
        slice.logs.map(_.sizeBytes).sum,
        slice.logs.map(l => Row(l.name, l.sizeBytes))
      )
    }
  }
}

/** CALL upgrade_table(table => … | path => …, to_version => 'NINE') */
object UpgradeTable extends Procedure {
  override val name = "upgrade_table"

  override val parameters: Seq[Parameter] =
    Seq(Parameter.table, Parameter("to_version", StringType, "version to upgrade to", default = Some("NINE")),
      Parameter.path,
      Parameter("dry_run", BooleanType,
        "true: nothing is changed, and `steps` are those of dry_run_service(service => 'upgrade')",
        default = Some("false")))

  override val result: StructType = Procedure.columns("result" -> BooleanType, "steps" -> ArrayType(StringType))

  override val preview: Option[Preview] =
    Some(Preview("upgrade", "rows")((scope, given) => ServicePreviews.upgrade(scope, Preview.rows(given))))

  override def run(session: SparkSession, arguments: Arguments): Seq[Row] = {
    val path = arguments.tablePath(session)
    arguments.string("to_version").filterNot(v => v.toUpperCase(Locale.ROOT) == "NINE" || v == "9")
      .foreach(other => throw arguments.invalid("to_version", other, "NINE"))
    if (arguments.boolean("dry_run").contains(true)) {
      val table = OpenTable.load(session, path)
      val own   = arguments.settings(session, table, Map.empty)
      val steps = ServicePreviews.upgrade(ServiceScope(session, table, own), Preview.Rows)
      Seq(Row(false, steps.map(_.toString)))
    } else {
      UpgradeService.run(session, path, Map.empty)
      Seq(Row(true, null))
    }
  }
}
