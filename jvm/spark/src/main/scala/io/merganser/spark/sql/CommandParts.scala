package io.merganser.spark.sql

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{DataType, NullType}

/**
 * Expressions of a command that belong together. It is an expression itself, as Spark's merge actions are, so that rules which
 * rewrite a plan's expressions reach those inside; it is never evaluated.
 */
sealed trait CommandPart extends Expression with Unevaluable {
  override def nullable: Boolean = false

  override def dataType: DataType = NullType
}

/**
 * A clause of a command: what becomes of a row for which the condition is true.
 *
 * @param text of the clause, for EXPLAIN and for errors
 * @param row  an expression for each column that the command's rows have
 */
final case class RowClause(text: String, condition: Expression, row: Seq[Expression]) extends CommandPart {
  override def children: Seq[Expression] = condition +: row

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Expression =
    copy(condition = newChildren.head, row = newChildren.tail)
}

/**
 * Values that equal columns of the target in rows that match.
 *
 * @param columns names in the target
 * @param values  of the source, one for each column
 */
final case class EqualColumns(columns: Seq[String], values: Seq[Expression]) extends CommandPart {
  override def children: Seq[Expression] = values

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Expression =
    copy(values = newChildren)
}

object EqualColumns {
  val none: EqualColumns = EqualColumns(Nil, Nil)

  def of(pairs: Seq[(String, Expression)]): EqualColumns = EqualColumns(pairs.map(_._1), pairs.map(_._2))
}

/**
 * How one of several source rows for a key is chosen: the greatest by `order`, and of equal ones the last.
 *
 * @param common values that source rows share which are versions of one row; empty where each row counts
 */
final case class SourceChoice(common: Seq[Expression], order: Seq[Expression]) extends CommandPart {
  override def children: Seq[Expression] = common ++ order

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Expression = {
    val (shared, ordering) = newChildren.splitAt(common.length)
    copy(shared, ordering)
  }
}

/**
 * A stored row may be matched once only, as SQL demands.
 *
 * @param storedRow number of the stored row that a source row matched, else null
 * @param shown     what the error shows of a row that was matched again, its record key first
 */
final case class MatchedOnce(storedRow: Expression, shown: Seq[Expression]) extends CommandPart {
  override def children: Seq[Expression] = storedRow +: shown

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Expression =
    copy(newChildren.head, newChildren.tail)
}
