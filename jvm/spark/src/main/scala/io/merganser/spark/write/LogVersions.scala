package io.merganser.spark.write

import io.merganser.merge.{OrderingComparator, RowLayout, Version}
import io.merganser.merge.buffer.VersionCursor
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.unsafe.types.UTF8String

/**
 * A batch's versions on their way into a log, partial ones completed by what is stored, so that other engines can read them
 * too: the first of a key that no reader sees becomes a whole row, and an ordering field that is not provided becomes the one
 * that the row has by then. Neither changes what the versions come to.
 *
 * What is known of a key ends with a delete that has an ordering value: whether it wins is for the reader to find.
 *
 * @param versions     in ascending order of the key's unsigned bytes, those of a key oldest first
 * @param stored       the rows that readers see, in the same order; their columns are the key and ordering fields
 * @param storedLayout of those rows
 * @param completesOrdering false where the rule may tell an ordering value that is not provided from the stored one
 */
private[write] final class LogVersions(
    versions: VersionCursor,
    stored: Iterator[InternalRow],
    storedLayout: RowLayout,
    layout: RowLayout,
    completesOrdering: Boolean
) extends VersionCursor {
  private[this] val types      = layout.schema.map(_.dataType).toArray
  private[this] val ordinals   = layout.orderingOrdinals
  private[this] val inStored   = ordinals.map(i => storedLayout.schema.fieldNames.indexOf(layout.schema(i).name))
  private[this] val completes  = completesOrdering && ordinals.nonEmpty && inStored.forall(_ >= 0)
  private[this] val comparator = if (completes) new OrderingComparator(layout) else null

  private[this] var current: Version      = _
  private[this] var key: UTF8String       = _
  private[this] var held: InternalRow     = if (stored.hasNext) stored.next() else null
  private[this] var isThere               = false
  private[this] var isKnown               = false
  private[this] var isOpen                = true
  private[this] val ordering              = new GenericInternalRow(types.length)
  private[this] var mask: Array[Boolean]  = _
  private[this] var wider: Array[Boolean] = _

  override def record: Version = current

  override def next(): Boolean = versions.next() && {
    val version = versions.record
    val own     = layout.key(version.row)
    if (own != key) begin(own.copy())
    current = if (version.isDelete) deleted(version) else if (version.isPartial) completed(version) else seen(version)
    true
  }

  private def begin(own: UTF8String): Unit = {
    key = own
    while (held != null && storedLayout.key(held).compareTo(key) < 0) held = if (stored.hasNext) stored.next() else null
    isThere = held != null && storedLayout.key(held) == key
    isKnown = isThere && completes
    isOpen = true
    if (isKnown) {
      var i = 0
      while (i < ordinals.length) {
        ordering.update(ordinals(i), InternalRow.copyValue(RowLayout.valueAt(held, inStored(i), types(ordinals(i)))))
        i += 1
      }
    }
  }

  private def deleted(version: Version): Version = {
    isKnown = false
    isOpen = version.isUnordered
    if (version.isUnordered) isThere = false
    version
  }

  private def completed(version: Version): Version =
    if (version.inserts && !isThere) seen(version.asRow)
    else if (!isKnown || ordinals.forall(version.provided(_))) seen(version)
    else {
      val columns = new Array[Any](types.length)
      var i       = 0
      while (i < types.length) {
        columns(i) = RowLayout.valueAt(version.row, i, types(i))
        i += 1
      }
      for (at <- ordinals if !version.provided(at)) columns(at) = ordering.get(at, types(at))
      val result = new Version().set(new GenericInternalRow(columns), isDelete = false, isUnordered = false)
      result.provided = withOrdering(version.provided)
      result.inserts = version.inserts
      seen(result)
    }

  /** The same mask for the same mask, so that its rows are of one block. */
  private def withOrdering(provided: Array[Boolean]): Array[Boolean] = {
    if (mask ne provided) {
      mask = provided
      wider = provided.clone()
      ordinals.foreach(wider(_) = true)
    }
    wider
  }

  /** The ordering values of the row that there is now are these, if they are not late. */
  private def seen(version: Version): Version = {
    isThere = true
    val whole = version.provided == null || ordinals.forall(version.provided(_))
    if (completes && isOpen && whole && (!isKnown || comparator.compare(version.row, ordering) >= 0)) {
      isKnown = true
      for (at <- ordinals) ordering.update(at, InternalRow.copyValue(RowLayout.valueAt(version.row, at, types(at))))
    }
    version
  }
}
