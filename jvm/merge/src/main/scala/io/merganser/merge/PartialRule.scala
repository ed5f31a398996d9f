package io.merganser.merge

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

/**
 * Overlays a partial version on the older row: the columns it provides, nulls included, are its own; the others,
 * ordering fields included, are the older row's. Then the wrapped rule decides which of the two rows stays. Full
 * versions and deletes pass to the wrapped rule.
 *
 * Laws: as the wrapped rule for full versions. Partial ones are not associative (together they would keep columns of a
 * version that loses against the stored row), so [[KeyFold]] buffers them uncombined.
 *
 * @param nullsAreValues true if a null that a partial version provides is a value, even where the wrapped rule treats
 *                       nulls as missing values
 */
final class PartialRule(rule: MergeRule, layout: RowLayout, nullsAreValues: Boolean = false)
    extends WrappingRule(rule) {
  private[this] val types = layout.schema.map(_.dataType).toArray

  override def merge(older: Version, newer: Version): Version =
    if (newer.provided == null) rule.merge(older, newer)
    else {
      val overlaid = overlay(older, newer)
      overlaid.isOverlaid = nullsAreValues
      rule.merge(older, overlaid)
    }

  private def isFull(provided: Array[Boolean]): Boolean = {
    var i = 0
    while (i < provided.length && provided(i)) i += 1
    i == provided.length
  }

  private def overlay(older: Version, newer: Version): Version = if (isFull(newer.provided)) newer.asRow
  else {
    val columns  = new Array[Any](types.length)
    val provided = if (older.provided == null) null else new Array[Boolean](types.length)
    var i        = 0
    while (i < types.length) {
      val from = if (newer.provided(i)) newer.row else older.row
      columns(i) = RowLayout.valueAt(from, i, types(i))
      if (provided != null) provided(i) = newer.provided(i) || older.provided(i)
      i += 1
    }
    val result = new Version().set(new GenericInternalRow(columns), isDelete = false, isUnconditional = false)
    result.provided = provided
    result.inserts = provided != null && newer.inserts && older.inserts
    result
  }
}
