package io.merganser.table.slice

import io.merganser.merge.{RowLayout, Version}
import io.merganser.table.file.LogFile
import io.merganser.table.log.LogSink
import io.merganser.table.schema.MetaColumns
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.unsafe.types.UTF8String

/** Receives the versions of a slice's logs; a version is reused: copy those that you keep. */
trait VersionReceiver {

  /**
   * The versions of another block follow.
   *
   * @param instant that wrote it
   */
  def block(log: LogFile, instant: String): Unit

  def add(version: Version): Unit
}

/** Makes versions of log records. */
private[slice] abstract class VersionSink(layout: RowLayout) extends LogSink {
  private[this] val record    = new Version
  private[this] val deleteRow = new GenericInternalRow(layout.schema.length)
  private[this] val partition = layout.schema.fieldNames.indexOf(MetaColumns.PartitionPath)

  protected def add(version: Version): Unit

  override def row(row: InternalRow, provided: Array[Boolean], inserts: Boolean): Unit = {
    layout.fill(record, row, provided, inserts)
    add(record)
  }

  override def delete(key: UTF8String, partitionPath: UTF8String, ordering: Array[Any]): Unit = {
    var i = 0
    while (i < layout.schema.length) { deleteRow.update(i, null); i += 1 }
    deleteRow.update(layout.keyOrdinal, key)
    if (partition >= 0) deleteRow.update(partition, partitionPath)
    if (ordering != null) {
      i = 0
      while (i < layout.ordering.length) { layout.ordering(i).put(deleteRow, ordering(i)); i += 1 }
    }
    add(record.set(deleteRow, isDelete = true, isUnconditional = ordering == null))
  }
}
