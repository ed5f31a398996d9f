package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Ascending, BoundReference, RowOrdering, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.LazilyGeneratedOrdering
import org.apache.spark.sql.types._

/**
 * Compares the ordering fields of two rows of one layout, field by field; the first difference decides. Null is the
 * smallest value of every type; strings compare as UTF-8 bytes, NaN is the largest number.
 *
 * The comparison is compiled for the declared types, once where the comparator is made and once where it is sent.
 */
final class OrderingComparator(layout: RowLayout) extends RowOrder {
  private[this] val compiled = new LazilyGeneratedOrdering(layout.orderingOrdinals.toSeq.map { i =>
    SortOrder(BoundReference(i, layout.schema(i).dataType, nullable = true), Ascending)
  })

  override def compare(a: InternalRow, b: InternalRow): Int = compiled.compare(a, b)
}

object OrderingComparator {

  /** True for a type whose values can be an ordering field: every type with an order but structs, arrays and maps. */
  def isOrdered(dataType: DataType): Boolean = dataType match {
    case _: StructType | _: ArrayType | _: MapType => false
    case udt: UserDefinedType[_]                   => isOrdered(udt.sqlType)
    case other                                     => RowOrdering.isOrderable(other)
  }
}
