package io.merganser.spark.write.merge

import io.merganser.merge.buffer.{MergeIterator, StoredDeletes}
import io.merganser.merge.{KeyFold, RowLayout, Version}
import org.apache.spark.unsafe.types.UTF8String

/**
 * The versions of a batch for a log, without those that lose to the delete that the base file retains for their key: in
 * the log they would be rows to engines that do not know of it. Once a version of a key is in the log, the merge of the
 * logs decides on all later ones.
 *
 * @param versions emitted in ascending order of their keys
 * @param inLogs   keys that the slice's logs have, read once it is needed
 */
private[write] final class UnrefusedVersions(
    versions: MergeIterator,
    deletes: StoredDeletes,
    inLogs: => collection.Set[UTF8String],
    layout: RowLayout,
    fold: KeyFold
) extends MergeIterator(fold) {
  private[this] lazy val logged      = inLogs
  private[this] var last: UTF8String = _
  private[this] var delete: Version  = _ // of the current key; null if its next version goes into the log as it is

  /** Keys that a version has brought back so far. */
  var insertedCount = 0L

  /** Versions that lost so far. */
  var refusedCount = 0L

  override def next(): Boolean = {
    var found = versions.next()
    while (found && isRefused) {
      refusedCount += 1
      found = versions.next()
    }
    if (found) follow(versions)
    found
  }

  private def isRefused: Boolean = {
    val key = layout.key(versions.row)
    if (last == null || !last.equals(key)) {
      last = key.copy()
      delete = deletes.find(key)
      if (delete != null && logged.contains(last)) delete = null
    }
    delete != null && versions.winner != null && {
      val refused = fold.merge(delete, versions.winner) eq delete
      if (!refused) {
        if (!versions.winner.isDelete) insertedCount += 1
        delete = null
      }
      refused
    }
  }
}
