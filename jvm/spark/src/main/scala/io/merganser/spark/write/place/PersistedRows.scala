package io.merganser.spark.write.place

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.merganser.Partitions
import org.apache.spark.sql.types.StructType
import org.apache.spark.storage.StorageLevel
import org.apache.spark.unsafe.Platform

/**
 * Rows that are computed once, by the first job that reads them, for several jobs: computing them again may return
 * other rows, and costs as much again. They are persisted as blocks of packed rows, in memory or on disk.
 *
 * @param schema of the rows
 */
private[spark] final class PersistedRows(source: RDD[InternalRow], schema: StructType) extends AutoCloseable {

  private val blocks: RDD[Array[Byte]] = {
    val columns = schema
    Partitions.map(source)(new PackedBlocks(_, columns): Iterator[Array[Byte]]).persist(StorageLevel.MEMORY_AND_DISK)
  }

  /** Unsafe rows, in one reused object for each partition. */
  val rows: RDD[InternalRow] = {
    val width = schema.length
    Partitions.map(blocks)(_.flatMap(PackedBlocks.rows(_, width)))
  }

  override def close(): Unit = { blocks.unpersist(); () }
}

/** Rows packed into blocks: for each row its size in bytes, as a long, and the bytes of an unsafe row. */
private final class PackedBlocks(rows: Iterator[InternalRow], schema: StructType) extends Iterator[Array[Byte]] {
  import PackedBlocks._

  private[this] lazy val pack          = UnsafeProjection.create(schema)
  private[this] var block              = new Array[Byte](FirstBytes)
  private[this] var pending: UnsafeRow = _

  override def hasNext: Boolean = pending != null || rows.hasNext

  override def next(): Array[Byte] = {
    if (!hasNext) throw new NoSuchElementException
    if (pending == null) pending = nextRow()
    var used = 0
    do {
      val size = pending.getSizeInBytes
      if (used + Prefix + size > block.length) grow(used, used.toLong + Prefix + size)
      Platform.putLong(block, start(used), size.toLong)
      pending.writeToMemory(block, start(used + Prefix))
      used += Prefix + size
      pending = if (rows.hasNext) nextRow() else null
    } while (pending != null && used.toLong + Prefix + pending.getSizeInBytes <= BlockBytes)
    java.util.Arrays.copyOf(block, used)
  }

  private def nextRow(): UnsafeRow = rows.next() match {
    case unsafe: UnsafeRow => unsafe
    case row               => pack(row)
  }

  private def grow(used: Int, needed: Long): Unit = {
    if (needed > MostBytes) throw new IllegalStateException(s"a row of ${needed - Prefix} bytes")
    val larger = new Array[Byte](math.max(needed, math.min(2L * block.length, BlockBytes.toLong)).toInt)
    System.arraycopy(block, 0, larger, 0, used)
    block = larger
  }
}

private object PackedBlocks {
  private val FirstBytes = 16 << 10
  private val BlockBytes = 1 << 20
  private val MostBytes  = Int.MaxValue - 16
  private val Prefix     = 8

  private def start(at: Int): Long = Platform.BYTE_ARRAY_OFFSET.toLong + at

  /** The rows of a block, in one reused object. */
  def rows(block: Array[Byte], width: Int): Iterator[InternalRow] = new Iterator[InternalRow] {
    private[this] val row = new UnsafeRow(width)
    private[this] var at  = 0

    override def hasNext: Boolean = at < block.length

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException
      val size = Platform.getLong(block, start(at)).toInt
      row.pointTo(block, start(at + Prefix), size)
      at += Prefix + size
      row
    }
  }
}
