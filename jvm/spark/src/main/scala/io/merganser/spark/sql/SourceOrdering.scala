package io.merganser.spark.sql

import io.merganser.merge.{MerganserException, OrderingField}
import io.merganser.table.options.Options
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * The values that a source row has for the table's ordering fields: those that a clause assigns to them from the source
 * alone, or else those of the source columns of the same names.
 *
 * @param source  its columns
 * @param clauses the values that each clause assigns, by column
 */
private[sql] final class SourceOrdering(
    target: CommandTarget,
    source: Seq[Attribute],
    clauses: Seq[Map[String, Expression]]
) {
  private val conf = target.session.sessionState.conf

  /** The values that each clause assigns, for all fields, in the order of the fields. */
  private val assigned: Seq[Seq[Expression]] = {
    val columns = AttributeSet(source)
    clauses.map(values =>
      target.orderingFields.flatMap(field =>
        KeyCondition.assignedTo(values, target.schema, field.name).filter(value =>
          value.deterministic && value.references.nonEmpty && value.references.forall(columns.contains))))
      .filter(found => found.nonEmpty && found.size == target.orderingFields.size)
  }

  /** The values by which the rule chooses among source rows, null if one does not fit; empty where a field has none. */
  def ofChoice: Seq[Expression] = assigned.headOption.getOrElse {
    val found = target.orderingFields.flatMap(field => named(field).headOption.map(typed(_, field, EvalMode.TRY)))
    if (found.size == target.orderingFields.size) found else Nil
  }

  /**
   * Of a delete, by field; without the fields that the source lacks. What clauses assign is its value where they agree:
   * a delete is none of the rows that they assign.
   *
   * @param clause its text
   * @throws MerganserException DELETE_ORDER_UNDEFINED if the source's columns do not define the value of a field
   */
  def ofDelete(clause: String): Map[OrderingField, Expression] = agreed.getOrElse {
    target.orderingFields.flatMap { field =>
      def refuse(reason: String) = throw MerganserException("DELETE_ORDER_UNDEFINED", "clause" -> clause,
        "table" -> target.relation.table.name, "field" -> field.name, "type" -> field.dataType.sql, "reason" -> reason,
        "option" -> Options.SqlDeletes.key)
      named(field) match {
        case Nil => None
        case Seq(value) =>
          if (!Cast.canAnsiCast(value.dataType, field.dataType))
            refuse(s"the source's ${value.sql} is of type ${value.dataType.sql}")
          Some(field -> typed(value, field, EvalMode.ANSI))
        case several => refuse(s"the source has ${several.map(_.sql).mkString(" and ")}")
      }
    }.toMap
  }

  private def agreed: Option[Map[OrderingField, Expression]] = assigned.headOption.filter(first =>
    assigned.tail.forall(_.zip(first).forall { case (other, one) => KeyCondition.areSameValue(other, one) })).map(
    first =>
      target.orderingFields.zip(first).toMap)

  private def named(field: OrderingField): Seq[Expression] = {
    val path  = field.path.scanLeft(field.column.dataType)((struct, at) => struct.asInstanceOf[StructType](at).dataType)
    val names = field.path.zip(path).map { case (at, struct) => struct.asInstanceOf[StructType](at).name }
    source.filter(column => conf.resolver(column.name, field.column.name)).flatMap(inside(_, names.toList))
  }

  /** The field of a struct's value by its names, outermost first. */
  private def inside(value: Expression, names: List[String]): Option[Expression] = (names, value.dataType) match {
    case (Nil, _) => Some(value)
    case (name :: rest, struct: StructType) =>
      Some(struct.fieldNames.indexWhere(conf.resolver(_, name))).filter(_ >= 0).flatMap(at =>
        inside(GetStructField(value, at, Some(struct(at).name)), rest))
    case _ => None
  }

  private def typed(value: Expression, field: OrderingField, mode: EvalMode.Value): Expression = {
    val to: DataType = field.dataType
    if (value.dataType == to) value else Cast(value, to, Some(conf.sessionLocalTimeZone), mode)
  }
}
