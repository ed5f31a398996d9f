package io.merganser.spark.sql

import io.merganser.merge.{DeleteCheck, OrderingField}
import io.merganser.merge.buffer.Outcome
import io.merganser.spark.write.prepare.{ColumnMask, PreparedSchema}
import io.merganser.spark.write.tag.Tagging
import io.merganser.table.rule.StoredRule
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral
import org.apache.spark.sql.types._

import scala.collection.mutable

/**
 * The output rows of a statement's clauses, as expressions over the stored row and the source row.
 *
 * @param columns of the output rows
 * @param arrival position in the source; null where the statement has no source
 * @param found   result of the key lookup, if there was one: number of the key's file slice, whether a row is stored
 */
private[sql] final class ClauseOutput(
    target: CommandTarget,
    columns: CommandColumns,
    arrival: Expression,
    found: Option[(Expression, Expression)]
) {
  private val numbered = mutable.ArrayBuffer.empty[ColumnMask]

  /** The columns that partial rows provide, in the order of their numbers. */
  def masks: Seq[ColumnMask] = numbered.toList

  /**
   * @param values   one for each data column of the target; the stored value where the clause assigns none
   * @param assigned names of the columns that the clause assigns
   */
  def update(values: Map[String, Expression], assigned: Set[String]): Seq[Expression] = {
    val provided = columns.data.fieldNames.filter(name =>
      assigned(name) || target.isIdentity(name) || !target.takesPartialRows).toSet
    val row = columns.data.map(field =>
      if (!provided(field.name)) absent(field)
      else if (assigned(field.name)) typed(values(field.name), field) else stored(field.name))
    // An update that provides all columns keeps a mask if it must not insert the row after another writer deleted it.
    val isWhole = provided.size == columns.data.length && !(target.takesPartialRows && !target.rule.isInstanceOf[
      StoredRule.UserMerger])
    val mask = if (isWhole) PreparedSchema.FullRow else maskOf(provided)
    columns.row(row, control(isNew = false, mask, code(Outcome.ByRule)), stored)
  }

  /** @param values one for each data column */
  def insert(values: Map[String, Expression]): Seq[Expression] = {
    val row = columns.data.map(field => values.get(field.name).fold(absent(field))(typed(_, field)))
    // A key with a slice but no row was deleted in a log: whether the delete wins is only known at read time.
    val outcome = found match {
      case Some((slice, isStored)) =>
        val isNew = EqualTo(slice, Literal(Tagging.Untagged))
        If(isStored, code(Outcome.ByRule), If(isNew, code(Outcome.Inserted), code(Outcome.Appended)))
      case None => code(Outcome.Appended)
    }
    columns.row(row, control(isNew = true, mask = PreparedSchema.FullRow, outcome = outcome), stored)
  }

  /**
   * @param ordering values for ordering fields; the others take their stored values. None if the delete has no ordering
   *                 value
   */
  def delete(ordering: Option[Map[OrderingField, Expression]]): Seq[Expression] = {
    val isOrdered = ordering.isDefined
    // A key that is an ordering field, too, is that of the stored row.
    val values = ordering.getOrElse(Map.empty).filterNot { case (field, _) => target.keyColumns.contains(field.name) }
    val row = columns.data.map { field =>
      def own = values.collect { case (of, value) if of.column.name == field.name => of.path -> value }
      if (!isOrdered) absent(field)
      else if (field.name == DeleteCheck.FlagColumn) TrueLiteral
      else if (target.orderingFields.exists(_.column.name == field.name)) replaced(stored(field.name), field, own)
      else if (target.isIdentity(field.name)) stored(field.name)
      else absent(field)
    }
    val deletion = control(isNew = false, mask = PreparedSchema.FullRow, outcome = code(Outcome.ByRule))
    columns.row(row, deletion.copy(isUnconditionalDelete = !isOrdered, isOrderedDelete = isOrdered), stored)
  }

  /** A value with other values in some places of its struct. @param values by the positions of the fields around it */
  private def replaced(value: Expression, field: StructField, values: Map[Vector[Int], Expression]): Expression =
    (values.get(Vector.empty), field.dataType) match {
      case (Some(whole), _) => typed(whole, field)
      case (_, struct: StructType) if values.nonEmpty =>
        CreateNamedStruct(struct.fields.toSeq.zipWithIndex.flatMap { case (inner, at) =>
          val own = values.collect { case (path, inside) if path.head == at => path.tail -> inside }
          Seq(Literal(inner.name), replaced(GetStructField(value, at), inner, own))
        })
      case _ => value
    }

  private def control(isNew: Boolean, mask: Int, outcome: Expression): RowControl = RowControl(
    key = if (isNew) Literal(null, StringType) else target.key,
    path = if (isNew) Literal(null, StringType) else target.path,
    arrival = arrival,
    isUnconditionalDelete = false,
    isOrderedDelete = false,
    mask = mask,
    outcome = outcome,
    slice = found.fold[Expression](Literal(0))(_._1)
  )

  private def maskOf(provided: Set[String]): Int = {
    val mask = ColumnMask(provided, inserts = false)
    if (!numbered.contains(mask)) numbered += mask
    numbered.indexOf(mask)
  }

  private def stored(name: String): Expression = target.column(name) match {
    case Some(attribute) => typed(attribute, columns.data(name))
    case None            => absent(columns.data(name))
  }

  private def typed(value: Expression, field: StructField): Expression =
    if (value.dataType == field.dataType) value
    else Cast(value, field.dataType, Some(target.session.sessionState.conf.sessionLocalTimeZone))

  private def absent(field: StructField): Expression = Literal(null, field.dataType)

  private def code(outcome: Int): Expression = Literal(outcome)
}
