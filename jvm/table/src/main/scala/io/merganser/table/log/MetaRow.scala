package io.merganser.table.log

import io.merganser.table.file.WriteToken
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.unsafe.types.UTF8String

/** The five meta columns of the row at hand. */
private[table] final class MetaRow(instant: String, token: WriteToken, fileName: UTF8String) {
  private[this] val instantText  = UTF8String.fromString(instant)
  private[this] val sequenceHead = s"${instant}_${token.partitionId}_"
  private[this] val meta         = new GenericInternalRow(5)
  private[this] val both         = new JoinedRow

  /** For a change of this instant. */
  def stamped(row: InternalRow, width: Int): InternalRow = {
    meta.update(0, instantText)
    meta.update(1, UTF8String.fromString(sequenceHead + token.nextRow()))
    rest(row, width)
  }

  /** For a row that keeps the commit that last changed it. */
  def kept(row: InternalRow, width: Int): InternalRow = {
    meta.update(0, row.getUTF8String(width + 2))
    meta.update(1, row.getUTF8String(width + 3))
    rest(row, width)
  }

  def joined(row: InternalRow, width: Int): InternalRow = both(stamped(row, width), row)

  /** For a change of this instant that writes other columns than its row has. */
  def joined(row: InternalRow, width: Int, columns: InternalRow): InternalRow = both(stamped(row, width), columns)

  private def rest(row: InternalRow, width: Int): InternalRow = {
    meta.update(2, row.getUTF8String(width))
    meta.update(3, row.getUTF8String(width + 1))
    meta.update(4, fileName)
    meta
  }
}
