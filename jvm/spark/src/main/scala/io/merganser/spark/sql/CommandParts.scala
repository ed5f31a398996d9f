package io.merganser.spark.sql

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{DataType, NullType}

/**
 * A group of a command's expressions. It is an expression itself, as Spark's merge actions are, so that rules that
 * rewrite a plan's expressions reach the grouped ones; it is never evaluated.
 */
sealed trait CommandPart extends Expression with Unevaluable {
  override def nullable: Boolean = false

  override def dataType: DataType = NullType
}

/**
 * A clause of a command: the output row for rows whose condition is true.
 *
 * @param text of the clause, for EXPLAIN and for errors
 * @param row  an expression for each output column
 */
final case class RowClause(text: String, condition: Expression, row: Seq[Expression]) extends CommandPart {
  override def children: Seq[Expression] = condition +: row

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Expression =
    copy(condition = newChildren.head, row = newChildren.tail)
}

/**
 * Target columns and the source values that they equal in matching rows.
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
 * How one of several source rows for a key is chosen: the greatest by `order`; on ties, the last.
 *
 * @param common values shared by source rows that are versions of one row; empty where every row counts
 */
final case class SourceChoice(common: Seq[Expression], order: Seq[Expression]) extends CommandPart {
  override def children: Seq[Expression] = common ++ order

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Expression = {
    val (shared, ordering) = newChildren.splitAt(common.length)
    copy(shared, ordering)
  }
}

/**
 * Requires that a stored row is matched at most once, as SQL demands.
 *
 * @param storedRow number of the stored row that a source row matched, else null
 * @param shown     what the error shows of each row, the record key first
 */
final case class MatchedOnce(storedRow: Expression, shown: Seq[Expression]) extends CommandPart {
  override def children: Seq[Expression] = storedRow +: shown

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Expression =
    copy(newChildren.head, newChildren.tail)
}
