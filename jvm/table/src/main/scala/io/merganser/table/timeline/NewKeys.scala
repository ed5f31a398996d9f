package io.merganser.table.timeline

import io.merganser.table.Storage
import io.merganser.table.base.{BaseFileFooter, BaseFileReader, MetaColumns}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Keys that an upsert added while another writer added them too: neither found them stored, each put them into a file
 * group of its own, and readers would see both rows. Plain inserts may add a key twice, upserts may not.
 *
 * Where the key ranges of two files meet, their key columns are walked side by side, in the order both lie in.
 */
private[timeline] object NewKeys {

  private val KeyColumn = StructType(Seq(MetaColumns.schema(MetaColumns.RecordKey)))

  /** @return why the write cannot be committed, if it cannot */
  def broughtByOthers(storage: Storage, began: Timeline, now: Timeline, instant: String, metadata: CommitMetadata): Option[String] =
    if (metadata.operationType != "UPSERT") None
    else {
      val ours = withNewKeys(metadata)
      val found = for {
        other  <- Conflicts.completedSince(began, now, instant).iterator
        theirs <- withNewKeys(now.metadata(other)).iterator
        own    <- ours.iterator
        if own.partitionPath == theirs.partitionPath && meet(storage, own, theirs)
      } yield s"${other.action} ${other.requested} added a key to partition '${own.partitionPath}' that this write adds too"
      if (found.hasNext) Some(found.next()) else None
    }

  private def withNewKeys(metadata: CommitMetadata): Seq[WriteStat] =
    metadata.allStats.filter(stat => !stat.isLogFile && stat.numInserts > 0)

  private def meet(storage: Storage, a: WriteStat, b: WriteStat): Boolean = {
    val (one, other) = (footer(storage, a), footer(storage, b))
    def isBelow(x: BaseFileFooter, y: BaseFileFooter) =
      x.maxKey.exists(max => y.minKey.exists(min => UTF8String.fromString(max).compareTo(UTF8String.fromString(min)) < 0))
    if (isBelow(one, other) || isBelow(other, one)) false
    else if (!one.isSorted || !other.isSorted) true
    else {
      val (left, right) = (keys(storage, a), keys(storage, b))
      try haveOneInCommon(left.rows(), right.rows())
      finally { left.close(); right.close() }
    }
  }

  private def haveOneInCommon(left: Iterator[InternalRow], right: Iterator[InternalRow]): Boolean = {
    def next(rows: Iterator[InternalRow]) = if (rows.hasNext) rows.next().getUTF8String(0) else null
    var (l, r)                            = (next(left), next(right))
    var order                             = -1
    while (l != null && r != null && order != 0) {
      order = l.compareTo(r)
      if (order < 0) l = next(left) else if (order > 0) r = next(right)
    }
    order == 0
  }

  private def footer(storage: Storage, stat: WriteStat): BaseFileFooter =
    BaseFileFooter.read(storage.conf, storage.path(stat.path), stat.fileSizeInBytes)

  private def keys(storage: Storage, stat: WriteStat): BaseFileReader =
    new BaseFileReader(storage.conf, storage.path(stat.path), stat.fileSizeInBytes, KeyColumn)
}
