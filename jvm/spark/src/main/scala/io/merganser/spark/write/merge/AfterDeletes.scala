package io.merganser.spark.write.merge

import io.merganser.merge.buffer.{MergeIterator, StoredDeletes}
import io.merganser.merge.{KeyFold, RowLayout, Version}
import org.apache.spark.unsafe.types.UTF8String

/**
 * The versions of a batch for a log, those of a key after the delete that the base file retains for it: a log that has
 * both is read right by engines that do not know of retained deletes.
 *
 * @param versions emitted in ascending order of their keys
 */
private[write] final class AfterDeletes(
    versions: MergeIterator,
    deletes: StoredDeletes,
    layout: RowLayout,
    fold: KeyFold
) extends MergeIterator(fold) {
  private[this] var last: UTF8String = _
  private[this] var isWaiting        = false
  private[this] var deleted: Version = _ // of the current key; null if none is retained, or if a version won against it

  /** Keys of which a version won against the delete so far. */
  var insertedCount = 0L

  /** Deletes that were put before the versions of their keys. */
  var deleteCount = 0L

  override def next(): Boolean = {
    val found = isWaiting || versions.next()
    if (found) {
      val delete = if (isWaiting) null else deleteBefore()
      isWaiting = delete != null
      if (delete != null) {
        deleteCount += 1
        emit(delete)
      } else {
        outcome = versions.outcome
        row = versions.row
        storedRow = versions.storedRow
        winner = versions.winner
        if (deleted != null && winner != null && !winner.isDelete && (fold.merge(deleted, winner) ne deleted)) {
          insertedCount += 1
          deleted = null
        }
      }
    }
    found
  }

  /** The delete of a key that follows another one; null if none is retained. */
  private def deleteBefore(): Version = {
    val key = layout.key(versions.row)
    if (last != null && last.equals(key)) null
    else {
      last = key.copy()
      deleted = deletes.find(key)
      deleted
    }
  }
}
