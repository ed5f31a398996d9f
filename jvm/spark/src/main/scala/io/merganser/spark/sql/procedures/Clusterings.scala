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
import org.apache.spark.sql.{AnalysisException, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * A row of the procedures about clusterings.
 *
 * @param sums over all clusterings that were run
 */
private[procedures] final case class ClusteringRow(
    instant: String,
    plan: Option[ClusteringPlan],
    state: String,
    showsPartitions: Boolean,
    sums: Option[ClusteringResult] = None,
    leftBecause: Option[String] = None
)

private[procedures] object ClusteringRow extends ResultColumnTypes {

  val columns: ResultColumns[ClusteringRow] = ResultColumns(
    string("timestamp", _.instant),
    int("input_group_size", _.plan.map(p => Int.box(p.groups.size)).orNull),
    string("state", _.state),
    string("involved_partitions", r => if (r.showsPartitions) r.plan.map(_.partitions.mkString(",")).orNull else "*")
  )

  val showsPartitions: Parameter =
    Parameter.flag("show_involved_partition", "whether the result lists the partitions")
}

/**
 * CALL run_clustering(table => … | path => …, order => …, predicate => …): plans clusterings, runs those planned, or
 * both.
 */
object RunClustering extends TableProcedure[ClusteringRow] {
  override val name = "run_clustering"

  override val parameters = Seq(
    Parameter.table,
    Parameter.path,
    Parameter("predicate", StringType, "condition on partition columns: only their partitions are clustered"),
    Parameter("order", StringType, "columns to sort by, comma separated"),
    ClusteringRow.showsPartitions,
    Parameter("op", StringType,
      "schedule, execute (also run), scheduleandexecute, which is the default, or purge_pending_instant"),
    Parameter("order_strategy", StringType, "linear, z-order or hilbert"),
    Parameter.options,
    Parameter("instants", StringType, "the planned clusterings to run or to purge, comma separated"),
    Parameter("selected_partitions", StringType, "paths of the partitions to cluster, comma separated"),
    Parameter("partition_regex_pattern", StringType, "regular expression that matches the paths of these partitions"),
    Parameter("limit", IntegerType, "maximum number of planned clusterings to run, oldest first")
  )

  override val measures = Seq("files_replaced", "files_written", "rows_written", "bytes_written")

  private val sums = ResultColumns[ClusteringResult](
    int("files_replaced", _.filesReplaced),
    CommitColumns.sums(_.filesWritten, _.rowsWritten, _.bytesWritten, _.elapsedMs)
  )

  override val columns =
    ResultColumns(ClusteringRow.columns, sums.optional.of(_.sums), string("left_because", _.leftBecause.orNull))

  override val preview =
    Some(Preview("clustering", "order", "order_strategy", "predicate")((scope, given) =>
        ServicePreviews.clustering(scope.copy(settings = withArguments(scope.session, scope.table, given)))))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[ClusteringRow] = {
    val scope                        = ServiceScope(session, table, withArguments(session, table, arguments))
    val shows                        = arguments.flag("show_involved_partition")
    val op                           = arguments.string("op")
    val named                        = arguments.names("instants")
    def chosen(planned: Seq[String]) = arguments.chosen("instants", named, planned, "the planned clusterings")
    val default                      = if (named.isEmpty) "scheduleandexecute" else "execute"
    op.getOrElse(default).toLowerCase(Locale.ROOT) match {
      case "purge_pending_instant" if named.nonEmpty =>
        purge(scope, chosen(planned(table)), shows)
      case "run" | "execute" =>
        val plans = table.timeline.plannedClusterings
        shown(plans, ClusteringService.run(scope, chosen), shows)
      case wrong if named.nonEmpty =>
        throw arguments.invalid("op", wrong, "execute or purge_pending_instant, where instants are named")
      case "schedule" =>
        ClusteringService.schedule(scope).toSeq.flatMap { instant =>
          val plans = table.refreshed().timeline.plannedClusterings
          plans.filter(_._1.requested == instant).map { case (i, plan) =>
            ClusteringRow(i.requested, Some(plan), i.state.shown, shows)
          }
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

  private def purge(scope: ServiceScope, instants: Seq[String], shows: Boolean): Seq[ClusteringRow] = {
    val left = ClusteringService.purge(scope, instants).map(s => s.instant -> s.reason).toMap
    scope.table.timeline.plannedClusterings.collect {
      case (i, plan) if instants.contains(i.requested) =>
        val reason = left.get(i.requested)
        val state  = if (reason.isDefined) i.state.shown else "PURGED"
        ClusteringRow(i.requested, Some(plan), state, shows, leftBecause = reason)
    }
  }

  /** One row for each clustering done, the first one with the sums, then one for each that was not run. */
  private def shown(
      planned: Seq[(Instant, ClusteringPlan)],
      result: ClusteringResult,
      shows: Boolean,
      now: Option[OpenTable] = None
  ): Seq[ClusteringRow] = {
    def plan(instant: String) = planned.find(_._1.requested == instant).map(_._2).orElse(now.flatMap { t =>
      t.timeline.instants.find(i => i.requested == instant && i.action.whenCompleted == Action.ReplaceCommit)
        .flatMap(t.timeline.clusteringPlan)
    })
    val done = result.done.zipWithIndex.map { case (instant, i) =>
      ClusteringRow(instant, plan(instant), InstantState.Completed.shown, shows, Some(result).filter(_ => i == 0))
    }
    done ++ result.skipped.map { s =>
      val state = if (s.isRolledBack) "PURGED" else InstantState.Inflight.shown
      ClusteringRow(s.instant, plan(s.instant), state, shows, leftBecause = Some(s.reason))
    }
  }

  private def withArguments(session: SparkSession, table: OpenTable, arguments: Arguments): WriteConfig = {
    val settings = arguments.settings(session, table)
    val columns  = arguments.names("order")
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
object ShowClustering extends LazyTableProcedure[ClusteringRow] {
  override val name = "show_clustering"

  override val parameters = Seq(
    Parameter.table,
    Parameter.path,
    Parameter.limit(20),
    ClusteringRow.showsPartitions,
    Parameter.filter
  )

  override val columns = ClusteringRow.columns

  override protected def values(table: OpenTable, arguments: Arguments): Iterator[ClusteringRow] = {
    val timeline = table.timeline
    val shows    = arguments.flag("show_involved_partition")
    // A completed clustering is a replacecommit; so are overwrites.
    val replaced = timeline.completed.filter(_.action == Action.ReplaceCommit)
    val done     = timeline.metadataOf(replaced.reverseIterator, most(arguments))
    (timeline.plannedClusterings.map(_._1) ++ replaced).sortBy(_.requested).reverseIterator.filter { instant =>
      !instant.isCompleted || done.next()._2.operationType == OperationType.Cluster
    }.map(i => ClusteringRow(i.requested, timeline.clusteringPlan(i), i.state.shown, shows))
  }
}
