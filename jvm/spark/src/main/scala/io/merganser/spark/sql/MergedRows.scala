package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.spark.frame.FrameMerge
import io.merganser.spark.write.prepare.PreparedSchema
import io.merganser.table.rule.CompiledRule
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.analysis.TableFunctionRegistry.TableFunctionBuilder
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.parser.{CatalystSqlParser, ParseException}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.plans.physical.{ClusteredDistribution, Distribution}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.merganser.{Partitions, SparkBridge}
import org.apache.spark.sql.types.{MapType, StringType}

/**
 * `merganser_combine(rows, options)` and `merganser_merge(stored, changes, options)`: rows of views or tables, merged
 * by the rule that a table with these options would have. The options are a map of strings.
 */
object MergedRows {

  val combine: (FunctionIdentifier, ExpressionInfo, TableFunctionBuilder) =
    function("merganser_combine", "merganser_combine('rows', map('option', 'value', ...))", 1)

  val merge: (FunctionIdentifier, ExpressionInfo, TableFunctionBuilder) =
    function("merganser_merge", "merganser_merge('stored rows', 'changes', map('option', 'value', ...))", 2)

  private def function(name: String, usage: String, views: Int) = {
    def invalid(reason: String) =
      MerganserException("MERGE_FUNCTION_ARGUMENTS", "function" -> name, "reason" -> reason, "usage" -> usage)

    def view(argument: Expression): LogicalPlan = argument match {
      case Literal(text, StringType) if text != null =>
        try UnresolvedRelation(CatalystSqlParser.parseMultipartIdentifier(text.toString))
        catch { case _: ParseException => throw invalid(s"'$text' is not the name of a view or table") }
      case other => throw invalid(s"${other.sql} is not a quoted name")
    }

    def options(argument: Expression): Map[String, String] = argument.dataType match {
      case MapType(StringType, StringType, _) if argument.foldable =>
        val map    = argument.eval().asInstanceOf[org.apache.spark.sql.catalyst.util.MapData]
        val keys   = map.keyArray().toArray[AnyRef](StringType).map(_.toString)
        val values = map.valueArray().toArray[AnyRef](StringType)
        keys.zip(values).collect { case (key, value) if value != null => key -> value.toString }.toMap
      case _ => throw invalid(s"${argument.sql} is not a map of strings")
    }

    val builder: TableFunctionBuilder = arguments => {
      if (arguments.length != views + 1) throw invalid(s"it has ${arguments.length} arguments")
      val frames = arguments.take(views).map(view)
      UnmergedRows(if (views == 2) Some(frames.head) else None, frames.last, options(arguments.last))
    }
    (FunctionIdentifier(name), new ExpressionInfo(getClass.getName, name), builder)
  }

  /** Finds the rule once the columns are known. */
  final case class Resolve(session: SparkSession) extends Rule[LogicalPlan] {

    override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
      case rows: UnmergedRows if rows.childrenResolved =>
        val merge = FrameMerge(session, rows.stored.map(SparkBridge.ofRows(session, _)),
          SparkBridge.ofRows(session, rows.changes), rows.options)
        val stored  = merge.stored.map(_.queryExecution.analyzed)
        val changes = merge.changes.queryExecution.analyzed
        val output  = merge.output.map(f => AttributeReference(f.name, f.dataType, f.nullable)())
        val merged = MergedRowsPlan(merge.incoming, merge.compiled, stored.toSeq.flatMap(_.output), changes.output,
          output, stored, changes)
        // A query may name the same rows twice: the columns of each get ids of their own.
        Project(output.map(a => Alias(a, a.name)()), merged)
    }
  }
}

/** A call whose views, or whose rule, are not resolved yet. */
final case class UnmergedRows(stored: Option[LogicalPlan], changes: LogicalPlan, options: Map[String, String])
    extends LogicalPlan {

  override lazy val resolved: Boolean = false

  override def output: Seq[Attribute] = Nil

  override def children: Seq[LogicalPlan] = stored.toSeq :+ changes

  override protected def withNewChildrenInternal(all: IndexedSeq[LogicalPlan]): LogicalPlan =
    copy(stored = stored.map(_ => all.head), changes = all.last)
}

/**
 * @param storedColumns columns of the stored rows, in the order of the layout
 * @param changeColumns those of the changes, in the order of [[PreparedSchema.rows]]
 */
final case class MergedRowsPlan(
    incoming: PreparedSchema,
    compiled: CompiledRule,
    storedColumns: Seq[Attribute],
    changeColumns: Seq[Attribute],
    output: Seq[Attribute],
    stored: Option[LogicalPlan],
    changes: LogicalPlan
) extends LogicalPlan {

  override def children: Seq[LogicalPlan] = stored.toSeq :+ changes

  override def producedAttributes: AttributeSet = AttributeSet(output)

  override protected def withNewChildrenInternal(all: IndexedSeq[LogicalPlan]): LogicalPlan =
    copy(stored = stored.map(_ => all.head), changes = all.last)
}

object MergedRowsStrategy extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case p: MergedRowsPlan =>
      Seq(MergedRowsExec(p.incoming, p.compiled, p.storedColumns, p.changeColumns, p.output, p.stored.map(planLater),
          planLater(p.changes)))
    case _ => Nil
  }
}

/** Merges rows that Spark has shuffled and sorted by record key. */
final case class MergedRowsExec(
    incoming: PreparedSchema,
    compiled: CompiledRule,
    storedColumns: Seq[Attribute],
    changeColumns: Seq[Attribute],
    output: Seq[Attribute],
    stored: Option[SparkPlan],
    changes: SparkPlan
) extends SparkPlan {

  override lazy val metrics: Map[String, SQLMetric] =
    Map("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))

  override def children: Seq[SparkPlan] = stored.toSeq :+ changes

  override def producedAttributes: AttributeSet = AttributeSet(output)

  private def keyOf(columns: Seq[Attribute]): Attribute = columns(incoming.keyOrdinal)

  override def requiredChildDistribution: Seq[Distribution] =
    (stored.map(_ => storedColumns).toSeq :+ changeColumns).map(columns => ClusteredDistribution(Seq(keyOf(columns))))

  override def requiredChildOrdering: Seq[Seq[SortOrder]] =
    stored.map(_ => Seq(ascending(keyOf(storedColumns)))).toSeq :+
      Seq(ascending(keyOf(changeColumns)), ascending(changeColumns(incoming.arrivalOrdinal)))

  private def ascending(column: Attribute) = SortOrder(column, Ascending)

  override protected def doExecute(): RDD[InternalRow] = {
    val merging  = MergedRowsExec.Task(incoming, compiled, output, longMetric("numOutputRows"))
    val versions = arranged(changes, changeColumns)
    stored.map(arranged(_, storedColumns)) match {
      case None       => Partitions.map(versions)(merging.run(Iterator.empty, _))
      case Some(rows) => rows.zipPartitions(versions)(merging.run)
    }
  }

  /** A plan's rows with these columns, in this order. */
  private def arranged(plan: SparkPlan, columns: Seq[Attribute]): RDD[InternalRow] = {
    val given = plan.output
    if (given.map(_.exprId) == columns.map(_.exprId)) plan.execute()
    else
      Partitions.map(plan.execute()) { rows =>
        val project = UnsafeProjection.create(columns, given)
        rows.map(project)
      }
  }

  override protected def withNewChildrenInternal(all: IndexedSeq[SparkPlan]): SparkPlan =
    copy(stored = stored.map(_ => all.head), changes = all.last)
}

private object MergedRowsExec {

  final case class Task(
      incoming: PreparedSchema,
      compiled: CompiledRule,
      output: Seq[Attribute],
      count: SQLMetric
  ) {
    def run(stored: Iterator[InternalRow], changes: Iterator[InternalRow]): Iterator[InternalRow] = {
      val project = UnsafeProjection.create(output.zipWithIndex.map { case (column, i) =>
        BoundReference(i, column.dataType, nullable = true)
      })
      FrameMerge.rows(stored, changes, incoming, compiled).map { row =>
        count += 1
        project(row)
      }
    }
  }
}
