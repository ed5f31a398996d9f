package io.merganser.merge

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

/**
 * Lays a partial version over the older row: the columns it provides are its own, also when null; the others, an
 * ordering field too, are the older row's. Then the rule inside decides which of the two rows stays.
 *
 * Nothing is laid over a delete: to a partial version the key is not there, so the delete stays as it was, unless the
 * version inserts: then it meets the delete as a row of its own. Full versions and deletes pass to the rule inside.
 *
 * Laws: as the rule inside for full versions. Partial ones are not associative (together they would bring columns of
 * a version that loses against the stored row), so whoever buffers keeps those apart.
 *
 * @param nullsAreValues a null that a partial version provides is a value, also where the rule inside takes nulls for values that
 *                       were not sent
 */
final class PartialRule(rule: MergeRule, layout: RowLayout, nullsAreValues: Boolean = false) extends MergeRule {
  private[this] val types = layout.schema.map(_.dataType).toArray

  override def laws: Laws = rule.laws

  override def combine(older: Version, newer: Version): Version = rule.combine(older, newer)

  override def combinesBatch: Boolean = rule.combinesBatch

  override def insert(version: Version): Version = rule.insert(version)

  override def at(fileGroup: String): MergeRule = new PartialRule(rule.at(fileGroup), layout, nullsAreValues)

  override def merge(older: Version, newer: Version): Version =
    if (newer.provided == null || newer.isDelete) rule.merge(older, newer)
    else if (older.isDelete) { if (newer.inserts) rule.merge(older, newer.asRow) else older }
    else {
      val laid = overlay(older, newer)
      if (nullsAreValues) rule.mergeLaid(older, laid) else rule.merge(older, laid)
    }

  private def isWhole(provided: Array[Boolean]): Boolean = {
    var i = 0
    while (i < provided.length && provided(i)) i += 1
    i == provided.length
  }

  private def overlay(older: Version, newer: Version): Version = if (isWhole(newer.provided)) newer.asRow
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
    val result = new Version().set(new GenericInternalRow(columns), isDelete = false, isUnordered = false)
    result.provided = provided
    result.inserts = provided != null && newer.inserts && older.inserts
    result
  }
}
