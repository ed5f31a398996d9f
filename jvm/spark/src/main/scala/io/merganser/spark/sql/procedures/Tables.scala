package io.merganser.spark.sql.procedures

import io.merganser.merge.MerganserException
import io.merganser.spark.frame.EmptyTable
import io.merganser.spark.service.{PreviewedStep, ServicePreviews, ServiceScope, UpgradeService}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.source.{NamedTables, TableNames}
import io.merganser.spark.write.place.IndexResolver
import io.merganser.table.file.LogFile
import io.merganser.table.rule.MergeMode
import io.merganser.table.slice.FileSlice
import io.merganser.table.timeline.AsOf
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

import java.util.Locale
import scala.util.control.NonFatal

/**
 * CALL create_table(path => …, columns => …, options => …): an empty table at a path, without a name in the catalog;
 * with `table` one that has a name there.
 */
object CreateTable extends Procedure[(OpenTable, String)] {
  override val name = "create_table"

  override val parameters = Seq(
    Parameter("path", StringType, "path of the new table; default if the table has a name: the catalog chooses it"),
    Parameter("columns", StringType, "columns of the table, as in CREATE TABLE, or the JSON of a schema",
      isRequired = true),
    Parameter.options,
    Parameter("table", StringType, "name of the new table in a catalog, as in CREATE TABLE"),
    Parameter("partitions", StringType, "partitions of a table with a name, as in PARTITIONED BY", default = Some("")),
    Parameter.flag("if_not_exists", "true: does nothing if a table of that name exists")
  )

  override val columns = DescribeTable.columns

  override def run(session: SparkSession, arguments: Arguments): Seq[(OpenTable, String)] = {
    val columns  = schema(arguments, arguments.required("columns"))
    val settings = arguments.options("options")
    val place = (arguments.string("path"), arguments.string("table")) match {
      case (folder, Some(named)) =>
        NamedTables.create(session, named, columns, arguments.string("partitions").getOrElse(""), folder,
          arguments.flag("if_not_exists"), settings)
        TableNames.pathOf(session, named)
      case (Some(folder), None) =>
        EmptyTable.create(session, OpenTable.absolute(session, folder), columns, settings)
        OpenTable.absolute(session, folder)
      case _ => throw MerganserException("CALL_TABLE_OR_PATH", "procedure" -> name)
    }
    Seq(OpenTable.load(session, place) -> place)
  }

  /** @param text of the argument `columns` */
  def schema(
      arguments: Arguments,
      text: String,
      allowed: String = "columns as in CREATE TABLE, or the JSON of a schema"
  ): StructType =
    try if (text.trim.startsWith("{")) DataType.fromJson(text).asInstanceOf[StructType] else StructType.fromDDL(text)
    catch { case NonFatal(e) => throw arguments.invalid("columns", text, allowed).causedBy(e) }
}

/** CALL describe_table(table => … | path => …): what a table stores about itself, in one row. */
object DescribeTable extends Procedure[(OpenTable, String)] {
  override val name = "describe_table"

  override val parameters = Seq(Parameter.table, Parameter.path)

  private val stored = ResultColumns[OpenTable](
    string("type", _.config.tableType.name),
    int("version", _.config.version),
    strings("record_key_fields", _.config.recordKeyFields),
    strings("partition_fields", _.config.partitionFields),
    strings("ordering_fields", _.config.orderingFields),
    string("merge_mode", table => MergeMode.of(table.config).name),
    string("index", IndexResolver.nameOf(_).orNull),
    string("schema", _.schema.json),
    string("merge_rule", _.config.rule.map(_.text).orNull),
    strings("added_columns", table => table.schema.fieldNames.filter(table.timeline.addedColumns).toSeq)
  )

  /** With the path that names the table. */
  override val columns = ResultColumns[(OpenTable, String)](
    string("name", _._1.config.name), string("path", _._2), stored.of(_._1))

  override def run(session: SparkSession, arguments: Arguments): Seq[(OpenTable, String)] = {
    val path = arguments.tablePath(session)
    Seq(OpenTable.load(session, path) -> path)
  }
}

/** CALL show_table_properties(table => … | path => …): the table's hoodie.properties. */
object ShowTableProperties extends TableProcedure[(String, String)] {
  override val name = "show_table_properties"

  override val parameters = Seq(Parameter.table, Parameter.path, Parameter.limit(10), Parameter.filter)

  override val columns = ResultColumns[(String, String)](string("key", _._1), string("value", _._2))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[(String, String)] =
    table.config.properties.toSeq.sorted
}

/** CALL show_fsview_latest(table => … | path => …): the newest slice of every file group. */
object ShowFileSlices extends LazyTableProcedure[FileSlice] {
  override val name = "show_fsview_latest"

  override val parameters = Seq(
    Parameter.table,
    Parameter.path,
    Parameter("max_instant", StringType, "show the slices as of this instant"),
    Parameter.limit(10),
    Parameter.filter,
    Parameter("partition_path", StringType, "show the slices of this partition path")
  )

  override val columns = ResultColumns[FileSlice](
    string("partition", _.partitionPath),
    string("file_id", _.fileId),
    string("base_instant", _.baseInstant),
    string("data_file", _.base.map(_.name).orNull),
    long("data_file_size", _.base.map(b => Long.box(b.sizeBytes)).orNull),
    long("num_delta_files", _.logs.size.toLong),
    long("total_delta_file_size", _.logs.map(_.sizeBytes).sum),
    nestedSeq("delta_files", ResultColumns[LogFile](string("name", _.name), long("size", _.sizeBytes)), _.logs)
  )

  override protected def values(table: OpenTable, arguments: Arguments): Iterator[FileSlice] = {
    val view = arguments.string("max_instant").map(AsOf.instant(table.config, _)).fold(table)(instant =>
      new OpenTable(table.storage, table.config, table.timeline.asOf(instant))).view
    arguments.string("partition_path").fold(view.slicesOneByOne(most(arguments)))(partition =>
      view.slices(partition).iterator)
  }
}

/** CALL upgrade_table(table => … | path => …, to_version => 'NINE') */
object UpgradeTable extends Procedure[Option[Seq[PreviewedStep]]] {
  override val name = "upgrade_table"

  override val parameters =
    Seq(Parameter.table, Parameter("to_version", StringType, "version to upgrade to", default = Some("NINE")),
      Parameter.path,
      Parameter.dryRun(", and `steps` are those of dry_run_service(service => 'upgrade')"))

  /** Of the steps of a dry run; none where it is done. */
  override val columns = ResultColumns[Option[Seq[PreviewedStep]]](
    boolean("result", _.isEmpty), strings("steps", _.map(_.map(_.toString)).orNull))

  override val preview =
    Some(Preview("upgrade", "rows")((scope, given) => ServicePreviews.upgrade(scope, Preview.rows(given))))

  override def run(session: SparkSession, arguments: Arguments): Seq[Option[Seq[PreviewedStep]]] = {
    val path = arguments.tablePath(session)
    arguments.string("to_version").filterNot(v => v.toUpperCase(Locale.ROOT) == "NINE" || v == "9")
      .foreach(other => throw arguments.invalid("to_version", other, "NINE"))
    if (arguments.isDryRun) {
      val table = OpenTable.load(session, path)
      val own   = arguments.settings(session, table, Map.empty)
      Seq(Some(ServicePreviews.upgrade(ServiceScope(session, table, own), Preview.Rows)))
    } else {
      UpgradeService.run(session, path, Map.empty)
      Seq(None)
    }
  }
}
