package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.LongType

/** UPDATE and DELETE: the rows for which a condition is true. */
private[sql] final case class UpdateDeletePlan(session: SparkSession) {

  def update(relation: DataSourceV2Relation, given: UpdateTable): LogicalPlan = {
    given.condition.foreach(requireDeterministic("UPDATE", _))
    val target   = CommandTarget(session, relation, "UPDATE")
    val columns  = target.changed(marksDeletes = false, isTagged = false)
    val change   = new ClauseOutput(target, columns, Literal(null, LongType), None)
    val computed = new Computed(target.rows.outputSet)
    val values   = Alignment.ofUpdate(given, target).map { case (name, value) => name -> computed.instead(value) }
    val assigned = Alignment.assigned(given.assignments, target)
    val row      = change.update(values, assigned)
    changes(target, columns, "UPDATE SET " + assigned.toSeq.sorted.mkString(", "), assigned, row, change,
      computed.over(rows(target, given.condition)))
  }

  def delete(relation: DataSourceV2Relation, condition: Expression): LogicalPlan = {
    requireDeterministic("DELETE", condition)
    val target  = CommandTarget(session, relation, "DELETE")
    val columns = target.changed(target.marksDeletes, isTagged = false)
    val change  = new ClauseOutput(target, columns, Literal(null, LongType), None)
    changes(target, columns, "DELETE", Set.empty, change.delete(Map.empty), change, rows(target, Some(condition)))
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

/** Columns of a plan that expressions need, and no others: what is not needed is not read. */
private[sql] object Needed {
  def of(plan: LogicalPlan, expressions: Seq[Expression]): LogicalPlan = {
    val needed = AttributeSet(expressions.flatMap(_.references))
    Project(plan.output.filter(needed.contains), plan)
  }
}

/**
 * What a plan has to compute before the clauses see its rows: sub-queries, and Python functions of more than the statement's own
 * query, from which Spark takes the others.
 *
 * @param own columns of that query
 */
private[sql] final class Computed(own: AttributeSet) {
  private var found = Vector.empty[Alias]

  /** Whether something has to be computed for a value. */
  def isNeededFor(value: Expression): Boolean = value.exists(isComputed)

  /** The value, with columns of [[over]] in place of what has to be computed. */
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

  /** What they are computed from. */
  def inputs: Seq[Expression] = found.map(_.child)

  def over(rows: LogicalPlan): LogicalPlan = if (isEmpty) rows else Project(rows.output ++ found, rows)
}
