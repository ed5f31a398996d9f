package io.merganser.table.slice

import io.merganser.table.base.BaseFileFooter
import io.merganser.table.schema.MetaColumns
import org.apache.parquet.hadoop.metadata.BlockMetaData
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.JavaConverters._

/**
 * The record keys of a part of a slice. Every key is in one of the parts of a base file.
 *
 * @param from  the least key; null if there is none
 * @param until the least key of the part that follows; null if there is none
 */
private[slice] final case class KeySpan(from: UTF8String, until: UTF8String) {
  def has(key: UTF8String): Boolean =
    (from == null || key.compareTo(from) >= 0) && (until == null || key.compareTo(until) < 0)
}

private[slice] object KeySpan {
  val All: KeySpan           = KeySpan(null, null)
  private val Empty: KeySpan = KeySpan(UTF8String.EMPTY_UTF8, UTF8String.EMPTY_UTF8)

  /**
   * The keys of row groups whose middle lies in a range of bytes, and those up to the next row group. None if two row
   * groups may have the same key, or if their least keys are not in the footer.
   */
  def of(footer: BaseFileFooter, start: Long, length: Long): Option[KeySpan] = {
    val groups = footer.metadata.getBlocks.asScala.toSeq
    val least  = if (footer.hasDistinctKeys) groups.flatMap(leastKey) else Nil
    def first(from: Long): UTF8String = groups.indexWhere(BaseFileFooter.middle(_) >= from) match {
      case -1    => null
      case group => least(group)
    }
    if (groups.isEmpty || least.size < groups.size) None
    else {
      val until = if (length > Long.MaxValue - start) null else first(start + length)
      if (start == 0) Some(KeySpan(null, until)) else Some(Option(first(start)).fold(Empty)(KeySpan(_, until)))
    }
  }

  private def leastKey(group: BlockMetaData): Option[UTF8String] =
    BaseFileFooter.statistics(group, MetaColumns.RecordKey).map(found => UTF8String.fromBytes(found.getMinBytes))
}
