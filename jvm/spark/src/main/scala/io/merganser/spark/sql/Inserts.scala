package io.merganser.spark.sql

import io.merganser.merge.buffer.MergeCounts
import io.merganser.spark.frame.Overwrites
import io.merganser.spark.source.{InsertWrite, MerganserTable}
import io.merganser.spark.write.{Counts, Replaced}
import io.merganser.table.settings.OverwriteMode
import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.connector.write.Write
import org.apache.spark.sql.execution.{LeafExecNode, SQLExecution, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, V2CommandExec}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.merganser.SparkBridge

/**
 * Determines which partitions an overwrite replaces: those that PARTITION or a condition names; those it writes to
 * (`overwritePartitions`); or, where it names no partition column or not all of them, what [[Overwrites]] decides.
 */
final case class PartitionOverwrites(session: SparkSession) extends Rule[LogicalPlan] {

  /** Applies to each insert of a multi-insert statement (FROM … INSERT … INSERT …). */
  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.resolveOperatorsWithPruning(_.containsPattern(TreePattern.COMMAND))(one)

  private def one: PartialFunction[LogicalPlan, LogicalPlan] = {
    case write: OverwritePartitionsDynamic if write.resolved =>
      target(write.table).fold[LogicalPlan](write) { case (relation, table) =>
        // Spark keeps the analyzed query of this command, but not of the dynamic one.
        val to = relation.copy(table = table.overwriting(ofDynamic(write, table)))
        if (write.isByName) OverwriteByExpression.byName(to, write.query, Literal.TrueLiteral, write.writeOptions)
        else OverwriteByExpression.byPosition(to, write.query, Literal.TrueLiteral, write.writeOptions)
      }
    case write: OverwriteByExpression if write.resolved =>
      target(write.table).fold[LogicalPlan](write) { case (relation, table) =>
        val config   = table.opened.config
        val isInsert = isStatement(write, write.isByName) && isOfInsert(write.deleteExpr)
        val options  = write.writeOptions - MerganserTable.LackingColumns
        val unnamed =
          if (isInsert) {
            val values = equatedColumns(write.deleteExpr)
            Overwrites.ofInsert(session, config, options, isOpen = values < math.max(1, config.partitionFields.size),
              hasValues = values > 0)
          } else {
            OverwriteMode.requireNot(dynamic = true, options, "a condition")
            None
          }
        val replaced = unnamed.orElse(
          if (write.deleteExpr == Literal.TrueLiteral) None
          else Some(Replaced.Where(write.deleteExpr.sql, table.partitionValues.matching(write.deleteExpr))))
        replaced.fold(write)(r =>
          write.copy(table = relation.copy(table = table.overwriting(r)), deleteExpr = Literal.TrueLiteral))
      }
  }

  /**
   * For statements, Spark chose a dynamic overwrite by its own setting only, so it is decided again. The plan no longer
   * has the values of PARTITION.
   */
  private def ofDynamic(write: OverwritePartitionsDynamic, table: MerganserTable): Replaced = {
    val (config, options) = (table.opened.config, write.writeOptions - MerganserTable.LackingColumns)
    if (isStatement(write, write.isByName))
      Overwrites.ofInsert(session, config, options, isOpen = true, hasValues = config.partitionFields.nonEmpty)
        .getOrElse(Replaced.All)
    else {
      OverwriteMode.requireNot(dynamic = false, options, "overwritePartitions")
      Overwrites.written(config)
    }
  }

  /** Number of columns that a condition of [[isOfInsert]] equates with values. */
  private def equatedColumns(condition: Expression): Int = condition match {
    case And(a, b)           => equatedColumns(a) + equatedColumns(b)
    case Literal.TrueLiteral => 0
    case _                   => 1
  }

  /** The target, if it is one of our tables whose replaced partitions are not determined yet. */
  private def target(table: LogicalPlan): Option[(DataSourceV2Relation, MerganserTable)] = table match {
    case relation: DataSourceV2Relation =>
      relation.table match {
        case ours: MerganserTable if !ours.isOverwriting => Some(relation -> ours)
        case _                                           => None
      }
    case _ => None
  }

  /** INSERT OVERWRITE or `insertInto`; `writeTo` is explicit about what it overwrites. */
  private def isStatement(plan: LogicalPlan, isByName: Boolean): Boolean = plan.origin.sqlText.isDefined || !isByName

  /** Whether the condition is from PARTITION of an INSERT OVERWRITE, not from REPLACE WHERE. */
  private def isOfInsert(condition: Expression): Boolean = condition match {
    case Literal.TrueLiteral                               => true
    case And(a, b)                                         => isOfInsert(a) && isOfInsert(b)
    case EqualNullSafe(_: Attribute, _: Cast | _: Literal) => true
    case _                                                 => false
  }
}

/** Plans INSERT and TRUNCATE TABLE on our tables. */
final case class InsertStrategy(session: SparkSession) extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case append: AppendData               => insert(append.table, append.write, append.analyzedQuery)
    case overwrite: OverwriteByExpression => insert(overwrite.table, overwrite.write, overwrite.analyzedQuery)
    case TruncateTable(ResolvedTable(_, _, ours: MerganserTable, _)) => Seq(TruncateExec(ours))
    case _                                                           => Nil
  }

  private def insert(table: LogicalPlan, write: Option[Write], query: Option[LogicalPlan]): Seq[SparkPlan] =
    (table, write, query) match {
      case (relation: DataSourceV2Relation, Some(ours: InsertWrite), Some(rows)) =>
        Seq(InsertExec(relation, ours, rows))
      case _ => Nil
    }
}

/** Runs an INSERT; its row counts are metrics on the SQL tab. */
final case class InsertExec(relation: DataSourceV2Relation, write: InsertWrite, query: LogicalPlan)
    extends V2CommandExec
    with LeafExecNode {

  override def output: Seq[Attribute] = Nil

  override lazy val metrics: Map[String, SQLMetric] = CountMetrics.create(sparkContext)

  override def simpleString(maxFields: Int): String = s"Insert ${relation.table.name()}"

  override protected def run(): Seq[InternalRow] = {
    val result = write.run(SparkBridge.ofRows(session, query))
    CountMetrics.post(sparkContext, metrics, result.counts)
    CatalogName.of(relation).foreach(SparkBridge.refreshCached(session, _))
    Nil
  }
}

final case class TruncateExec(table: MerganserTable) extends V2CommandExec with LeafExecNode {

  override def output: Seq[Attribute] = Nil

  override def simpleString(maxFields: Int): String = s"Truncate ${table.name()}"

  override protected def run(): Seq[InternalRow] = {
    table.removeAllRows()
    table.catalogTable.foreach(t => SparkBridge.refreshCached(session, t.identifier))
    Nil
  }
}

/** The counts of a write as SQL metrics of a plan node. */
object CountMetrics {

  def create(context: SparkContext): Map[String, SQLMetric] =
    MergeCounts.all.map(count => count.name -> SQLMetrics.createMetric(context, s"rows: ${count.name}")).toMap

  def post(context: SparkContext, metrics: Map[String, SQLMetric], counts: MergeCounts): Unit =
    post(context, metrics, Counts.fields(counts))

  def post(context: SparkContext, metrics: Map[String, SQLMetric], counts: Seq[(String, Long)]): Unit = {
    counts.foreach { case (name, count) => metrics.get(name).foreach(_.set(count)) }
    val execution = context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(context, execution, metrics.values.toSeq)
  }
}
