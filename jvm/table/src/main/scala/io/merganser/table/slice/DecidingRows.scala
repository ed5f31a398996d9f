package io.merganser.table.slice

import io.merganser.merge.{OrderingComparator, RowLayout, Version}
import io.merganser.table.rule.StoredRule
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.sources.{Filter, GreaterThan, GreaterThanOrEqual}
import org.apache.spark.sql.types._

/**
 * Which stored rows can win against the versions in a slice's logs: under event time those with a greater ordering
 * value than the smallest one of the logs, under commit time none. Other rules are not known here.
 */
private[slice] final class DecidingRows(rule: StoredRule, layout: RowLayout) {
  private[this] val isKnown = rule match {
    case StoredRule.ByMode(_, _, missing) => missing.isEmpty
    case _                                => false
  }
  private[this] val isCompared         = isKnown && layout.ordering.nonEmpty
  private[this] val order              = if (isCompared) new OrderingComparator(layout) else null
  private[this] var least: InternalRow = _

  /** Adds a version of the logs. An unconditional delete wins whatever is stored. */
  def add(version: Version): Unit =
    if (isCompared && !version.isUnconditional && (least == null || order.compare(version.row, least) < 0))
      least = version.row.copy()

  /** True if every stored row loses. */
  def areNone: Boolean = isKnown && least == null

  /** What a stored row that may win satisfies; none where that is not known. */
  def filters: Seq[Filter] = if (least == null) Nil
  else {
    val field = layout.ordering.head
    val value = CatalystTypeConverters.convertToScala(field.valueIn(least), field.dataType)
    if (value == null || field.isNested || !DecidingRows.haveStatistics(field.dataType)) Nil
    else if (layout.ordering.length > 1) Seq(GreaterThanOrEqual(field.name, value))
    else Seq(GreaterThan(field.name, value))
  }
}

private object DecidingRows {

  /** Types whose smallest and largest value in a row group are compared as the rule compares them. */
  private def haveStatistics(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType | DateType | TimestampType => true
    case t: StringType                                                            => t == StringType
    case _                                                                        => false
  }
}
