package io.merganser.bench

import io.merganser.merge.{RowLayout, Version}
import io.merganser.merge.buffer.VersionCursor
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.vectorized.{OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** The rows of [[Rows]] in the forms that the engine reads. */
private[bench] object EngineRows {
  val Key      = 0
  val Time     = 1
  val Position = 2
  val Amount   = 3
  val Balance  = 4
  val Deleted  = 5
  val Note     = 6

  val Schema: StructType = new StructType()
    .add("_hoodie_record_key", StringType)
    .add("time", LongType)
    .add("position", StringType)
    .add("amount", LongType)
    .add("balance", LongType)
    .add("_hoodie_is_deleted", BooleanType)
    .add("note", StringType)

  private val BatchRows = 4096

  /** As Spark's vectorized Parquet reader returns them: batches of 4,096 rows, strings in one array of a batch. */
  def batches(rows: Rows): Array[ColumnarBatch] = {
    val batches = new Array[ColumnarBatch]((rows.count + BatchRows - 1) / BatchRows)
    for (b <- batches.indices) {
      val from    = b * BatchRows
      val count   = Math.min(BatchRows, rows.count - from)
      val columns = OnHeapColumnVector.allocateColumns(BatchRows, Schema)
      for (i <- 0 until count) {
        text(columns(Key), i, rows.keys, from + i)
        columns(Time).putLong(i, rows.times(from + i))
        text(columns(Position), i, rows.positions, from + i)
        columns(Amount).putLong(i, rows.amounts(from + i))
        if (rows.arePartial) columns(Balance).putNull(i) else columns(Balance).putLong(i, rows.balances(from + i))
        columns(Deleted).putBoolean(i, rows.deletes(from + i))
        if (rows.arePartial) columns(Note).putNull(i) else text(columns(Note), i, rows.notes, from + i)
      }
      batches(b) = new ColumnarBatch(columns.toArray[ColumnVector], count)
    }
    batches
  }

  private def text(column: WritableColumnVector, i: Int, texts: Rows.Texts, at: Int): Unit = {
    column.putByteArray(i, texts.bytes, texts.starts(at), texts.starts(at + 1) - texts.starts(at))
    ()
  }

  /** The batches' rows, one after another in one object, as the base file's reader returns them. */
  def rowsOf(batches: Array[ColumnarBatch]): Iterator[InternalRow] = new Iterator[InternalRow] {
    private[this] var next_                = 0
    private[this] var batch: ColumnarBatch = _
    private[this] var rowCount             = 0
    private[this] var position             = 0

    override def hasNext: Boolean = {
      while (position >= rowCount) {
        if (next_ >= batches.length) return false
        batch = batches(next_)
        next_ += 1
        rowCount = batch.numRows
        position = 0
      }
      true
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException
      val row = batch.getRow(position)
      position += 1
      row
    }
  }

  private def generic(rows: Rows, i: Int): InternalRow = {
    def text(texts: Rows.Texts) =
      UTF8String.fromBytes(texts.bytes, texts.starts(i), texts.starts(i + 1) - texts.starts(i))
    val values = Array[Any](text(rows.keys), rows.times(i), text(rows.positions), rows.amounts(i), rows.balances(i),
      rows.deletes(i),
      text(rows.notes))
    if (rows.arePartial) {
      values(Balance) = null
      values(Note) = null
    }
    new GenericInternalRow(values)
  }

  /** Rows as Avro's decoder makes them: an object for every value. */
  def generics(rows: Rows): Array[InternalRow] = Array.tabulate(rows.count)(generic(rows, _))

  /** Rows as Spark's shuffle and sort return them: side by side in memory, read through one object. */
  def packed(rows: Rows): Packed = {
    val project = UnsafeProjection.create(Schema)
    val starts  = new Array[Int](rows.count + 1)
    var memory  = new Array[Byte](rows.count * 192)
    for (i <- 0 until rows.count) {
      val row = project(generic(rows, i))
      starts(i + 1) = starts(i) + row.getSizeInBytes
      if (starts(i + 1) > memory.length) memory = java.util.Arrays.copyOf(memory, memory.length * 2)
      row.writeToMemory(memory, Platform.BYTE_ARRAY_OFFSET + starts(i))
    }
    new Packed(memory, starts)
  }

  final class Packed(memory: Array[Byte], starts: Array[Int]) {
    def iterator: Iterator[InternalRow] = new Iterator[InternalRow] {
      private[this] val row         = new UnsafeRow(Schema.length)
      private[this] var i           = 0
      override def hasNext: Boolean = i < starts.length - 1
      override def next(): UnsafeRow = {
        row.pointTo(memory, Platform.BYTE_ARRAY_OFFSET.toLong + starts(i), starts(i + 1) - starts(i))
        i += 1
        row
      }
    }
  }

  /** Versions that come sorted, as those of one file group come out of the sort before a write. */
  final class Cursor(rows: Iterator[InternalRow], layout: RowLayout) extends VersionCursor {
    override val record: Version = new Version

    override def next(): Boolean = rows.hasNext && {
      layout.fill(record, rows.next())
      true
    }
  }
}
