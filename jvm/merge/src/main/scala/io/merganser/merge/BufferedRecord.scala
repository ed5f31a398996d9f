package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow

/**
 * One version of a row, as a [[RecordMerger]] sees it. It cannot be changed; [[RecordContext]] makes new ones.
 *
 * Readers reuse its row: to keep a record beyond a call, copy it with [[RecordContext.copy]].
 */
final class BufferedRecord private[merge] (private[merge] val owner: RowContext, private[merge] val version: Version) {

  /** The record key, as the table stores it; never null. */
  def getRecordKey: String = owner.key(version)

  /**
   * The ordering value: the Java value of a single field, or an [[OrderingValues]] for several. It never changes: a
   * record with another value in an ordering column is another record.
   *
   * @return null if the value is null, if the table has no ordering fields, and for a delete that has none
   */
  def getOrderingValue: Comparable[_] = owner.ordering(version)

  /** The columns of [[RecordContext.getSchema]], in that order; null for a delete. Do not change or keep it. */
  def getRecord: InternalRow = owner.data(version)

  /** Id of the columns that the record provides: 0 for all of them, negative for a delete, which provides none. */
  def getSchemaId: Int = owner.schemaId(version)

  /** DELETE for every delete; for other rows, the operation in their `_hoodie_operation` column, or else INSERT. */
  def getOperation: RecordOperation = owner.operation(version)

  /** True for a version that removes its key. It has no data. */
  def isDelete: Boolean = version.isDelete

  /** True for a delete without an ordering value, as from SQL DELETE: it wins over everything older. */
  def isCommitTimeOrderingDelete: Boolean = owner.isUnconditional(version)

  /** For messages: a delete, or the first columns and their values. */
  override def toString: String = owner.describe(version)
}

/** The values of several ordering fields, compared one after the other; null is the smallest value. */
final class OrderingValues private[merge] (owner: RowContext, version: Version) extends Comparable[OrderingValues] {

  /** The values in the order of the fields; they may be null. */
  lazy val values: java.util.List[AnyRef] = owner.orderingValues(version)

  override def compareTo(other: OrderingValues): Int = owner.compareValues(values, other.values)

  override def equals(other: Any): Boolean = other match {
    case that: OrderingValues => values.equals(that.values)
    case _                    => false
  }

  override def hashCode: Int = values.hashCode

  override def toString: String = values.toString
}
