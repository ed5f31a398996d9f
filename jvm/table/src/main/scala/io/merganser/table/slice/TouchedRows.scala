// Hot path: one call per row.
package io.merganser.table.slice

import io.merganser.merge.buffer.{SortedRows, VersionCursor}
import io.merganser.merge.{RowLayout, Version}
import io.merganser.table.base.{BaseFileFooter, BaseReadOptions, RecentRows, ReplacedFile}
import io.merganser.table.schema.MetaColumns
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BaseGenericInternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import java.io.Closeable

/**
 * The base file of a slice, which is merged with versions into a file that replaces it.
 *
 * @param layout      of the rows
 * @param isChanged   whether there may be versions for the file
 * @param readsByKeys whether rows without versions may have keys and commit times alone
 * @param open        reads the file
 */
final class ReplacedRows(
    writer: SliceWriter,
    slice: FileSlice,
    layout: RowLayout,
    isChanged: Boolean,
    readsByKeys: Boolean,
    open: BaseReadOptions => TableFileReader
) extends Closeable {
  private[this] val reader               = open(BaseReadOptions())
  private[this] var touched: TouchedRows = _

  def footer: BaseFileFooter = reader.footer

  /** Its rows in the order of the file. */
  def unsorted: Iterator[InternalRow] = reader.rows()

  /**
   * Its rows in key order, and the versions to merge them with; rows of another order are sorted.
   *
   * @param versions in key order
   */
  def sorted(versions: VersionCursor): (Iterator[InternalRow], VersionCursor) =
    (if (readsByKeys) writer.keptByKey(slice, footer) else None) match {
      case Some(file) if file.groupCount > 1 || !isChanged =>
        val followed = new FollowedKeys(versions, layout)
        val after    = RecentRows.after(footer, slice.baseInstant)
        touched = new TouchedRows(file, after, followed, layout, group => open(file.readOptions(group)))
        (touched, followed)
      case _ =>
        (if (footer.isSorted) reader.rows() else SortedRows.byKey(reader.rows(), layout), versions)
    }

  override def close(): Unit =
    try reader.close()
    finally if (touched != null) touched.close()
}

/**
 * The rows of a base file in key order, for a merge with versions whose result replaces the file. Of row groups without
 * a row for any version only keys and commit times are read: their rows have no other column.
 *
 * @param after    row groups with a later commit time are read with all columns, for
 *                 [[io.merganser.table.base.RecentRows recent rows]]
 * @param versions those that the merge reads
 * @param open     reads all columns of a row group
 */
private final class TouchedRows(
    file: ReplacedFile,
    after: String,
    versions: FollowedKeys,
    layout: RowLayout,
    open: Int => TableFileReader
) extends Iterator[InternalRow] with Closeable {
  private[this] val bound                       = UTF8String.fromString(after)
  private[this] val keyOnly                     = new KeyRow(layout)
  private[this] var group                       = -1
  private[this] var reader: Closeable           = _
  private[this] var rows: Iterator[InternalRow] = Iterator.empty
  private[this] var left                        = 0L
  private[this] var last: UTF8String            = _ // the last key of the last row group that was read; null for none

  override def hasNext: Boolean = {
    while (!rows.hasNext) {
      if (group + 1 >= file.groupCount) return false
      nextGroup()
    }
    true
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    val row = rows.next()
    left -= 1
    if (left == 0) last = layout.key(row).copy()
    row
  }

  private def nextGroup(): Unit = {
    close()
    group += 1
    left = file.rowCount(group)
    val isTouched = file.keyRange(group).forall { case (least, greatest) => versions.touch(last, least, greatest) }
    if (isTouched || file.lastCommit(group).forall(_.compareTo(bound) > 0)) {
      val all = open(group)
      reader = all
      rows = all.rows()
    } else {
      val keys = file.reader(group, KeyRow.columns)
      reader = keys
      rows = keys.rows().map(keyOnly.of)
    }
  }

  override def close(): Unit = if (reader != null) {
    reader.close()
    reader = null
  }
}

/**
 * Versions, with the keys at which the merge is that reads them: it has read one version further than those of the key
 * that it merges.
 */
private final class FollowedKeys(versions: VersionCursor, layout: RowLayout) extends VersionCursor {
  private[this] var merged: UTF8String = _ // the last key before that of the current version
  private[this] var ahead: UTF8String  = _ // the key of the current version; null before the first and at the end

  override def record: Version = versions.record

  override def next(): Boolean = {
    val found = versions.next()
    val key   = if (found) layout.key(versions.record.row) else null
    if (key == null || !key.equals(ahead)) {
      if (ahead != null) merged = ahead
      ahead = if (key == null) null else key.copy()
    }
    found
  }

  /**
   * Whether a version may be of a stored row with a key in the range, or of a new one before it.
   *
   * @param last     key of the stored row before the range; null if there is none
   * @param least    not greater than any key of the range
   * @param greatest not less than any
   */
  def touch(last: UTF8String, least: UTF8String, greatest: UTF8String): Boolean =
    (ahead != null && ahead.compareTo(greatest) <= 0) ||
      (merged != null && merged.compareTo(greatest) <= 0 &&
        (last == null || merged.compareTo(last) > 0 || merged.compareTo(least) >= 0))
}

/** A stored row of which only the key is read. Whatever reads another column would write a row without its values. */
private final class KeyRow(layout: RowLayout) extends BaseGenericInternalRow {
  private[this] val keyOrdinal       = layout.keyOrdinal
  private[this] val timeOrdinal      = layout.schema.fieldIndex(MetaColumns.CommitTime)
  private[this] var row: InternalRow = _

  /** @param read with the columns that are read */
  val of: InternalRow => InternalRow = read => {
    row = read
    this
  }

  override def numFields: Int = layout.schema.length

  override protected def genericGet(i: Int): Any = getUTF8String(i)

  override def getUTF8String(i: Int): UTF8String =
    if (i == keyOrdinal) row.getUTF8String(0)
    else if (i == timeOrdinal) row.getUTF8String(1)
    else throw new IllegalStateException(s"column $i of an unchanged row was not read")

  override def setNullAt(i: Int): Unit = throw new IllegalStateException("a row of a reader was changed")

  override def update(i: Int, value: Any): Unit = throw new IllegalStateException("a row of a reader was changed")
}

private object KeyRow {
  val columns: StructType =
    StructType(Seq(MetaColumns.RecordKey, MetaColumns.CommitTime).map(MetaColumns.schema(_)))
}
