package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.table.options.StatementDeletes
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.LongType

/** Plans UPDATE and DELETE of the rows for which a condition is true. */
private[sql] final case class UpdateDeletePlan(session: SparkSession) {

  def update(relation: DataSourceV2Relation, statement: UpdateTable): LogicalPlan = {
    statement.condition.foreach(requireDeterministic("UPDATE", _))
    val target   = CommandTarget(session, relation, "UPDATE")
    val columns  = target.changed(ordersDeletes = false, isTagged = false)
    val change   = new ClauseOutput(target, columns, Literal(null, LongType), None)
    val computed = new Computed(target.rows.outputSet)
    val values   = Alignment.ofUpdate(statement, target).map { case (name, value) => name -> computed.instead(value) }
    val assigned = Alignment.assigned(statement.assignments, target)
    target.requireAssignable(values.filter { case (name, _) => assigned(name) })
    val row = change.update(values, assigned)
    changes(target, columns, "UPDATE SET " + assigned.toSeq.sorted.mkString(", "), assigned, row, change,
      computed.over(rows(target, statement.condition)))
  }

  def delete(relation: DataSourceV2Relation, condition: Expression): LogicalPlan = {
    requireDeterministic("DELETE", condition)
    val target  = CommandTarget(session, relation, "DELETE")
    val ordered = target.ordersDeletes && target.settings.statement.deletes == StatementDeletes.Ordered
    val columns = target.changed(ordered, isTagged = false)
    val change  = new ClauseOutput(target, columns, Literal(null, LongType), None)
    val row     = change.delete(if (ordered) Some(Map.empty) else None)
    changes(target, columns, "DELETE", Set.empty, row, change, rows(target, Some(condition)))
  }

  private def requireDeterministic(statement: String, condition: Expression): Unit =
    if (!condition.deterministic)
      throw MerganserException("CLAUSE_CONDITION_UNSUPPORTED", "clause" -> s"$statement WHERE",
        "condition" -> condition.sql,
        "reason" -> "it is not deterministic")

  private def rows(target: CommandTarget, condition: Option[Expression]): LogicalPlan =
    condition.filterNot(_ == TrueLiteral).foldLeft(target.rows)((found, c) => Filter(c, found))

  private def changes(
      target: CommandTarget,
      columns: CommandColumns,
      clause: String,
      assigned: Set[String],
      row: Seq[Expression],
      change: ClauseOutput,
      found: LogicalPlan
  ): LogicalPlan =
    RowLevelCommandOverQuery(
      target.describe(columns, isRead = true, Seq(clause -> assigned)),
      Seq(RowClause(clause, TrueLiteral, row)),
      change.masks,
      once = None,
      query = Needed.of(target.pinned(found), row)
    )
}

/** Projects a plan to the columns that expressions need, so that no others are read. */
private[sql] object Needed {
  def of(plan: LogicalPlan, expressions: Seq[Expression]): LogicalPlan = {
    val needed = AttributeSet(expressions.flatMap(_.references))
    Project(plan.output.filter(needed.contains), plan)
  }
}

/**
 * Values that a plan computes before the clauses are evaluated: sub-queries, and Python functions of more than the
 * statement's own query; Spark extracts other Python functions itself.
 *
 * @param own columns of that query
 */
private[sql] final class Computed(own: AttributeSet) {
  private var found = Vector.empty[Alias]

  /** Whether a part of a value must be computed beforehand. */
  def isNeededFor(value: Expression): Boolean = value.exists(isComputed)

  /** The value, with the parts that must be computed beforehand replaced by columns of [[over]]. */
  def instead(value: Expression): Expression = value.transformDown {
    case part if isComputed(part) =>
      found.find(column => part.deterministic && column.child.semanticEquals(part)).getOrElse {
        found :+= Alias(part, s"__merganser_value_${found.size}")()
        found.last
      }.toAttribute
  }

  private def isComputed(part: Expression): Boolean = part match {
    case _: SubqueryExpression | _: InSubquery => true
    case function: PythonUDF                   => !function.references.subsetOf(own)
    case _                                     => false
  }

  def isEmpty: Boolean = found.isEmpty

  /** The expressions to compute. */
  def inputs: Seq[Expression] = found.map(_.child)

  def over(rows: LogicalPlan): LogicalPlan = if (isEmpty) rows else Project(rows.output ++ found, rows)
}
