package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Ascending, RowOrdering, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.LazilyGeneratedOrdering
import org.apache.spark.sql.types._

/**
 * Compares the ordering fields of two rows of one layout, field by field; the first difference decides. Null is the
 * smallest value of every type; strings compare as UTF-8 bytes, NaN is the largest number.
 *
 * Longs and strings, the usual types, are compared in place; for other types, and inside structs, the comparison is
 * compiled, once where the comparator is made and once where it is sent.
 */
final class OrderingComparator(layout: RowLayout) extends RowOrder {
  import OrderingComparator._

  private[this] val ordinals = layout.orderingOrdinals
  private[this] val kinds    = layout.ordering.map(kind)
  private[this] val compiled = layout.ordering.map { field =>
    if (kind(field) != Other) null else new LazilyGeneratedOrdering(Seq(SortOrder(field.reference, Ascending)))
  }

  /** The field that is compared first; null without ordering fields. */
  val first: OrderingField = layout.ordering.headOption.orNull

  private[this] val onlyLong = if (kinds.length == 1 && kinds(0) == Longs) ordinals(0) else -1

  override def compare(a: InternalRow, b: InternalRow): Int =
    if (onlyLong >= 0) compareLongs(a, b, onlyLong) else compareAll(a, b)

  /** Whether a version has a smaller ordering value than a row. One that does not provide it has that of the row. */
  def isLate(version: Version, row: InternalRow): Boolean =
    (version.provided == null || ordinals.forall(version.provided(_))) && compare(version.row, row) < 0

  private def compareAll(a: InternalRow, b: InternalRow): Int = {
    var result = 0
    var i      = 0
    while (result == 0 && i < kinds.length) {
      result = kinds(i) match {
        case Longs   => compareLongs(a, b, ordinals(i))
        case Strings => compareStrings(a, b, ordinals(i))
        case _       => compiled(i).compare(a, b)
      }
      i += 1
    }
    result
  }
}

object OrderingComparator {

  /** Null for a layout without ordering fields. */
  def of(layout: RowLayout): OrderingComparator =
    if (layout.ordering.isEmpty) null else new OrderingComparator(layout)

  private final val Longs   = 0
  private final val Strings = 1
  private final val Other   = 2

  private def kind(field: OrderingField): Int = field.dataType match {
    case _ if field.isNested      => Other
    case LongType | TimestampType => Longs
    case StringType               => Strings
    case _                        => Other
  }

  private def compareLongs(a: InternalRow, b: InternalRow, ordinal: Int): Int =
    if (RowAccess.isNullAt(a, ordinal) || RowAccess.isNullAt(b, ordinal)) compareNulls(a, b, ordinal)
    else java.lang.Long.compare(RowAccess.getLong(a, ordinal), RowAccess.getLong(b, ordinal))

  private def compareStrings(a: InternalRow, b: InternalRow, ordinal: Int): Int =
    if (RowAccess.isNullAt(a, ordinal) || RowAccess.isNullAt(b, ordinal)) compareNulls(a, b, ordinal)
    else StringBytes.compare(a, b, ordinal)

  private def compareNulls(a: InternalRow, b: InternalRow, ordinal: Int): Int =
    java.lang.Boolean.compare(b.isNullAt(ordinal), a.isNullAt(ordinal))

  /** True for a type whose values can be an ordering field: every orderable type except structs, arrays and maps. */
  def isOrdered(dataType: DataType): Boolean = dataType match {
    case _: StructType | _: ArrayType | _: MapType => false
    case udt: UserDefinedType[_]                   => isOrdered(udt.sqlType)
    case other                                     => RowOrdering.isOrderable(other)
  }
}
