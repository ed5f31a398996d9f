package io.merganser.table.change

import io.merganser.merge.{DeleteCheck, OrderingComparator, OrderingField, RowLayout}
import io.merganser.table.rule.{CompiledRule, StoredRule}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.MapData
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Why a row changed, as its images show it: the same for changes that a file has and for those that are computed.
 *
 *  - `deleted`: the row is gone.
 *  - `filled`: under a rule that completes rows column by column, only columns without a value got one, and no ordering
 *    value grew.
 *  - `merged`: under a rule of functions of columns, a tied or late-arriving version changed columns in another way.
 *  - `tie`: the ordering values are equal, and the newer version won for that.
 *  - `won`: a version won by its ordering value, or because the rule compares none; and every insert.
 */
final class ChangeReason(rule: StoredRule, columns: StructType) {
  import ChangeReason._

  private[this] val fields = CompiledRule.orderingFields(rule, columns).flatMap(OrderingField.find(columns, _))
  private[this] val comparator =
    OrderingComparator.of(RowLayout(columns, keyOrdinal = -1, fields.toArray, DeleteCheck(columns, Nil)))
  private[this] val isByColumn = rule.isInstanceOf[StoredRule.Declared]
  private[this] val types      = columns.fields.map(_.dataType)

  /**
   * @param before the row before, or null
   * @param after  the row after, or null
   */
  def of(before: InternalRow, after: InternalRow): UTF8String =
    if (after == null) Deleted
    else if (before == null) Won
    else {
      val isOrdered = comparator != null
      if (isOrdered && comparator.compare(before, after) != 0) Won
      else if (rule.fillsColumns && onlyFills(before, after)) Filled
      else if (isOrdered) { if (isByColumn) Merged else Tie }
      else Won
    }

  private def onlyFills(before: InternalRow, after: InternalRow): Boolean = {
    var i            = 0
    var (only, some) = (true, false)
    while (only && i < types.length) {
      if (before.isNullAt(i)) some = some || !after.isNullAt(i)
      else only = !after.isNullAt(i) && areSame(before.get(i, types(i)), after.get(i, types(i)))
      i += 1
    }
    only && some
  }

  /** Arrays of bytes and maps are no equal objects. */
  private def areSame(before: Any, after: Any): Boolean = (before, after) match {
    case (a: Array[Byte], b: Array[Byte]) => java.util.Arrays.equals(a, b)
    case (a: MapData, b: MapData)         => a.keyArray == b.keyArray && a.valueArray == b.valueArray
    case _                                => before == after
  }
}

object ChangeReason {
  val Deleted: UTF8String = UTF8String.fromString("deleted")
  val Filled: UTF8String  = UTF8String.fromString("filled")
  val Merged: UTF8String  = UTF8String.fromString("merged")
  val Tie: UTF8String     = UTF8String.fromString("tie")
  val Won: UTF8String     = UTF8String.fromString("won")
}
