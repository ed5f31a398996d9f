package io.merganser.merge

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

/**
 * Lays a partial version that wins over the one it met: the columns it provides are its own, also when null; the
 * others are the older version's. A version that loses, is full, or is a delete passes as the rule inside decided.
 *
 * Nothing is taken over from a deleted version. Laws: as the rule inside for full versions; with partial ones it is
 * not associative (a late full version must not fill what the stored row provides), so those are kept apart.
 */
final class PartialRule(rule: MergeRule, layout: RowLayout) extends MergeRule {
  private[this] val types = layout.schema.map(_.dataType).toArray

  override def laws: Laws = rule.laws

  override def merge(older: BufferedRecord, newer: BufferedRecord): BufferedRecord = {
    val winner = rule.merge(older, newer)
    if (newer.provided == null || (winner ne newer) || newer.isDelete || older.isDelete) winner else overlay(older, newer)
  }

  private def overlay(older: BufferedRecord, newer: BufferedRecord): BufferedRecord = {
    val columns  = new Array[Any](types.length)
    val provided = if (older.provided == null) null else new Array[Boolean](types.length)
    var i        = 0
    while (i < types.length) {
      val from = if (newer.provided(i)) newer.row else older.row
      columns(i) = from.get(i, types(i))
      if (provided != null) provided(i) = newer.provided(i) || older.provided(i)
      i += 1
    }
    val result = new BufferedRecord().set(new GenericInternalRow(columns), isDelete = false, isUnordered = false)
    result.provided = provided
    result.endsHistory = older.endsHistory
    result
  }
}
