package io.merganser.table.log

import io.merganser.table.file.WriteToken
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.unsafe.types.UTF8String

import java.nio.charset.StandardCharsets.US_ASCII
import java.util.Arrays

/**
 * The five meta columns of the current row. The returned rows are reused.
 *
 * @param stores false: they are null
 * @param keepsCommit whether rows keep the commit time and sequence number with which a log has them
 */
private[table] final class MetaRow(
    instant: String,
    token: WriteToken,
    fileName: UTF8String,
    stores: Boolean = true,
    keepsCommit: Boolean = false
) {
  private[this] val instantString = UTF8String.fromString(instant)
  private[this] val sequence      = new SequenceNumbers(s"${instant}_${token.partitionId}_")
  private[this] val meta          = new GenericInternalRow(5)
  private[this] val both          = new JoinedRow

  /** Meta columns of a row changed by this instant. */
  def stamped(row: InternalRow, width: Int): InternalRow = if (!stores) meta
  else {
    meta.update(0, instantString)
    meta.update(1, sequence.of(token.nextRow()))
    rest(row, width)
  }

  /** Meta columns of a row that is not changed: commit time and sequence number stay. */
  def kept(row: InternalRow, width: Int): InternalRow = if (!stores) meta
  else {
    meta.update(0, row.getUTF8String(width + 2))
    meta.update(1, row.getUTF8String(width + 3))
    rest(row, width)
  }

  /** The meta columns of a row of a log, followed by the row. */
  def joined(row: InternalRow, width: Int): InternalRow = both(ofLog(row, width), row)

  /** The meta columns of a row of a log, followed by other columns than its own. */
  def joined(row: InternalRow, width: Int, columns: InternalRow): InternalRow = both(ofLog(row, width), columns)

  private def ofLog(row: InternalRow, width: Int): InternalRow =
    if (keepsCommit && !row.isNullAt(width + 2)) kept(row, width) else stamped(row, width)

  private def rest(row: InternalRow, width: Int): InternalRow = {
    meta.update(2, row.getUTF8String(width))
    meta.update(3, row.getUTF8String(width + 1))
    meta.update(4, fileName)
    meta
  }
}

/** Sequence numbers of rows: a prefix and the number of the row. */
private final class SequenceNumbers(prefix: String) {
  private[this] val start = prefix.getBytes(US_ASCII)

  /** @param row not negative. Returns bytes of its own. */
  def of(row: Long): UTF8String = {
    var digits = 1
    var rest   = row / 10
    while (rest > 0) { digits += 1; rest /= 10 }
    val bytes = Arrays.copyOf(start, start.length + digits)
    var at    = bytes.length - 1
    rest = row
    while (at >= start.length) {
      bytes(at) = ('0' + rest % 10).toByte
      rest /= 10
      at -= 1
    }
    UTF8String.fromBytes(bytes)
  }
}
