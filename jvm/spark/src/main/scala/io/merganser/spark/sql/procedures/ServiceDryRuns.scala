package io.merganser.spark.sql.procedures

import io.merganser.spark.service.PreviewedStep
import io.merganser.spark.snapshot.OpenTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

/** CALL dry_run_service(service => …, table => … | path => …): what a service would do now. Nothing is changed. */
final class DryRunOfService(all: => Seq[Procedure[_]]) extends TableProcedure[PreviewedStep] {
  override val name = "dry_run_service"

  private lazy val previews: Seq[Preview] = all.flatMap(_.preview)

  private lazy val names = previews.map(_.service).sorted

  override lazy val parameters: Seq[Parameter] = Seq(
    Parameter("service", StringType, s"${names.mkString(", ")}; or the procedure that runs it", isRequired = true),
    Parameter.table,
    Parameter("instant", StringType, "of a savepoint, a restore or a rollback: the instant, as for its own procedure"),
    Parameter("partition", StringType, "of repair_duplicates: path of a partition: only this one is repaired"),
    Parameter("rows", IntegerType,
      "of restores, rollbacks, repair_duplicates and upgrade: maximum number of rows to show"),
    OrphanColumns.olderThan,
    Parameter("min_commits", IntegerType, "of archiving: number of completed writes that stay"),
    Parameter("max_commits", IntegerType, "of archiving: number of completed writes above which old ones are archived"),
    Parameter("order", StringType, "of clustering: columns to sort by, comma separated"),
    Parameter("order_strategy", StringType, "of clustering: linear, z-order or hilbert"),
    Parameter("predicate", StringType, "of clustering: condition on partition columns"),
    Parameter.path,
    Parameter.filter,
    Parameter.options
  )

  override val measures = Seq("files", "bytes")

  override val columns = ResultColumns[PreviewedStep](
    string("action", _.action),
    string("item", _.item),
    string("partition_path", _.partitionPath.orNull),
    int("files", _.files),
    long("bytes", _.bytes),
    string("detail", _.detail),
    string("before", _.before.orNull),
    string("after", _.after.orNull)
  )

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[PreviewedStep] = {
    val named   = arguments.required("service").toLowerCase(java.util.Locale.ROOT)
    val service = all.find(_.name == named).flatMap(_.preview).fold(named)(_.service)
    val preview = previews.find(_.service == service).getOrElse(
      throw arguments.invalid("service", service, names.mkString(", ")))
    arguments.all.filterNot(a => Common(a._1) || preview.parameters.contains(a._1)).headOption.foreach {
      case (parameter, value) =>
        throw arguments.invalid(parameter, value, s"none: $service has no such argument")
    }
    arguments.int("rows", least = 0)
    preview.steps(arguments.scope(session, table), arguments)
  }

  /** Parameters that every service takes. */
  private val Common =
    Seq(Parameter.table, Parameter.path, Parameter.filter, Parameter.options).map(_.name).toSet + "service"
}
