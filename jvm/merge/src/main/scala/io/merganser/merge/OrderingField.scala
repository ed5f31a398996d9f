package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, GenericInternalRow, GetStructField}
import org.apache.spark.sql.types.{DataType, StructField, StructType}

/**
 * A field whose values order the versions of a row: a column, or a field inside a struct column.
 *
 * @param name    as the table has it: `ts`, or `meta.ts`
 * @param column  the column with its type
 * @param ordinal position of the column in the rows
 * @param path    positions of the field within the column's struct, outermost first; empty if the column is the field
 * @param leaf    the field itself
 */
final case class OrderingField private (
    name: String,
    column: StructField,
    ordinal: Int,
    path: Vector[Int],
    leaf: StructField
) {

  def dataType: DataType = leaf.dataType

  def isNested: Boolean = path.nonEmpty

  /** The value, or null; null if a struct around it is null. */
  def valueIn(row: InternalRow): Any =
    if (path.isEmpty) RowLayout.valueAt(row, ordinal, dataType)
    else {
      var (inner, dataType) = (row, column.dataType)
      var at                = ordinal
      var i                 = 0
      while (i < path.length && inner != null) {
        val struct = dataType.asInstanceOf[StructType]
        inner = if (inner.isNullAt(at)) null else inner.getStruct(at, struct.length)
        at = path(i)
        dataType = struct(at).dataType
        i += 1
      }
      if (inner == null) null else RowLayout.valueAt(inner, at, dataType)
    }

  /** The value as an expression over an expression of the column. */
  def within(column: Expression): Expression =
    path.foldLeft(column)((struct, at) => GetStructField(struct, at))

  /** The value as an expression over rows. */
  def reference: Expression = within(BoundReference(ordinal, column.dataType, nullable = true))

  /** Sets the value in a row that is made for it; structs around it are made if they are null. */
  def put(row: GenericInternalRow, value: Any): Unit = {
    var (inner, dataType) = (row, column.dataType)
    var at                = ordinal
    path.foreach { next =>
      val struct = dataType.asInstanceOf[StructType]
      val child = inner.values(at) match {
        case own: GenericInternalRow => own
        case _                       => new GenericInternalRow(struct.length)
      }
      inner.update(at, child)
      inner = child
      at = next
      dataType = struct(next).dataType
    }
    inner.update(at, value)
  }
}

object OrderingField {

  /** The column of exactly that name, or the field of a dotted name: the exact spelling first, then any case. */
  def find(schema: StructType, name: String): Option[OrderingField] = {
    def inside(
        column: StructField,
        ordinal: Int,
        path: Vector[Int],
        field: StructField,
        rest: String
    ): Option[OrderingField] =
      field.dataType match {
        case struct: StructType => descend(struct, rest).flatMap { case (at, left) =>
            if (left.isEmpty) Some(OrderingField(name, column, ordinal, path :+ at, struct(at)))
            else inside(column, ordinal, path :+ at, struct(at), left)
          }
        case _ => None
      }
    val at = schema.fieldNames.indexOf(name)
    if (at >= 0) Some(OrderingField(name, schema(at), at, Vector.empty, schema(at)))
    else if (!name.contains('.')) None
    else descend(schema, name).filter(_._2.nonEmpty).flatMap { case (column, rest) =>
      inside(schema(column), column, Vector.empty, schema(column), rest)
    }
  }

  /** Position of the field that a dotted name begins with, and the rest of the name. */
  private def descend(struct: StructType, name: String): Option[(Int, String)] = {
    val (first, rest) = name.span(_ != '.')
    val exact         = struct.fieldNames.indexOf(name)
    def own           = struct.fieldNames.indexOf(first)
    def inAnyCase = Some(struct.indices.filter(struct(_).name.equalsIgnoreCase(first))).filter(_.size == 1).map(_.head)
    if (exact >= 0) Some(exact -> "") else Some(own).filter(_ >= 0).orElse(inAnyCase).map(_ -> rest.drop(1))
  }
}
