package io.merganser.spark.sql.procedures

import java.util.Locale
import java.util.regex.{Pattern, PatternSyntaxException}

import io.merganser.merge.MerganserException
import io.merganser.spark.service.{ClusteringResult, ClusteringService, ServicePreviews, ServiceScope}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.source.PartitionValues
import io.merganser.table.options.{LayoutStrategy, OptionKind, PartitionFilterMode}
import io.merganser.table.settings.{ClusteringPartitions, WriteConfig}
import io.merganser.table.timeline.{Action, ClusteringPlan, Instant, InstantState, OperationType}
import org.apache.spark.sql.{AnalysisException, Row, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Columns of the procedures about clusterings. */
private[procedures] object ClusteringRow {

  val all: Seq[(String, DataType)] = Seq("timestamp" -> StringType, "input_group_size" -> IntegerType,
    "state" -> StringType, "involved_partitions" -> StringType)

  def row(instant: String, plan: Option[ClusteringPlan], state: InstantState, showsPartitions: Boolean): Seq[Any] =
    Seq(instant, plan.map(p => Int.box(p.groups.size)).orNull, state.shown,
      if (showsPartitions) plan.map(_.partitions.mkString(",")).orNull else "*")
}

/**
 * CALL run_clustering(table => … | path => …, order => …, predicate => …): plans clusterings, runs those planned, or
 * both.
 */
object RunClustering extends TableProcedure {
  override val name = "run_clustering"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter.path,
    Parameter("predicate", StringType, "condition on partition columns: only their partitions are clustered"),
    Parameter("order", StringType, "columns to sort by, comma separated"),
    Parameter("show_involved_partition", BooleanType, "whether the result has the partitions", default = Some("false")),
    Parameter("op", StringType,
      "schedule, execute (also run), scheduleandexecute, which is the default, or purge_pending_instant"),
    Parameter("order_strategy", StringType, "linear, z-order or hilbert"),
    Parameter.options,
    Parameter("instants", StringType, "the planned clusterings to run or to purge, comma separated"),
    Parameter("selected_partitions", StringType, "paths of the partitions to cluster, comma separated"),
    Parameter("partition_regex_pattern", StringType, "regular expression that matches the paths of these partitions"),
    Parameter("limit", IntegerType, "maximum number of planned clusterings to run, oldest first")
  )

  override val measures: Seq[String] = Seq("files_replaced", "files_written", "rows_written", "bytes_written")

  override val result: StructType = Procedure.columns(ClusteringRow.all ++ Seq(
      "files_replaced" -> IntegerType,
      "files_written" -> IntegerType,
      "rows_written" -> LongType,
      "bytes_written" -> LongType,
      "elapsed_ms" -> LongType,
      "left_because" -> StringType
    ): _*)

  override val preview: Option[Preview] =
    Some(Preview("clustering", "order", "order_strategy", "predicate")((scope, given) =>
        ServicePreviews.clustering(scope.copy(settings = withArguments(scope.session, scope.table, given)))))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val scope   = ServiceScope(session, table, withArguments(session, table, arguments))
    val shows   = arguments.boolean("show_involved_partition").contains(true)
    val op      = arguments.string("op")
    val named   = arguments.string("instants").toSeq.flatMap(OptionKind.NameList.split)
    val default = if (named.isEmpty) "scheduleandexecute" else "execute"
    op.getOrElse(default).toLowerCase(Locale.ROOT) match {
      case "purge_pending_instant" if named.nonEmpty =>
        purge(scope, chosen(arguments, named)(planned(table)), shows)
      case "run" | "execute" =>
        val plans = table.timeline.plannedClusterings
        shown(plans, ClusteringService.run(scope, chosen(arguments, named)(_)), shows)
      case wrong if named.nonEmpty =>
        throw arguments.invalid("op", wrong, "execute or purge_pending_instant, where instants are named")
      case "schedule" =>
        ClusteringService.schedule(scope).toSeq.flatMap { instant =>
          val plans = table.refreshed().timeline.plannedClusterings
          plans.filter(_._1.requested == instant).map { case (i, plan) => pending(i.requested, plan, i.state, shows) }
        }
      case "scheduleandexecute" =>
        val result = ClusteringService.scheduleAndRun(scope)
        shown(Nil, result, shows, Some(table.refreshed()))
      case wrong =>
        throw arguments.invalid("op", wrong,
          "schedule, execute, run, scheduleandexecute, or purge_pending_instant with instants")
    }
  }

  private def planned(table: OpenTable): Seq[String] = table.timeline.plannedClusterings.map(_._1.requested)

  /** The clusterings to run out of the planned ones, oldest first. */
  private def chosen(arguments: Arguments, named: Seq[String])(planned: Seq[String]): Seq[String] = {
    named.find(!planned.contains(_)).foreach { instant =>
      throw arguments.invalid("instants", instant,
        if (planned.isEmpty) "the planned clusterings, of which there are none" else planned.mkString(", "))
    }
    val toRun = if (named.isEmpty) planned else planned.filter(named.contains)
    arguments.int("limit").fold(toRun)(toRun.take)
  }

  private def purge(scope: ServiceScope, instants: Seq[String], shows: Boolean): Seq[Row] = {
    val left = ClusteringService.purge(scope, instants).map(s => s.instant -> s.reason).toMap
    scope.table.timeline.plannedClusterings.collect {
      case (i, plan) if instants.contains(i.requested) =>
        val row = ClusteringRow.row(i.requested, Some(plan), i.state, shows)
        Row.fromSeq((if (left.contains(i.requested)) row else row.updated(2, "PURGED")) ++ unmeasured ++
          Seq(left.get(i.requested).orNull))
    }
  }

  /** One row for each clustering done, the first one with the sums, then one for each that was not run. */
  private def shown(
      planned: Seq[(Instant, ClusteringPlan)],
      result: ClusteringResult,
      shows: Boolean,
      now: Option[OpenTable] = None
  ): Seq[Row] = {
    def plan(instant: String) = planned.find(_._1.requested == instant).map(_._2).orElse(now.flatMap { t =>
      t.timeline.instants.find(i => i.requested == instant && i.action.whenCompleted == Action.ReplaceCommit)
        .flatMap(t.timeline.clusteringPlan)
    })
    val done = result.done.zipWithIndex.map { case (instant, i) =>
      val sums =
        if (i > 0) unmeasured
        else
          Seq[Any](result.filesReplaced, result.filesWritten, result.rowsWritten, result.bytesWritten, result.elapsedMs)
      Row.fromSeq(ClusteringRow.row(instant, plan(instant), InstantState.Completed, shows) ++ sums :+ null)
    }
    done ++ result.skipped.map { s =>
      val row = ClusteringRow.row(s.instant, plan(s.instant), InstantState.Inflight, shows)
      Row.fromSeq((if (s.isRolledBack) row.updated(2, "PURGED") else row) ++ unmeasured :+ s.reason)
    }
  }

  private def pending(instant: String, plan: ClusteringPlan, state: InstantState, shows: Boolean): Row =
    Row.fromSeq(ClusteringRow.row(instant, Some(plan), state, shows) ++ unmeasured :+ null)

  private def unmeasured: Seq[Any] = Seq.fill(5)(null)

  private def withArguments(session: SparkSession, table: OpenTable, arguments: Arguments): WriteConfig = {
    val settings = arguments.settings(session, table)
    val columns  = arguments.string("order").toSeq.flatMap(OptionKind.NameList.split)
    val strategy = arguments.string("order_strategy").map(s =>
      LayoutStrategy.parse(s).getOrElse(throw arguments.invalid("order_strategy", s, "linear, z-order, hilbert")))
    val pattern = arguments.string("partition_regex_pattern").map { regex =>
      try Pattern.compile(regex)
      catch {
        case e: PatternSyntaxException =>
          throw arguments.invalid("partition_regex_pattern", regex, s"a regular expression (${e.getDescription})")
      }
    }
    val selected = arguments.string("selected_partitions").map(OptionKind.PathList.split)
    selected.flatMap(_.find(!table.view.partitions.contains(_))).foreach { unknown =>
      throw arguments.invalid("selected_partitions", unknown, "paths of the table's partitions")
    }
    ClusteringArguments(settings, columns, strategy, selected, pattern,
      arguments.string("predicate").map(ClusteringArguments.partitions(session, table, _)))
  }
}

/** Settings of one clustering by the arguments of a call. */
private[spark] object ClusteringArguments {

  /**
   * @param selected   paths of partitions
   * @param pattern    of paths of partitions
   * @param byCondition paths of the partitions for which a condition is true
   */
  def apply(
      settings: WriteConfig,
      columns: Seq[String],
      strategy: Option[LayoutStrategy],
      selected: Option[Seq[String]],
      pattern: Option[Pattern],
      byCondition: Option[Seq[String]]
  ): WriteConfig = {
    val own = settings.clustering
    val named: Option[ClusteringPartitions => ClusteringPartitions] = byCondition.orElse(selected).map { paths =>
      // Without any partition nothing is selected, and not all of them.
      if (paths.isEmpty) _.copy(mode = PartitionFilterMode.All, selected = Nil, pattern = Some(Nothing))
      else _.copy(mode = PartitionFilterMode.All, selected = paths)
    }
    val partitions = named.fold(own.partitions)(_(own.partitions))
    settings.copy(clustering = own.copy(
      partitions = if (byCondition.exists(_.isEmpty)) partitions
      else partitions.copy(pattern = pattern.orElse(partitions.pattern)),
      order = own.order.copy(columns = if (columns.isEmpty) own.order.columns else columns,
        strategy = strategy.getOrElse(own.order.strategy)),
      sizes = own.sizes.copy(takesSingle = own.sizes.takesSingle || columns.nonEmpty)
    ))
  }

  private val Nothing = Pattern.compile("(?!)")

  /**
   * The paths of the partitions for which a condition is true.
   *
   * @throws MerganserException CLUSTERING_PREDICATE_UNSUPPORTED
   */
  def partitions(session: SparkSession, table: OpenTable, predicate: String): Seq[String] = {
    val values = new PartitionValues(table, table.schema)
    def unsupported(reason: String) = MerganserException("CLUSTERING_PREDICATE_UNSUPPORTED",
      "table" -> table.config.name, "predicate" -> predicate, "reason" -> reason,
      "columns" -> (if (values.columns.isEmpty) "none" else values.columns.fieldNames.mkString(", ")))
    if (values.columns.isEmpty) throw unsupported("the table has no partitions")
    val path    = AttributeReference(Path, StringType)()
    val columns = values.columns.map(f => AttributeReference(f.name, f.dataType)())
    val rows = table.view.partitions.map { p =>
      InternalRow.fromSeq(UTF8String.fromString(p) +: values.of(p).toSeq(values.columns))
    }
    try
      SparkBridge.ofRows(session, LocalRelation(path +: columns, rows)).where(expr(predicate)).select(Path).collect()
        .map(_.getString(0)).toSeq
    catch {
      case e: ParseException    => throw unsupported("it is no SQL condition").causedBy(e)
      case e: AnalysisException => throw unsupported(e.getMessage.linesIterator.next()).causedBy(e)
    }
  }

  private val Path = "__merganser_path"
}

/** CALL show_clustering(table => … | path => …): clusterings planned and done, newest first. */
object ShowClustering extends LazyTableProcedure {
  override val name = "show_clustering"

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter.path,
    Parameter.limit(20),
    Parameter("show_involved_partition", BooleanType, "whether the result has the partitions", default = Some("false")),
    Parameter.filter
  )

  override val result: StructType = Procedure.columns(ClusteringRow.all: _*)

  override protected def rows(table: OpenTable, arguments: Arguments): Iterator[Row] = {
    val timeline = table.timeline
    val shows    = arguments.boolean("show_involved_partition").contains(true)
    // A completed clustering is a replacecommit; so are overwrites.
    val replaced = timeline.completed.filter(_.action == Action.ReplaceCommit)
    val done     = timeline.metadataOf(replaced.reverseIterator, most(arguments))
    (timeline.plannedClusterings.map(_._1) ++ replaced).sortBy(_.requested).reverseIterator.filter { instant =>
      !instant.isCompleted || done.next()._2.operationType == OperationType.Cluster
    }.map(i => Row.fromSeq(ClusteringRow.row(i.requested, timeline.clusteringPlan(i), i.state, shows)))
  }
}
