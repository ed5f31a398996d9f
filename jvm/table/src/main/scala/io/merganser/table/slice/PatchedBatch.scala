// Hot path: one call per merged row.
package io.merganser.table.slice

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.vectorized.{Dictionary, OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.apache.spark.unsafe.Platform

/**
 * A column batch whose rows are replaced and removed in place, so that the other rows are neither copied nor selected.
 * Values are written to the vectors of the reader; only a column with a dictionary, or one that the file lacks, gets a
 * vector of ours.
 *
 * For each batch: [[take]] it, [[replace]] and [[remove]] rows, each at most once and in ascending order of their
 * positions, and use the [[result]] until the reader fills its vectors again.
 *
 * @param schema the columns to return, the first ones of the batches
 */
private[slice] final class PatchedBatch(schema: StructType) {
  private[this] val width       = schema.length
  private[this] val isSupported = schema.forall(field => PatchedColumn.kindOf(field.dataType) >= 0)
  private[this] val columns   = if (isSupported) schema.fields.map(field => new PatchedColumn(field.dataType)) else null
  private[this] lazy val pack = UnsafeProjection.create(schema)

  private[this] var batch: ColumnarBatch = _
  private[this] var isBegun              = false
  private[this] var removed              = new Array[Int](0)
  private[this] var removedCount         = 0

  /** Whether rows of the batch can be replaced: not those with nested columns, or with vectors of constants. */
  def takes(batch: ColumnarBatch): Boolean = isSupported && {
    var i = 0
    while (i < width && batch.column(i).isInstanceOf[WritableColumnVector]) i += 1
    i == width
  }

  def take(newBatch: ColumnarBatch): Unit = {
    batch = newBatch
    isBegun = false
    removedCount = 0
    if (removed.length < batch.numRows) removed = new Array[Int](batch.numRows)
  }

  /** @param row has the columns first; it may refer to the row of the batch that it replaces */
  def replace(position: Int, row: InternalRow): Unit = if (width > 0) {
    val packed = row match {
      case unsafe: UnsafeRow => unsafe
      case other             => pack(other)
    }
    begin()
    var i = 0
    while (i < width) {
      columns(i).put(position, packed, i)
      i += 1
    }
  }

  def remove(position: Int): Unit = {
    removed(removedCount) = position
    removedCount += 1
  }

  /** The rows that are left, in another order if some were removed; null if there are none. */
  def result(): ColumnarBatch = {
    val count = batch.numRows - removedCount
    if (count == 0) null
    else {
      if (width > 0 && removedCount > 0) fillGaps(count)
      new ColumnarBatch(vectors, count)
    }
  }

  private def vectors: Array[ColumnVector] =
    Array.tabulate[ColumnVector](width)(i => if (isBegun) columns(i).vector else batch.column(i))

  private def begin(): Unit = if (!isBegun) {
    isBegun = true
    var i = 0
    while (i < width) {
      columns(i).begin(batch.column(i).asInstanceOf[WritableColumnVector], batch.numRows)
      i += 1
    }
  }

  /** Moves the last rows to the positions of removed ones before them. */
  private def fillGaps(count: Int): Unit = {
    begin()
    val all  = new ColumnarBatch(vectors, batch.numRows)
    var last = batch.numRows - 1
    var gap  = removedCount - 1 // the last one that may be at `last`
    var i    = 0
    while (i < removedCount && removed(i) < count) {
      while (gap >= 0 && removed(gap) == last) {
        gap -= 1
        last -= 1
      }
      replace(removed(i), all.getRow(last))
      last -= 1
      i += 1
    }
  }
}

/** A column of a batch, and where its values are replaced. */
private final class PatchedColumn(dataType: DataType) {
  import PatchedColumn._

  private[this] val kind                    = PatchedColumn.kindOf(dataType)
  private[this] val bytes                   = if (kind == Bytes) new RowBytes else null
  private[this] var own: OnHeapColumnVector = _
  private[this] var capacity                = 0

  /** The column with the replaced values. */
  var vector: WritableColumnVector = _

  def begin(column: WritableColumnVector, rows: Int): Unit =
    if (column.hasDictionary || column.isAllNull) {
      reserve(rows)
      copyNulls(column, rows)
      if (bytes ne null) bytes.take(column, own, rows) else if (!column.isAllNull) copy(column, rows)
      vector = own
    } else vector = column

  /** @param row not retained */
  def put(position: Int, row: UnsafeRow, ordinal: Int): Unit =
    if (row.isNullAt(ordinal)) { if (!vector.isNullAt(position)) vector.putNull(position) }
    else {
      vector.putNotNull(position)
      kind match {
        case Booleans      => vector.putBoolean(position, row.getBoolean(ordinal))
        case SingleBytes   => vector.putByte(position, row.getByte(ordinal))
        case Shorts        => vector.putShort(position, row.getShort(ordinal))
        case Ints          => vector.putInt(position, row.getInt(ordinal))
        case SmallDecimals => vector.putInt(position, row.getLong(ordinal).toInt)
        case Longs         => vector.putLong(position, row.getLong(ordinal))
        case Floats        => vector.putFloat(position, row.getFloat(ordinal))
        case Doubles       => vector.putDouble(position, row.getDouble(ordinal))
        case _             => putBytes(position, row, ordinal)
      }
    }

  private def putBytes(position: Int, row: UnsafeRow, ordinal: Int): Unit =
    if (vector eq own) own.getDictionaryIds.putInt(position, bytes.add(row.getBinary(ordinal)))
    else {
      row.getBaseObject match {
        case array: Array[Byte] =>
          val at    = row.getLong(ordinal) // offset and size
          val start = row.getBaseOffset + (at >>> 32) - Platform.BYTE_ARRAY_OFFSET
          vector.putByteArray(position, array, start.toInt, at.toInt)
        case _ => vector.putByteArray(position, row.getBinary(ordinal))
      }
      ()
    }

  private def reserve(rows: Int): Unit =
    if (capacity >= rows) own.reset()
    else {
      capacity = rows
      own = new OnHeapColumnVector(rows, dataType)
      if (bytes ne null) {
        own.reserveDictionaryIds(rows)
        own.setDictionary(bytes)
      }
    }

  private def copyNulls(column: WritableColumnVector, rows: Int): Unit =
    if (column.isAllNull) own.putNulls(0, rows)
    else if (column.hasNull) {
      var i = 0
      while (i < rows) {
        if (column.isNullAt(i)) own.putNull(i)
        i += 1
      }
    }

  /** Values of a dictionary. An id of a null is no id of it. */
  private def copy(column: WritableColumnVector, rows: Int): Unit = {
    val to = own
    var i  = 0
    kind match {
      case SingleBytes          => while (i < rows) { if (!to.isNullAt(i)) to.putByte(i, column.getByte(i)); i += 1 }
      case Shorts               => while (i < rows) { if (!to.isNullAt(i)) to.putShort(i, column.getShort(i)); i += 1 }
      case Ints | SmallDecimals => while (i < rows) { if (!to.isNullAt(i)) to.putInt(i, column.getInt(i)); i += 1 }
      case Longs                => while (i < rows) { if (!to.isNullAt(i)) to.putLong(i, column.getLong(i)); i += 1 }
      case Floats               => while (i < rows) { if (!to.isNullAt(i)) to.putFloat(i, column.getFloat(i)); i += 1 }
      case Doubles => while (i < rows) { if (!to.isNullAt(i)) to.putDouble(i, column.getDouble(i)); i += 1 }
      case _       => throw new IllegalStateException(s"a column of ${dataType.catalogString} has a dictionary")
    }
  }
}

private object PatchedColumn {
  private final val Booleans      = 0
  private final val SingleBytes   = 1
  private final val Shorts        = 2
  private final val Ints          = 3
  private final val Longs         = 4
  private final val Floats        = 5
  private final val Doubles       = 6
  private final val SmallDecimals = 7 // vectors have them as integers, packed rows as longs
  private final val Bytes         = 8

  /** How values of the type are stored in vectors and packed rows; -1 for nested ones and others. */
  def kindOf(dataType: DataType): Int = dataType match {
    case BooleanType                                                          => Booleans
    case ByteType                                                             => SingleBytes
    case ShortType                                                            => Shorts
    case IntegerType | DateType | _: YearMonthIntervalType                    => Ints
    case LongType | TimestampType | TimestampNTZType | _: DayTimeIntervalType => Longs
    case FloatType                                                            => Floats
    case DoubleType                                                           => Doubles
    case decimal: DecimalType if decimal.precision <= Decimal.MAX_INT_DIGITS  => SmallDecimals
    case decimal: DecimalType if decimal.precision <= Decimal.MAX_LONG_DIGITS => Longs
    case _: DecimalType | _: StringType | BinaryType                          => Bytes
    case _                                                                    => -1
  }
}

/**
 * Bytes of a column with a dictionary by their ids there, each decoded once in a batch if it is used, and values that
 * are added, with ids above those of the batch.
 */
private final class RowBytes extends Dictionary {
  private[this] var column: WritableColumnVector = _
  private[this] var positions                    = new Array[Int](0) // by id, of one of its rows
  private[this] var decoded                      = new Array[Array[Byte]](0)
  private[this] var added                        = new Array[Array[Byte]](64)
  private[this] var addedCount                   = 0
  private[this] var firstAdded                   = 0

  /** @param to gets the ids of the column's rows; has their nulls */
  def take(newColumn: WritableColumnVector, to: WritableColumnVector, rows: Int): Unit = {
    column = newColumn
    addedCount = 0
    firstAdded = 0
    if (column.hasDictionary) {
      val from = column.getDictionaryIds
      val ids  = to.getDictionaryIds
      var i    = 0
      while (i < rows) {
        if (!to.isNullAt(i)) {
          val id = from.getDictId(i)
          if (id >= positions.length) grow(id)
          if (id >= firstAdded) firstAdded = id + 1
          positions(id) = i
          if (decoded(id) ne null) decoded(id) = null
          ids.putInt(i, id)
        }
        i += 1
      }
    }
  }

  private def grow(id: Int): Unit = {
    positions = java.util.Arrays.copyOf(positions, Math.max(16, id * 2))
    decoded = java.util.Arrays.copyOf(decoded.asInstanceOf[Array[AnyRef]], positions.length)
      .asInstanceOf[Array[Array[Byte]]]
  }

  /** Returns the id of the value. */
  def add(value: Array[Byte]): Int = {
    if (addedCount == added.length)
      added =
        java.util.Arrays.copyOf(added.asInstanceOf[Array[AnyRef]], addedCount * 2).asInstanceOf[Array[Array[Byte]]]
    added(addedCount) = value
    addedCount += 1
    firstAdded + addedCount - 1
  }

  override def decodeToBinary(id: Int): Array[Byte] =
    if (id >= firstAdded) added(id - firstAdded)
    else {
      if (decoded(id) eq null) decoded(id) = column.getBinary(positions(id))
      decoded(id)
    }

  override def decodeToInt(id: Int): Int       = throw unsupported
  override def decodeToLong(id: Int): Long     = throw unsupported
  override def decodeToFloat(id: Int): Float   = throw unsupported
  override def decodeToDouble(id: Int): Double = throw unsupported

  private def unsupported = new UnsupportedOperationException("these are bytes")
}
