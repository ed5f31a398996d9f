package io.merganser.spark.sql

import io.merganser.merge.DeleteCheck
import io.merganser.spark.write.{ColumnMask, IncomingSchema, RowOutcome}
import io.merganser.table.config.StoredRule
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.Literal.{FalseLiteral, TrueLiteral}
import org.apache.spark.sql.types._

import scala.collection.mutable

/**
 * What a statement's clauses make of a row, as expressions over the stored row and the source's.
 *
 * @param columns of the rows that come out
 * @param arrival place in the source; null where the statement has none
 * @param slice   number of the stored row's file slice, where a lookup tells it
 * @param isStored whether there is a stored row under the key of a row that is inserted; None where nobody has looked
 */
private[sql] final class RowChange(
    target: StatementTarget, columns: ChangedColumns, arrival: Expression, slice: Option[Expression], isStored: Option[Expression]
) {
  import RowChange.tuple

  private val found = mutable.ArrayBuffer.empty[ColumnMask]

  /** The columns that rows provide, in the order of their numbers. */
  def masks: Seq[ColumnMask] = found.toList

  /**
   * @param values   one for each data column of the target, those not assigned being the stored ones
   * @param assigned names of the columns that the clause assigns
   */
  def update(values: Map[String, Expression], assigned: Set[String]): Seq[Expression] = {
    val provided = columns.data.fieldNames.filter(name => assigned(name) || target.isIdentity(name) || !target.takesPartialRows).toSet
    val row = columns.data.map(field =>
      if (!provided(field.name)) absent(field) else if (assigned(field.name)) typed(values(field.name), field) else stored(field.name))
    val ordering = target.ordering.map(name => if (assigned(name)) typed(values(name), columns.data(name)) else stored(name))
    // A row that provides all columns and yet is none of its own is not inserted where another writer has deleted the stored one.
    val isWhole = provided.size == columns.data.length && !(target.takesPartialRows && !target.rule.isInstanceOf[StoredRule.ByMerger])
    columns.row(row, control(isNew = false, mask = if (isWhole) IncomingSchema.FullRow else maskOf(provided), outcome = met(ordering)))
  }

  /** @param values one for each data column */
  def insert(values: Map[String, Expression]): Seq[Expression] = {
    val row      = columns.data.map(field => values.get(field.name).fold(absent(field))(typed(_, field)))
    val ordering = target.ordering.map(name => typed(values(name), columns.data(name)))
    val outcome = isStored match {
      case None               => code(RowOutcome.Unlooked)
      case Some(FalseLiteral) => code(RowOutcome.Inserted)
      case Some(stored)       => If(stored, met(ordering), code(RowOutcome.Inserted))
    }
    columns.row(row, control(isNew = true, mask = IncomingSchema.FullRow, outcome = outcome))
  }

  /** @param ordering what the source has for the ordering columns; the stored values for those it has not */
  def delete(ordering: Map[String, Expression]): Seq[Expression] = {
    val isOrdered                       = target.orderedDeletes && target.ordering.nonEmpty
    def value(name: String): Expression = ordering.get(name).map(typed(_, columns.data(name))).getOrElse(stored(name))
    val row = columns.data.map { field =>
      if (!isOrdered) absent(field)
      else if (field.name == DeleteCheck.FlagColumn) TrueLiteral
      else if (target.ordering.contains(field.name)) value(field.name)
      else if (target.isIdentity(field.name)) stored(field.name)
      else absent(field)
    }
    val outcome = if (isOrdered) late(target.ordering.map(value), code(RowOutcome.Deleted)) else code(RowOutcome.Deleted)
    columns.row(row,
      control(isNew = false, mask = IncomingSchema.FullRow, outcome = outcome).copy(isUnorderedDelete = !isOrdered,
        isOrderedDelete = isOrdered))
  }

  private def control(isNew: Boolean, mask: Int, outcome: Expression): RowControl = RowControl(
    key = if (isNew) Literal(null, StringType) else target.key,
    path = if (isNew) Literal(null, StringType) else target.path,
    arrival = arrival,
    isUnorderedDelete = false,
    isOrderedDelete = false,
    mask = mask,
    outcome = outcome,
    slice = slice.getOrElse(Literal(0))
  )

  private def maskOf(provided: Set[String]): Int = {
    val mask = ColumnMask(provided, inserts = false)
    if (!found.contains(mask)) found += mask
    found.indexOf(mask)
  }

  private def stored(name: String): Expression = target.column(name) match {
    case Some(attribute) => typed(attribute, columns.data(name))
    case None            => absent(columns.data(name))
  }

  private def typed(value: Expression, field: StructField): Expression =
    if (value.dataType == field.dataType) value
    else Cast(value, field.dataType, Some(target.session.sessionState.conf.sessionLocalTimeZone))

  private def absent(field: StructField): Expression = Literal(null, field.dataType)

  /** What becomes of a row that meets the stored one, by the ordering values. */
  private def met(ordering: Seq[Expression]): Expression =
    if (!columns.knows || ordering.isEmpty) code(RowOutcome.Updated)
    else if (ordering.zip(target.ordering).forall { case (value, name) => value.semanticEquals(stored(name)) }) code(RowOutcome.Tied)
    else late(ordering,
      If(EqualNullSafe(tuple(ordering), tuple(target.ordering.map(stored))), code(RowOutcome.Tied), code(RowOutcome.Updated)))

  private def late(ordering: Seq[Expression], otherwise: Expression): Expression =
    if (!columns.knows) otherwise
    else If(LessThan(tuple(ordering), tuple(target.ordering.map(stored))), code(RowOutcome.Late), otherwise)

  private def code(outcome: Int): Expression = Literal(outcome)
}

private[sql] object RowChange {

  /** Compares like the merge does: field by field, null the smallest. */
  def tuple(values: Seq[Expression]): Expression =
    CreateNamedStruct(values.zipWithIndex.flatMap { case (value, i) => Seq(Literal(s"f$i"), value) })
}
