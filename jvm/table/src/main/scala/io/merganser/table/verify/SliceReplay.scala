package io.merganser.table.verify

import io.merganser.merge.Version
import io.merganser.merge.buffer.{KeyTrace, SortedMerge, StoredDeletes, VersionCursor}
import io.merganser.table.explain.ValueJson
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.{FileSlice, SliceBatchReader, SlicePart, SliceRows, TableSnapshot}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.JavaConverters._
import scala.collection.mutable

/**
 * Merges the versions in a slice's logs on each path and compares the rows: as a snapshot read does, by column batches;
 * as a compaction does, row by row; as copy-on-writes of the logs' blocks do; one version after the other; and, where
 * the rule's laws allow it, in reverse order. In a task, whose memory has the versions of the slice.
 *
 * @param place of keys in a table of buckets
 */
final class SliceReplay(
    table: TableSnapshot,
    place: Option[KeyPlace]
) extends Serializable {
  import table.columns

  private val reader = table.reader(StructType(columns :+ MetaColumns.schema(MetaColumns.RecordKey)))

  /**
   * @param compacted the slice that a compaction made of this one, whose base file has to have its rows
   * @throws io.merganser.merge.MerganserException what reading a slice throws
   */
  def of(slice: FileSlice, compacted: Option[FileSlice] = None): Seq[Finding] = new Replay(slice, compacted).result

  private final class Replay(slice: FileSlice, compacted: Option[FileSlice]) {
    private[this] val layout = reader.input.layout
    private[this] val fold   = reader.input.fold(slice.group)
    private[this] val found  = new FindingCounts(slice.partitionPath, slice.fileId, "")
    private[this] val shown  = new ValueJson("UTC")
    private[this] val key    = columns.length
    private[this] val project = UnsafeProjection.create(columns.fields.zipWithIndex.map { case (field, i) =>
      BoundReference(i, field.dataType, nullable = true)
    }.toSeq)

    def result: Seq[Finding] = {
      val logged   = LoggedVersion.byKey(reader.input, slice)
      val versions = logged.map { case (key, some) => key -> some.map(_.version) }
      requirePlaces(logged)
      val stored  = mutable.HashMap.empty[UTF8String, Version]
      val several = mutable.HashSet.empty[UTF8String]
      // Rows without a key are a finding of their own, and are not merged.
      storedRows(versions.keySet, stored, several)
        .fold(found.result)(others => compared(logged, versions, stored, several, others))
    }

    private def compared(
        logged: collection.Map[UTF8String, collection.Seq[LoggedVersion]],
        versions: collection.Map[UTF8String, collection.Seq[Version]],
        stored: collection.Map[UTF8String, Version],
        several: collection.Set[UTF8String],
        others: Long
    ): Seq[Finding] = {
      val expected = versions.keysIterator.filterNot(several).map { key =>
        key -> image(traced(stored.get(key), versions(key)))
      }.toMap
      compare("a snapshot read", snapshot, expected, others, several)
      compare("a compaction", compaction, expected, others, several)
      compacted.foreach { next =>
        compare(s"the compaction ${next.baseInstant}", of(reader.storedRows(next)), expected, others, several)
      }
      versions.foreach { case (key, some) =>
        if (!several(key)) {
          val rewritten = image(copiedOnWrite(stored.get(key), some, logged(key).map(_.block)))
          if (rewritten != expected(key)) differs("copy-on-writes", key, rewritten, expected(key))
        }
        if (!several(key) && mayReverse(stored.get(key), some)) {
          val reversed = image(traced(stored.get(key), some.reverse))
          if (reversed != expected(key)) differs("the versions in reverse order", key, reversed, expected(key))
        }
      }
      found.result
    }

    private def requirePlaces(logged: collection.Map[UTF8String, collection.Seq[LoggedVersion]]): Unit =
      for (admitted <- place; (key, versions) <- logged if !admitted.admits(slice.partitionPath, slice.fileId, key))
        versions.foreach(version =>
          found.add(FindingKind.OtherBucket, s"keys in ${version.file} that belong into another bucket",
            Some(key.toString)))

    /** The number of rows whose key has no version; None if a row has no key. */
    private def storedRows(
        keys: collection.Set[UTF8String],
        stored: mutable.HashMap[UTF8String, Version],
        several: mutable.HashSet[UTF8String]
    ): Option[Long] = {
      var others  = 0L
      var isKeyed = true
      val rows    = reader.storedRows(slice)
      try rows.foreach { row =>
          val key = layout.key(row)
          if (key == null) isKeyed = false
          else if (!keys(key)) others += 1
          else {
            val copy = row.copy()
            val is   = layout.key(copy)
            if (stored.contains(is)) several += is
            stored.put(is, new Version().set(copy, isDelete = false, isUnconditional = false))
          }
        }
      finally rows.close()
      val deletes = reader.input.tombstones(slice).versions(layout, slice.partitionPath)
      keys.foreach { key =>
        if (!stored.contains(key)) Option(deletes.find(key)).foreach(stored.put(key, _))
      }
      if (isKeyed) Some(others) else None
    }

    private def traced(stored: Option[Version], versions: collection.Seq[Version]): Version = {
      val trace = new KeyTrace(fold, stored.orNull)
      versions.foreach(version => trace.add(version.copy()))
      trace.live
    }

    /** The row after a copy-on-write of each block's versions; deletes are retained between them. */
    private def copiedOnWrite(
        stored: Option[Version],
        versions: collection.Seq[Version],
        blocks: collection.Seq[Int]
    ): Version = {
      var row     = stored.filterNot(_.isDelete).map(_.row).orNull
      var deleted = stored.filter(_.isDelete).orNull
      versions.indices.groupBy(blocks).toSeq.sortBy(_._1).foreach { case (_, batch) =>
        val left = batch.iterator.map(versions)
        val cursor = new VersionCursor {
          override val record: Version = new Version
          override def next(): Boolean = left.hasNext && { record.become(left.next().copy()); true }
        }
        val delete                 = deleted
        val deletes: StoredDeletes = new StoredDeletes { override def find(key: UTF8String): Version = delete }
        val merge                  = SortedMerge.rewrite(Option(row).iterator, cursor, layout, fold, deletes = deletes)
        if (merge.next())
          if (merge.isLive) {
            row = merge.row.copy()
            deleted = null
          } else {
            row = null
            if (merge.winner.isDelete) deleted = merge.winner.copy()
          }
      }
      if (row == null) null else new Version().set(row, isDelete = false, isUnconditional = false)
    }

    private def of(rows: SliceRows)(use: InternalRow => Unit): Unit =
      try rows.foreach(use)
      finally rows.close()

    /** Null if there is no row. */
    private def image(version: Version): UnsafeRow = if (version == null) null else project(version.row).copy()

    /**
     * Whether the order of the versions is free: no two have one ordering value, none is partial, and none is a delete
     * that removes whatever is older.
     */
    private def mayReverse(stored: Option[Version], versions: collection.Seq[Version]): Boolean =
      reader.input.laws.orderFree && layout.ordering.nonEmpty && versions.length + stored.size > 1 &&
        versions.forall(v => !v.isUnconditional && !v.isPartial && !v.endsHistory) && {
          val all = (stored.toSeq ++ versions).map(v =>
            layout.ordering.toSeq.map(field => normal(field.valueIn(v.row))))
          all.distinct.size == all.size
        }

    /** Zero of either sign is one value. */
    private def normal(value: Any): Any = value match {
      case d: Double => d + 0.0d
      case f: Float  => f + 0.0f
      case other     => other
    }

    private def snapshot(use: InternalRow => Unit): Unit = {
      val batches = new SliceBatchReader(reader.input).batches(SlicePart(slice))
      try batches.foreach(_.rowIterator().asScala.foreach(use))
      finally batches.close()
    }

    private def compaction(use: InternalRow => Unit): Unit = {
      val open = reader.merge(slice)
      try while (open.merge.next()) if (open.merge.isLive) use(open.merge.row)
      finally open.close()
    }

    private def compare(
        path: String,
        read: (InternalRow => Unit) => Unit,
        expected: Map[UTF8String, UnsafeRow],
        others: Long,
        several: collection.Set[UTF8String]
    ): Unit = {
      val seen  = mutable.HashSet.empty[UTF8String]
      var extra = 0L
      read { row =>
        val is = row.getUTF8String(key)
        expected.get(is) match {
          case Some(wanted) =>
            val image = project(row)
            if (image != wanted) differs(path, is.copy(), image.copy(), wanted)
            seen += is.copy()
          case None => if (!several(is)) extra += 1
        }
      }
      expected.foreach { case (key, row) => if (row != null && !seen(key)) differs(path, key, null, row) }
      if (extra != others)
        found.add(FindingKind.Replay, s"$path has $extra rows without a version in the logs, the base file $others",
          None)
    }

    /** One sentence for all keys of a path, with the rows of the first one. */
    private def differs(path: String, key: UTF8String, is: UnsafeRow, wanted: UnsafeRow): Unit = {
      def example = s"$path results in ${show(is)}, the versions one after the other in ${show(wanted)}"
      found.add(FindingKind.Replay, examples.getOrElseUpdate(path, example), Some(key.toString))
    }

    private[this] val examples = mutable.HashMap.empty[String, String]

    private def show(row: UnsafeRow): String =
      if (row == null) "no row" else shown.row(row, columns, columns.indices)
  }
}
