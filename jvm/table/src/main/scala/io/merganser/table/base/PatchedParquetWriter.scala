// Hot path: one call per row.
package io.merganser.table.base

import io.merganser.table.schema.MetaColumns
import org.apache.hadoop.conf.Configuration
import org.apache.parquet.column.{ColumnDescriptor, ParquetProperties}
import org.apache.parquet.hadoop.{ParquetFileWriter, ParquetWriter}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.array.ByteArrayMethods
import org.apache.spark.unsafe.types.UTF8String

import java.util.HashMap
import scala.collection.JavaConverters._
import scala.collection.mutable
import scala.util.control.NonFatal

/**
 * Writes a file that replaces others, with their row groups in turn. Of a row group whose rows are all kept or
 * replaced, in place, the columns without a changed value are copied as bytes; the others are encoded. A row group that
 * gets or loses rows is encoded.
 *
 * The columns to encode are known when the rows have passed, and rows are read once. So the first replaced rows of a
 * row group are collected; then the columns that they change are encoded as far as rows have passed, out of its file,
 * and from there on row by row. What changes later is encoded at the end of the row group, in the same
 * way.
 *
 * @param schema     the columns of the rows, meta columns first
 * @param storesKeys false if the meta columns are null
 * @param replaced   the files, in the order in which their rows are passed
 * @param entries    called once after the last row, when the footer begins: more entries of it
 */
private[base] final class PatchedParquetWriter(
    conf: Configuration,
    file: BaseFileOutput,
    name: String,
    schema: StructType,
    options: BaseFileOptions,
    storesKeys: Boolean,
    replaced: Seq[ReplacedFile],
    entries: () => Map[String, String]
) extends RowOutput {
  import PatchedParquetWriter._

  private[this] val keyOrdinal = if (storesKeys) schema.fieldNames.indexOf(MetaColumns.RecordKey) else -1
  override val keys: KeyTracker =
    KeyTracker.of(if (storesKeys) keyOrdinal else KeyTracker.Apart, Some(name), options)

  private[this] val fileName =
    if (storesKeys) Some((schema.fieldIndex(MetaColumns.FileName), UTF8String.fromString(name))) else None
  private[this] val parquet = BaseFileSchema.toParquet(schema)
  private[this] val leaves  = parquet.getColumns.asScala.toIndexedSeq
  private[this] val tops    = leaves.map(leaf => schema.fieldIndex(leaf.getPath()(0)))

  private[this] val isFixed = schema.fields.map(field => UnsafeRow.isFixedLength(field.dataType))

  private[this] lazy val before = UnsafeProjection.create(schema)
  private[this] lazy val after  = UnsafeProjection.create(schema)

  /** The row groups of the files, one after the other. */
  private[this] val parts = replaced.flatMap(from => (0 until from.groupCount).map(from -> _)).toIndexedSeq

  private[this] var source: ChunkSource    = _ // of the file whose row groups were copied last
  private[this] var sourceOf: ReplacedFile = _

  private[this] val out = {
    val opened = new ParquetFileWriter(file, parquet, ParquetFileWriter.Mode.CREATE, options.rowGroupBytes,
      ParquetWriter.MAX_PADDING_SIZE_DEFAULT, ParquetProperties.DEFAULT_COLUMN_INDEX_TRUNCATE_LENGTH,
      ParquetProperties.DEFAULT_STATISTICS_TRUNCATE_LENGTH, ParquetProperties.DEFAULT_PAGE_WRITE_CHECKSUM_ENABLED)
    opened.start()
    opened
  }

  private[this] var group: RowGroup        = new RowGroup(0)
  private[this] var lastChanged            = IndexedSeq.empty[Int] // columns, in the last row group with changes
  private[this] var replacedRow: UnsafeRow = _ // the row that the next one replaces; null if that is a new row

  override def keepsByKey: Boolean = !group.isEncoding || group.isComplete

  override def keepKey(key: UTF8String): Unit = {
    keys.add(key.getBytes)
    ofNextRow().pass()
  }

  override def keep(row: InternalRow): Unit = {
    track(row)
    ofNextRow().keep(row)
  }

  override def replace(row: InternalRow): Unit = {
    ofNextRow()
    replacedRow = before(row)
  }

  override def drop(): Unit = ofNextRow().drop()

  override def write(row: InternalRow): Unit = {
    track(row)
    if (replacedRow ne null) {
      group.replace(replacedRow, after(row))
      replacedRow = null
    } else {
      if (group.isComplete && !group.takesRowsAfter) next()
      group.insert(row)
    }
  }

  private def track(row: InternalRow): Unit = if (keyOrdinal >= 0) keys.add(row.getUTF8String(keyOrdinal).getBytes)

  private def chunksOf(from: ReplacedFile): ChunkSource = {
    if (sourceOf ne from) {
      closeSource()
      source = from.chunks()
      sourceOf = from
    }
    source
  }

  private def closeSource(): Unit = if (source ne null) {
    val open = source
    source = null
    sourceOf = null
    open.close()
  }

  /** The row group that has the next row of the replaced files. */
  private def ofNextRow(): RowGroup = {
    if (group.isComplete) next()
    group
  }

  private def next(): Unit = {
    group.finish()
    if (group.isChanged) lastChanged = group.changedColumns
    group = new RowGroup(group.index + 1)
  }

  override def estimatedBytes: Long = out.getPos + group.estimatedBytes

  override def close(): Unit =
    try {
      group.finish()
      if (group.index < parts.length - 1)
        throw new IllegalStateException(
          s"of ${parts.length} row groups, ${group.index + 1} are in the file that replaces them")
      val all = new HashMap[String, String](RowWriteSupport.entries)
      all.put(ParquetWriter.OBJECT_MODEL_NAME_PROP, RowWriteSupport.Name)
      all.putAll(keys.footer)
      entries().foreach { case (entry, value) => all.put(entry, value) }
      out.end(all)
    } finally closeSource()

  override def abort(): Unit =
    try group.abort()
    finally
      try closeSource()
      finally file.close()

  /** A row group of the replaced files, or behind the last one the rows that follow. */
  private final class RowGroup(val index: Int) {
    private[this] val isBehind = index >= parts.length
    private[this] val rowCount = if (isBehind) 0L else parts(index)._1.rowCount(parts(index)._2)
    private[this] var position = 0L
    private[this] val changed  = new Array[Boolean](schema.length)

    /** All have the rows up to `position`. */
    private[this] var encoders = List.empty[ColumnEncoder]
    private[this] var isWhole  = false // whether they have all columns, so that rows may come and go

    // Replaced rows, as long as another column may have to be encoded.
    private[this] val places   = mutable.ArrayBuffer.empty[Long]
    private[this] val rows     = mutable.ArrayBuffer.empty[UnsafeRow]
    private[this] var rowBytes = 0L

    def isChanged: Boolean = changed.contains(true)

    def isComplete: Boolean = position == rowCount

    def isEncoding: Boolean = encoders.nonEmpty

    /** Whether new rows behind the last one become a part of this row group. */
    def takesRowsAfter: Boolean = isBehind || isWhole || (isLast && isSmall)

    private def isLast: Boolean = index == parts.length - 1

    private def isSmall: Boolean = parts(index)._1.bytesOf(parts(index)._2) < options.rowGroupBytes / 2

    def estimatedBytes: Long = encoders.iterator.map(_.estimatedBytes).sum

    def pass(): Unit = {
      if (isEncoding) throw new IllegalStateException("a row that is encoded was passed by its key")
      position += 1
    }

    def keep(row: InternalRow): Unit = {
      encode(row)
      position += 1
    }

    def replace(stored: UnsafeRow, row: UnsafeRow): Unit = {
      compare(stored, row)
      encode(row)
      if (!isWhole) collect(row)
      position += 1
      if (!isEncoding && isClear) begin((changedColumns ++ lastChanged).distinct.sorted)
      else if (!isWhole && rowBytes > MostBytes) beginAll()
    }

    def drop(): Unit = {
      beginAll()
      position += 1
    }

    def insert(row: InternalRow): Unit = {
      beginAll()
      encode(row)
    }

    private def encode(row: InternalRow): Unit = {
      var left = encoders
      while (left.nonEmpty) {
        left.head.write(row)
        left = left.tail
      }
    }

    private def compare(stored: UnsafeRow, row: UnsafeRow): Unit = {
      var i = 0
      while (i < changed.length) {
        if (!changed(i) && !areEqual(stored, row, i)) changed(i) = true
        i += 1
      }
    }

    private def areEqual(one: UnsafeRow, other: UnsafeRow, i: Int): Boolean =
      if (one.isNullAt(i) || other.isNullAt(i)) one.isNullAt(i) && other.isNullAt(i)
      else if (isFixed(i)) one.getLong(i) == other.getLong(i)
      else {
        val (a, b) = (one.getLong(i), other.getLong(i)) // offset and size
        a.toInt == b.toInt && ByteArrayMethods.arrayEquals(one.getBaseObject, one.getBaseOffset + (a >>> 32),
          other.getBaseObject, other.getBaseOffset + (b >>> 32), a.toInt.toLong)
      }

    private def collect(row: UnsafeRow): Unit = {
      places += position
      rows += row.copy()
      rowBytes += row.getSizeInBytes
    }

    /** Whether the columns are known that later rows will change. */
    private def isClear: Boolean = rows.length == Sample || (rows.length >= FewRows && areMost(schema.indices)) ||
      (lastChanged.nonEmpty && areMost(lastChanged))

    private def areMost(columns: Seq[Int]): Boolean = columns.count(i => changed(i)) >= columns.size * Most

    /** With that of the file's name. */
    def changedColumns: IndexedSeq[Int] =
      schema.indices.filter(i => changed(i) || fileName.exists(_._1 == i)).toIndexedSeq

    private def isEncoded(ordinal: Int): Boolean = encoders.exists(_.has(ordinal))

    private def beginAll(): Unit = if (!isWhole) begin(schema.indices.filterNot(isEncoded).toIndexedSeq)

    /** Encodes columns of the rows that have passed. */
    private def begin(ordinals: IndexedSeq[Int]): Unit = if (ordinals.nonEmpty) {
      val encoder = new ColumnEncoder(conf, name, schema, ordinals, fileName, options,
        splits = ordinals.length == schema.length)
      encoders ::= encoder
      if (position > 0) readAgain(encoder)
      isWhole = schema.indices.forall(isEncoded)
      if (isWhole) {
        places.clear()
        rows.clear()
      }
    }

    private def readAgain(encoder: ColumnEncoder): Unit = {
      val (from, group) = parts(index)
      val reader        = from.reader(group, encoder.storedColumns)
      try {
        val stored =
          if (encoder.storedColumns.isEmpty) Iterator.continually(InternalRow.empty) else reader.rows()
        var (row, next) = (0L, 0)
        while (row < position) {
          val of = stored.next()
          if (next < places.length && places(next) == row) {
            encoder.write(rows(next))
            next += 1
          } else encoder.writeStored(of)
          row += 1
        }
      } finally reader.close()
    }

    def finish(): Unit = {
      if (!isComplete)
        throw new IllegalStateException(s"of $rowCount rows in row group $index, $position are in the file that " +
          "replaces them or are left out of it")
      if (!isBehind || isEncoding) {
        begin(changedColumns.filterNot(isEncoded))
        append()
      }
    }

    private def append(): Unit = {
      val encoded = encoders.map(encoder => encoder -> encoder.chunks())
      encoders = Nil
      try {
        val sources = tops.map(top => encoded.collectFirst { case (encoder, chunks) if encoder.has(top) => chunks })
        // Encoders have one row group, except for one of all columns.
        val groups = if (isWhole) encoded.head._2.rowGroups.map(_.getRowCount) else IndexedSeq(rowCount)
        groups.indices.foreach { at =>
          out.startBlock(groups(at))
          leaves.indices.foreach { i =>
            sources(i).fold(copyStored(leaves(i)))(_.copy(at, leaves(i), out))
          }
          out.endBlock()
        }
      } finally encoded.foreach(_._2.close())
    }

    private def copyStored(leaf: ColumnDescriptor): Unit = {
      val (from, group) = parts(index)
      chunksOf(from).copy(group, leaf, out)
    }

    def abort(): Unit = encoders.foreach { encoder =>
      try encoder.abort()
      catch { case NonFatal(_) => () }
    }
  }
}

private object PatchedParquetWriter {

  /** Replaced rows of a row group by which the columns to encode are chosen, unless it is clear earlier. */
  private val Sample = 64

  /** Rows after which it is clear if they change most columns, and the share of columns that are most. */
  private val FewRows = 8
  private val Most    = 0.7

  /** The most that is collected of the replaced rows of a row group. */
  private val MostBytes = 32L << 20
}
