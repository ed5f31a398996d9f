package io.merganser.spark.write.merge

import io.merganser.merge.{KeyFold, RowLayout, Version}
import io.merganser.merge.buffer.VersionCursor
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.unsafe.types.UTF8String

/**
 * Completes the partial versions of a batch before they go into a log, so that other engines can read them too: the
 * first of a key that no reader sees becomes a full row, and a missing ordering field gets the value that the row has
 * at that point, computed by the table's rule from the key and the ordering columns alone. Neither changes the result
 * of the merge.
 *
 * After a delete with an ordering value the state of its key is unknown: the reader decides whether the delete wins.
 *
 * @param versions     in ascending order of the key's unsigned bytes, those of a key oldest first
 * @param stored       the rows that readers see, in the same order, with the columns of `storedLayout`
 * @param storedLayout key and ordering fields
 * @param fold         by the table's rule, for rows of that layout
 * @param completesOrdering false if the rule may distinguish a missing ordering value from the stored one
 */
private[write] final class LoggedVersions(
    versions: VersionCursor,
    stored: Iterator[InternalRow],
    storedLayout: RowLayout,
    fold: KeyFold,
    layout: RowLayout,
    completesOrdering: Boolean
) extends VersionCursor {
  private[this] val types       = layout.schema.map(_.dataType).toArray
  private[this] val ordinals    = layout.orderingOrdinals.distinct
  private[this] val inStored    = ordinals.map(i => storedLayout.schema.fieldNames.indexOf(layout.schema(i).name))
  private[this] val completes   = completesOrdering && ordinals.nonEmpty && inStored.forall(_ >= 0)
  private[this] val storedTypes = storedLayout.schema.map(_.dataType).toArray
  private[this] val allProvided = Array.fill(storedTypes.length)(true)

  private[this] var current: Version        = _
  private[this] var key: UTF8String         = _
  private[this] var storedRow: InternalRow  = if (stored.hasNext) stored.next() else null
  private[this] var rowExists               = false
  private[this] var beforeOrderedDelete     = true
  private[this] var known: Version          = _ // the row at this point, of the stored layout; null if unknown
  private[this] var mask: Array[Boolean]    = _
  private[this] var widened: Array[Boolean] = _

  override def record: Version = current

  override def next(): Boolean = versions.next() && {
    val version = versions.record
    val own     = layout.key(version.row)
    if (own != key) begin(own.copy())
    current = if (version.isDelete) deleted(version) else if (version.isPartial) completed(version) else merged(version)
    true
  }

  private def begin(own: UTF8String): Unit = {
    key = own
    while (storedRow != null && storedLayout.key(storedRow).compareTo(key) < 0)
      storedRow = if (stored.hasNext) stored.next() else null
    rowExists = storedRow != null && storedLayout.key(storedRow) == key
    beforeOrderedDelete = true
    known =
      if (rowExists && completes) new Version().set(storedRow.copy(), isDelete = false, isUnconditional = false)
      else null
  }

  private def deleted(version: Version): Version = {
    known = null
    beforeOrderedDelete = version.isUnconditional
    if (version.isUnconditional) rowExists = false
    version
  }

  private def completed(version: Version): Version =
    if (version.inserts && !rowExists) merged(version.asRow)
    else if (known == null || ordinals.forall(version.provided(_))) merged(version)
    else {
      val columns = new Array[Any](types.length)
      var i       = 0
      while (i < types.length) {
        columns(i) = RowLayout.valueAt(version.row, i, types(i))
        i += 1
      }
      for (n <- ordinals.indices if !version.provided(ordinals(n)))
        columns(ordinals(n)) = InternalRow.copyValue(RowLayout.valueAt(known.row, inStored(n), types(ordinals(n))))
      val result = new Version().set(new GenericInternalRow(columns), isDelete = false, isUnconditional = false)
      result.provided = withOrdering(version.provided)
      result.inserts = version.inserts
      merged(result)
    }

  /** Returns the same array for the same mask, so that its rows are in one block. */
  private def withOrdering(provided: Array[Boolean]): Array[Boolean] = {
    if (mask ne provided) {
      mask = provided
      widened = provided.clone()
      ordinals.foreach(widened(_) = true)
    }
    widened
  }

  /** Merges a version that has all ordering fields with the row as it is at this point. */
  private def merged(version: Version): Version = {
    rowExists = true
    if (completes && beforeOrderedDelete && (version.provided == null || ordinals.forall(version.provided(_)))) {
      val newer = orderingOf(version)
      known = if (known == null) newer else fold.merge(known, newer)
    }
    version
  }

  private def orderingOf(version: Version): Version = {
    val columns = new Array[Any](storedTypes.length)
    columns(storedLayout.keyOrdinal) = key
    for (n <- ordinals.indices)
      columns(inStored(n)) = InternalRow.copyValue(RowLayout.valueAt(version.row, ordinals(n), types(ordinals(n))))
    val result = new Version().set(new GenericInternalRow(columns), isDelete = false, isUnconditional = false)
    if (version.isPartial) result.provided = allProvided
    result
  }
}
