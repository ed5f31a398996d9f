package io.merganser.table.verify

import io.merganser.table.base.{BaseFileFooter, BaseReadOptions}
import io.merganser.table.file.BaseFile
import io.merganser.table.index.StoredBloomFilter
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.{MetaColumns, SchemaHistory}
import io.merganser.table.slice.{DerivedColumns, FileSlice, RowKey, TableFileReader}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.CompletedInstants
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Partition paths and record keys of rows by their columns.
 *
 * @param columns that both are made of
 * @param paths   over rows of [[BaseFileCheck.metaColumns]], then these columns, in each form that writers may have
 *                used; none if it is not known
 * @param keys    likewise
 */
final case class PlaceOfRow(columns: StructType, paths: Seq[Expression], keys: Seq[Expression])

/** Whether a key belongs into a file group, by its partition path, its file id and the key. */
trait KeyPlace extends Serializable {
  def admits(partitionPath: String, fileId: String, key: UTF8String): Boolean
}

/**
 * Compares the rows of a base file with its footer, its name, its folder, its commit and the timeline. In a task.
 *
 * @param written rows that commits have for base files, by path
 * @param place   of keys in a table of buckets
 * @param ofRow   paths and keys of rows whose columns are stored; None if neither is known
 */
final class BaseFileCheck(
    storage: Storage,
    config: TableConfig,
    completed: CompletedInstants,
    history: Option[SchemaHistory],
    rowKey: Option[RowKey],
    written: Map[String, Long],
    place: Option[KeyPlace],
    ofRow: Option[PlaceOfRow]
) extends Serializable {
  private val columns = StructType(BaseFileCheck.metaColumns ++ ofRow.toSeq.flatMap(_.columns))

  def of(slice: FileSlice, base: BaseFile): Seq[Finding] = {
    val footer = BaseFileFooter.read(storage.conf, storage.path(base.path), base.sizeBytes)
    val found  = new FindingCounts(slice.partitionPath, slice.fileId, base.path)
    written.get(base.path).filter(rows => rows > 0 && rows != footer.rowCount).foreach { rows =>
      found.add(FindingKind.RecordCount, s"it has ${footer.rowCount} rows; commit ${base.instant} wrote $rows", None)
    }
    val reader = new TableFileReader(storage, slice.partitionPath, base, new DerivedColumns(config, columns, rowKey),
      BaseReadOptions(known = Some(footer), columns = history.map(_.columns(base.instant))))
    try {
      val check = new RowCheck(slice, base, footer, found)
      reader.rows().foreach(check.row)
    } finally reader.close()
    found.result
  }

  private final class RowCheck(slice: FileSlice, base: BaseFile, footer: BaseFileFooter, found: FindingCounts) {
    private[this] val storesMeta        = config.storesKeys
    private[this] val min               = footer.minKey.map(UTF8String.fromString).orNull
    private[this] val max               = footer.maxKey.map(UTF8String.fromString).orNull
    private[this] val filter            = footer.bloomFilter.flatMap(StoredBloomFilter.decode).orNull
    private[this] val partition         = UTF8String.fromString(slice.partitionPath)
    private[this] val name              = UTF8String.fromString(base.name)
    private[this] val pathOf            = projection(_.paths)
    private[this] val keyOf             = projection(_.keys)
    private[this] var otherPath: String = _ // of the first row that is of another partition
    private[this] var last: UTF8String  = _ // commit time of the row before, if it is on the timeline

    def row(row: InternalRow): Unit = {
      val key = if (row.isNullAt(BaseFileCheck.Key)) null else row.getUTF8String(BaseFileCheck.Key)
      if (key == null || key.numBytes == 0)
        found.add(FindingKind.NullKey, s"rows of ${base.name} have no record key", None)
      else keyed(key)
      if (storesMeta) meta(row, key)
      if (keyOf != null && key != null) {
        val made  = keyOf(row)
        val value = made.getUTF8String(0)
        if (!has(made, key))
          found.add(FindingKind.OtherKey,
            s"rows of ${base.name} whose key columns are " +
              (if (value == null) "null" else "those of another record key"), text(key))
      }
      if (pathOf != null) {
        val made = pathOf(row)
        if (!has(made, partition)) {
          if (otherPath == null) otherPath = String.valueOf(made.getUTF8String(0))
          found.add(FindingKind.OtherPartition, s"rows whose columns are those of another partition: '$otherPath'",
            text(key))
        }
      }
    }

    private def projection(of: PlaceOfRow => Seq[Expression]): UnsafeProjection =
      ofRow.map(of).filter(_.nonEmpty).map(UnsafeProjection.create(_)).orNull

    private def has(made: InternalRow, stored: UTF8String): Boolean =
      (0 until made.numFields).exists(form => made.getUTF8String(form) == stored)

    private def text(key: UTF8String): Option[String] = Option(key).map(_.toString)

    private def keyed(key: UTF8String): Unit = {
      if ((min != null && key.compareTo(min) < 0) || (max != null && key.compareTo(max) > 0))
        found.add(FindingKind.KeyStatistics, s"keys outside of the footer's range '$min' to '$max'", text(key))
      if (filter != null && !filter.mayContain(key.getBytes))
        found.add(FindingKind.KeyStatistics, "keys that the footer's Bloom filter rules out", text(key))
      if (place.exists(!_.admits(slice.partitionPath, slice.fileId, key)))
        found.add(FindingKind.OtherBucket, "keys that belong into another bucket", text(key))
    }

    private def meta(row: InternalRow, key: UTF8String): Unit = {
      def differs(at: Int, expected: UTF8String) = row.isNullAt(at) || row.getUTF8String(at) != expected
      if (differs(BaseFileCheck.Partition, partition))
        found.add(FindingKind.MetaColumns, s"rows whose ${MetaColumns.PartitionPath} is not '${slice.partitionPath}'",
          text(key))
      if (differs(BaseFileCheck.File, name))
        found.add(FindingKind.MetaColumns, s"rows whose ${MetaColumns.FileName} is not the name of their file",
          text(key))
      val at = BaseFileCheck.Commit
      if (row.isNullAt(at)) found.add(FindingKind.MetaColumns, s"rows without ${MetaColumns.CommitTime}", text(key))
      else if (row.getUTF8String(at) != last) {
        val commit = row.getUTF8String(at).copy()
        if (completed(commit.toString)) last = commit
        else found.add(FindingKind.MetaColumns,
          s"rows whose ${MetaColumns.CommitTime} '$commit' is no completed commit", text(key))
      }
    }
  }
}

object BaseFileCheck {

  /** The meta columns that are compared. */
  val metaColumns: StructType = StructType(
    Seq(MetaColumns.RecordKey, MetaColumns.PartitionPath, MetaColumns.FileName, MetaColumns.CommitTime).map(
      MetaColumns.schema(_)))

  private final val Key       = 0
  private final val Partition = 1
  private final val File      = 2
  private final val Commit    = 3
}
