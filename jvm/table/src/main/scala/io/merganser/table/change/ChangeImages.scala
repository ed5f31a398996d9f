// Hot path: one call per row.
package io.merganser.table.change

import io.merganser.merge.MerganserException
import io.merganser.table.log.ChangeLogReader
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.{LogVisibility, SliceInput, SliceReader, SliceRows, TableSnapshot}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import java.io.{Closeable, FileNotFoundException}

/** Images of the rows that one commit changed in one file group. Owns open files: close it. */
trait OpenImages extends Closeable {

  /** Moves to the next changed row; false at the end. */
  def next(): Boolean

  /** The row before the commit; null for an insert. Reused. */
  def before: UnsafeRow

  /** The row after the commit; null for a delete. Reused. */
  def after: UnsafeRow
}

/**
 * How changes are read in tasks: from the change files of a commit, or by comparing the slice after the commit with the
 * slice before it, both read as any reader reads them.
 *
 * @param table   of any of its timelines
 * @param needed  names of the columns whose values are returned; others may be null in images of a row that is only
 *                before or after the commit: no comparison needs them
 * @param keyFilters filters that refer to record key columns only; changes that do not satisfy them may be missing, or
 *                   have one of their two rows only
 */
final class ChangeImages(
    private[change] val table: TableSnapshot,
    needed: String => Boolean = _ => true,
    keyFilters: Seq[Filter] = Nil
) extends Serializable {

  /** Columns of rows of which nothing is compared. */
  private[change] val some = StructType(table.columns.filter(c => needed(c.name)))

  /** Columns of rows that are compared; the record key is the last one. */
  private[change] val keyed = StructType(table.columns :+ MetaColumns.schema(MetaColumns.RecordKey))

  /** For one file group after the other, in a task. */
  def reader(): ImageReader = new ImageReader(this)

  private[change] def slices(visibility: LogVisibility, requested: StructType): SliceReader =
    new SliceReader(new SliceInput(table.copy(visibility = visibility), requested, keyFilters, keyFilters))
}

/**
 * Reads what one commit changed in one file group, one after the other. What is compiled is compiled once for all.
 *
 * @param maxKeys  of appended logs up to so many keys, the rows with these are in memory
 * @param maxBytes of rows in memory; beyond it, the states before and after are read one beside the other
 */
final class ImageReader private[change] (
    images: ChangeImages,
    maxKeys: Int = LogKeys.MaxExact,
    maxBytes: Long = AppendedRows.MaxBytes
) {
  import images.{keyed, some}
  import images.table.{columns, config, storage}

  private lazy val comparedRows = new ImageProjections(columns, keyOrdinal = columns.length)
  private lazy val storedBefore = ImageProjections.image(columns)
  private lazy val storedAfter  = ImageProjections.image(columns)
  private lazy val wholeRow     = ImageProjections.image(columns, some)

  /** Copies rows of [[SliceInput.schema]]; the rule, and so this schema, is that of the table. */
  private[this] var copied: UnsafeProjection = _

  private[this] val ofKeyed = new java.util.IdentityHashMap[LogVisibility, SliceReader]
  private[this] val ofSome  = new java.util.IdentityHashMap[LogVisibility, SliceReader]

  /** @throws MerganserException CHANGE_DATA_CLEANED if a file was cleaned since the read was planned */
  def open(change: GroupChange): OpenImages =
    try
      if (change.changeFiles.nonEmpty) stored(change)
      else if (change.before.slice.isEmpty || change.after.slice.isEmpty) whole(change)
      else compared(change)
    catch {
      case e: FileNotFoundException => throw GroupChanges.cleaned(config.name, change.completed).causedBy(e)
      case e: MerganserException if e.condition == "SLICE_FILE_MISSING" =>
        throw GroupChanges.cleaned(config.name, change.completed).causedBy(e)
    }

  private def stored(change: GroupChange): OpenImages = {
    val reader = new ChangeLogReader(storage, change.changeFiles, columns, change.after.visibility.columns)
    reader.hasNext // opens the first file here, where a missing one is reported by name
    val (width, older, newer) = (columns.length, storedBefore, storedAfter)
    new OpenImages {
      var before: UnsafeRow = _
      var after: UnsafeRow  = _

      override def next(): Boolean = {
        var found = false
        // Other writers record an update that left a row as it was.
        while (!found && reader.hasNext) {
          val record = reader.next()
          before = if (record.isNullAt(1)) null else older(record.getStruct(1, width))
          after = if (record.isNullAt(2)) null else newer(record.getStruct(2, width))
          found = before == null || after == null || !before.equals(after)
        }
        found
      }

      override def close(): Unit = reader.close()
    }
  }

  /** All rows of a slice, as inserts or deletes: nothing is compared, so nothing is sorted. */
  private def whole(change: GroupChange): OpenImages = {
    val isInsert = change.before.slice.isEmpty
    val state    = if (isInsert) change.after else change.before
    val rows     = state.slice.fold(ImageReader.none)(slice => reader(state, some, ofSome).rows(slice))
    val imageOf  = wholeRow
    new OpenImages {
      private[this] var image: UnsafeRow = _

      override def next(): Boolean = {
        val found = rows.hasNext
        if (found) image = imageOf(rows.next())
        found
      }

      override def before: UnsafeRow = if (isInsert) null else image
      override def after: UnsafeRow  = if (isInsert) image else null
      override def close(): Unit     = rows.close()
    }
  }

  private def compared(change: GroupChange): OpenImages = {
    // Logs of version 6 are named after their slice, and a state has those of later writes too.
    val added = change.addedLogs(areShared = !config.isCreatedInLayout2)
    val keys  = added.map(LogKeys.of(reader(change.after), _, maxKeys))
    keys.filter(_.isExact).flatMap(appended(change, _)).fold(compared(change, keys.orNull)) { case (before, after) =>
      comparison(before, after)
    }
  }

  private def appended(change: GroupChange, keys: LogKeys): Option[(SliceRows, SliceRows)] = {
    val after = reader(change.after)
    if (copied == null) copied = ImageProjections.image(after.input.schema)
    val rows = new AppendedRows(reader(change.before), after, columns.length, copied, maxBytes)
    for (older <- change.before.slice; newer <- change.after.slice; found <- rows.of(older, newer, keys)) yield found
  }

  private def compared(change: GroupChange, keeps: UTF8String => Boolean): OpenImages = {
    val before = rows(change.before, keeps)
    try {
      val after = rows(change.after, keeps)
      try comparison(before, after)
      catch { case e: Throwable => after.close(); throw e }
    } catch { case e: Throwable => before.close(); throw e }
  }

  private def comparison(older: SliceRows, newer: SliceRows): OpenImages = new OpenImages {
    private[this] val images       = new ImageComparison(older, newer, comparedRows)
    override def next(): Boolean   = images.next()
    override def before: UnsafeRow = images.beforeImage
    override def after: UnsafeRow  = images.afterImage
    override def close(): Unit =
      try older.close()
      finally newer.close()
  }

  /** The reader of a state; file groups of one commit have the same. */
  private def reader(
      state: GroupState,
      requested: StructType = keyed,
      known: java.util.IdentityHashMap[LogVisibility, SliceReader] = ofKeyed
  ): SliceReader = known.computeIfAbsent(state.visibility, images.slices(_, requested))

  private def rows(state: GroupState, keeps: UTF8String => Boolean): SliceRows =
    state.slice.fold(ImageReader.none)(reader(state).sortedRows(_, keeps))
}

private object ImageReader {

  def none: SliceRows = new SliceRows {
    override def hasNext: Boolean    = false
    override def next(): InternalRow = throw new NoSuchElementException("no rows")
    override def close(): Unit       = ()
  }
}
