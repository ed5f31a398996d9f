package io.merganser.spark.sql

import io.merganser.spark.write.KeyedSource
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.mutable

/**
 * Several source rows for one key are versions of one row: of those that a rule chooses from whole, the greatest by the
 * ordering columns goes through the clauses, and of ties the later one.
 *
 * @param key     ordinal of the record key
 * @param path    ordinal of the partition path; -1 where there is one partition only
 * @param arrival ordinal of a source row's place in the source
 * @param order   what the source has for the ordering columns, over the rows; empty where the later row counts
 */
private[sql] final case class LatestOfKey(key: Int, path: Int, arrival: Int, order: Seq[Expression]) {

  /** @param rows in order of their keys, those of a source row one after the other */
  def of(rows: Iterator[InternalRow]): Iterator[InternalRow] = new Iterator[InternalRow] {
    private[this] val project  = UnsafeProjection.create(order)
    private[this] val ordering = InterpretedOrdering.forSchema(order.map(_.dataType))

    private[this] val ready               = mutable.Queue.empty[InternalRow]
    private[this] val best                = mutable.ArrayBuffer.empty[InternalRow]
    private[this] var bestOrder: UnsafeRow = _
    private[this] var ownKey: UTF8String  = _
    private[this] var ownPath: UTF8String = _
    private[this] var place               = -1L
    private[this] var isBest              = false

    override def hasNext: Boolean = {
      while (ready.isEmpty && rows.hasNext) take(rows.next())
      if (ready.isEmpty) finish()
      ready.nonEmpty
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException
      ready.dequeue()
    }

    private def take(row: InternalRow): Unit = {
      val isNewKey = ownKey == null || row.getUTF8String(key) != ownKey || (KeyedSource.hasNoKey(ownKey) && row.getLong(arrival) != place) ||
        (path >= 0 && row.getUTF8String(path) != ownPath)
      val isNewRow = isNewKey || row.getLong(arrival) != place
      if (isNewKey) {
        finish()
        ownKey = row.getUTF8String(key).copy()
        if (path >= 0) ownPath = row.getUTF8String(path).copy()
      }
      if (isNewRow) {
        place = row.getLong(arrival)
        val own = project(row)
        isBest = best.isEmpty || ordering.compare(own, bestOrder) >= 0
        if (isBest) {
          best.clear()
          bestOrder = own.copy()
        }
      }
      if (isBest) best += row.copy()
    }

    private def finish(): Unit = {
      ready ++= best
      best.clear()
    }
  }
}
