// Hot path: one call per row.
package io.merganser.table.change

import io.merganser.merge.MerganserException
import io.merganser.table.log.ChangeLogReader
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.StoredRule
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.{FileSlice, RowKey, SliceReader, SliceRows}
import io.merganser.table.storage.Storage
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, Literal, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.sketch.BloomFilter

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
 * Reads what one commit changed in one file group, in a task: from its change files, or by comparing the slice after
 * the commit with the slice before it, both read as any reader reads them.
 *
 * @param rule    the rule that the table stores
 * @param columns the table's data columns
 * @param rowKey  how keys are computed, in a table that stores none
 * @param needed  names of the columns whose values are returned; others may be null in images of a row that is only
 *                before or after the commit: no comparison needs them
 * @param keyFilters filters that refer to record key columns only; changes that do not satisfy them may be missing, or
 *                   have one of their two rows only
 */
final class ChangeImages(
    storage: Storage,
    config: TableConfig,
    rule: StoredRule,
    columns: StructType,
    rowKey: Option[RowKey],
    needed: String => Boolean = _ => true,
    keyFilters: Seq[Filter] = Nil
) extends Serializable {
  private val some  = StructType(columns.filter(c => needed(c.name)))
  private val keyed = StructType(columns :+ MetaColumns.schema(MetaColumns.RecordKey))

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
    val width = columns.length
    new OpenImages {
      private[this] val older = ChangeImages.image(columns)
      private[this] val newer = ChangeImages.image(columns)
      var before: UnsafeRow   = _
      var after: UnsafeRow    = _

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
    val rows     = state.slice.fold(ChangeImages.none)(slice => reader(state, some).rows(slice))
    new OpenImages {
      private[this] val imageOf          = ChangeImages.image(columns, some)
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
    val added  = change.addedLogs(areShared = !config.isCreatedInLayout2)
    val keeps  = added.map(ChangeImages.keysOf(reader(change.after), _)).orNull
    val before = rows(change.before, keeps)
    try {
      val after = rows(change.after, keeps)
      try comparison(before, after)
      catch { case e: Throwable => after.close(); throw e }
    } catch { case e: Throwable => before.close(); throw e }
  }

  private def comparison(older: SliceRows, newer: SliceRows): OpenImages = new OpenImages {
    private[this] val images       = new ImageComparison(older, newer, columns, columns.length)
    override def next(): Boolean   = images.next()
    override def before: UnsafeRow = images.beforeImage
    override def after: UnsafeRow  = images.afterImage
    override def close(): Unit =
      try older.close()
      finally newer.close()
  }

  private def reader(state: GroupState, requested: StructType = keyed): SliceReader =
    new SliceReader(storage, config, rule, columns, requested, state.visibility, keyFilters, keyFilters,
      rowKey = rowKey)

  private def rows(state: GroupState, keeps: UTF8String => Boolean): SliceRows =
    state.slice.fold(ChangeImages.none)(reader(state).sortedRows(_, keeps))
}

private object ChangeImages {

  def none: SliceRows = new SliceRows {
    override def hasNext: Boolean    = false
    override def next(): InternalRow = throw new NoSuchElementException("no rows")
    override def close(): Unit       = ()
  }

  def image(columns: StructType): UnsafeProjection =
    UnsafeProjection.create(columns.fields.zipWithIndex.map { case (field, i) =>
      BoundReference(i, field.dataType, nullable = true)
    }.toSeq)

  /** Images of rows that have some of the columns; the others are null. */
  def image(columns: StructType, some: StructType): UnsafeProjection = {
    val at = some.fieldNames.zipWithIndex.toMap
    UnsafeProjection.create(columns.fields.map { field =>
      at.get(field.name).fold[Expression](Literal(null, field.dataType))(BoundReference(_, field.dataType,
          nullable = true))
    }.toSeq)
  }

  /**
   * Whether a key may be in some logs: rows of other keys are the same before and after. Its memory is bounded; the
   * more keys, the more rows are compared in vain.
   */
  def keysOf(reader: SliceReader, logs: FileSlice): UTF8String => Boolean = {
    val filter = BloomFilter.create(ExpectedKeys, FilterBits)
    reader.logKeys(logs) { key => filter.putBinary(key.getBytes); () }
    key => filter.mightContainBinary(key.getBytes)
  }

  /** 4 MB of bits: 1 % of other keys pass at 3.5 million keys. */
  private val ExpectedKeys = 3500000L
  private val FilterBits   = 32L << 20
}
