// Hot path: one call per row and column.
package io.merganser.table.base

import org.apache.parquet.column.{ColumnWriteStore, ColumnWriter}
import org.apache.parquet.io.api.{Binary, RecordConsumer}

/**
 * Passes the values of rows whose columns are all primitive to the column writers.
 *
 * @param columns in the order of the schema
 * @param levels  definition level of a value of each column: 1, or 0 if the column is required
 */
private[base] final class FlatRowConsumer(
    columns: Array[ColumnWriter],
    levels: Array[Int],
    store: ColumnWriteStore
) extends RecordConsumer {
  private[this] var column: ColumnWriter = _
  private[this] var level                = 0
  private[this] var next                 = 0 // the first column of the row that has no value yet

  override def startMessage(): Unit = next = 0

  override def endMessage(): Unit = {
    if (next < columns.length) skipTo(columns.length)
    store.endRecord()
  }

  override def startField(name: String, index: Int): Unit = {
    if (next < index) skipTo(index)
    column = columns(index)
    level = levels(index)
    next = index + 1
  }

  override def endField(name: String, index: Int): Unit = ()

  private def skipTo(index: Int): Unit = while (next < index) {
    if (levels(next) == 0) throw new IllegalStateException(s"required column $next has no value")
    columns(next).writeNull(0, 0)
    next += 1
  }

  override def addInteger(value: Int): Unit     = column.write(value, 0, level)
  override def addLong(value: Long): Unit       = column.write(value, 0, level)
  override def addBoolean(value: Boolean): Unit = column.write(value, 0, level)
  override def addBinary(value: Binary): Unit   = column.write(value, 0, level)
  override def addFloat(value: Float): Unit     = column.write(value, 0, level)
  override def addDouble(value: Double): Unit   = column.write(value, 0, level)

  override def startGroup(): Unit = throw new IllegalStateException("a group among primitive columns")
  override def endGroup(): Unit   = throw new IllegalStateException("a group among primitive columns")
}
