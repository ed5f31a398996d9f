package io.merganser.merge

import io.merganser.merge.buffer.VersionCursor
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A row object that a reader reuses for every row: its bytes are overwritten each time. */
final class ReusedRow(width: Int) {
  private val bytes = new Array[Byte](4096)
  private val row   = new UnsafeRow(width)
  private val overwritten =
    Notation.row(Change("overwritten", Some(-99), Seq(Some("overwritten"), Some("overwritten"))))

  def load(from: UnsafeRow): InternalRow = {
    java.util.Arrays.fill(bytes, 0.toByte)
    val image = from.getBytes
    System.arraycopy(image, 0, bytes, 0, image.length)
    row.pointTo(bytes, image.length)
    row
  }

  def overwrite(): Unit = load(overwritten)
}

/** Stored rows as a reader returns them: one row object for all, overwritten as soon as the next is requested. */
final class StoredRows(rows: Seq[Change]) extends Iterator[InternalRow] {
  private val left   = rows.iterator
  private val reused = new ReusedRow(Notation.schema.length)

  override def hasNext: Boolean = {
    reused.overwrite()
    left.hasNext
  }

  override def next(): InternalRow = reused.load(Notation.row(left.next()))
}

/** Versions as a reader returns them, in one reused record with one reused row. */
final class Versions(versions: Seq[Change]) extends VersionCursor {
  private val left   = versions.iterator
  private val reused = new ReusedRow(Notation.schema.length)

  override val record: Version = new Version

  override def next(): Boolean = {
    reused.overwrite()
    record.set(null, isDelete = true, isUnconditional = true)
    left.hasNext && {
      val change = left.next()
      Notation.fill(record, change, reused.load(Notation.row(change)))
      true
    }
  }
}
